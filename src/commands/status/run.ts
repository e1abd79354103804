import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { bySince, type Narrator } from "../../terminal/narrator.ts";
import { noCredentials } from "../../exchange/start/start.ts";
import type { StatusOptions } from "../status.ts";
import type { View } from "../../cli/vault-view.ts";
import type { ListedVault } from "../../documents/state.ts";
import { command, noted, wayText } from "../../way.ts";
import { parseDuration } from "../../duration.ts";
import { describeVault, findingsOf } from "./vault-status.ts";

/** Reads the state only. Exit 17 with --fail-on if what it names was found, after the document. */
export async function runStatus(
  { io, settings, state }: App,
  options: StatusOptions,
): Promise<void> {
  const { uuid: asked, olderThan } = options;
  const age = olderThan === undefined ? 0 : parseDuration(olderThan, "--older-than");
  const until = new Date(io.host.now() - age).toISOString();
  const store = await state.store();
  await store.gather(io.host.interrupted);
  // What begins or ends meanwhile is in use, too: its record may say that somebody has left it.
  const before = await store.locks();
  const only = asked === undefined ? undefined : await Array.fromAsync(store.each(asked));
  if (asked !== undefined && only?.length === 0) throw noCredentials(asked);
  const locks = [...before, ...(await store.locks())];
  const holders = new Map(locks.map(({ uuid, holder, since }) => [uuid, { by: holder, since }]));
  const circumstances = { policy: settings.policy, clock: io.host };
  const reader = {
    self: io.host.actor,
    now: io.output.format === "table" ? io.host.now() : null,
  };
  const found: { uuid: string; message: string }[] = [];
  const toDo: Pick<ListedVault, "uuid" | "next">[] = [];
  async function* vaults(): AsyncGenerator<ListedVault> {
    for await (const record of only ?? store.each()) {
      const { uuid } = record;
      const inUse = holders.get(uuid) ?? null;
      const vault = describeVault(record, inUse, options, circumstances);
      const { exchange, next, locked } = vault;
      if (options.pending === true && (exchange === null || inUse !== null)) continue;
      if (next.length > 0 && !locked) toDo.push({ uuid, next });
      for (const { finding, since } of findingsOf(record, vault)) {
        const isNamed = options.failOn?.some((named) => named === finding || named === "any");
        if (isNamed !== true || (since !== null && since > until)) continue;
        const by =
          finding === "pending" && exchange !== null ? bySince(exchange, reader, ", by") : "";
        found.push({ uuid, message: `${uuid} is ${finding}${by}` });
      }
      yield vault;
    }
  }
  const failure = (): VaultError | undefined => {
    const [first] = found;
    const message = found.map((one) => one.message).join("; ");
    return (
      first && new VaultError("finding", message, { next: [command`vault status ${first.uuid}`] })
    );
  };
  await io.output
    .showEach("vaults", vaults(), async (shown, view) => await table(shown, options, view))
    .catch((error: unknown) => {
      throw failure() ?? error;
    });
  if (asked === undefined) sayNext(io.narrator, toDo);
  const finding = failure();
  if (finding !== undefined) throw finding;
}

/** Most vaults that are named because they need a command of their own. */
const namedAtMost = 5;

/** Says what leads on from these vaults: one command for all that can be acknowledged, one for each other vault. */
export function sayNext(
  narrator: Narrator,
  vaults: readonly Pick<ListedVault, "uuid" | "next">[],
): void {
  const firsts = vaults.flatMap(({ next }) => next.slice(0, 1));
  const steps = [...new Map(firsts.map((way) => [wayText(way), way])).values()];
  const others = steps.filter(({ argv }) => argv[1] !== "ack" || argv.length > 3);
  const more = others.length - namedAtMost;
  narrator.note("", [
    ...(others.length < steps.length ? [command`vault ack --all`] : []),
    ...others.slice(0, namedAtMost),
    ...(more > 0 ? [noted(command`vault status UUID`, `for ${more} more vaults`)] : []),
  ]);
}

async function table(
  vaults: readonly ListedVault[],
  options: StatusOptions,
  view: View,
): Promise<string> {
  const { statusList, statusTable } = await import("./view.ts");
  const [only] = vaults;
  if (only === undefined && options.pending === true && view.isTTY) return "Nothing is pending.\n";
  return options.uuid !== undefined && only !== undefined
    ? statusTable(only, view)
    : statusList(vaults, view);
}
