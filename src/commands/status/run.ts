import type { Local, StatePart } from "../../parts/state.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import { VaultError } from "../../errors.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { bySince } from "../../terminal/who.ts";
import { count } from "../../terminal/count.ts";
import { byLabel } from "../../cli/vault-name.ts";
import { noCredentials } from "../../exchange/start/start.ts";
import type { StatusOptions } from "../status.ts";
import type { View } from "../../cli/vault-view.ts";
import type { ListedVault } from "../../documents/state.ts";
import { command, wayText } from "../../way.ts";
import { parseDuration } from "../../duration.ts";
import { describeVault, findingsOf } from "./vault-status.ts";

/** Reads the state only. Exit 17 with --fail-on if what it names was found, after the document. */
export async function runStatus(
  { io, settings, state }: Local,
  options: StatusOptions,
): Promise<number> {
  const until = olderThan(options, io.host.now());
  const store = await state.store();
  await store.gather(io.host.interrupted);
  // What begins or ends meanwhile is in use, too: its record may say that somebody has left it.
  const before = await store.locks();
  const records = await chosen(state, options);
  const locks = [...before, ...(await store.locks())];
  const holders = new Map(locks.map(({ uuid, holder, since }) => [uuid, { by: holder, since }]));
  const circumstances = { policy: settings.policy, clock: io.host };
  const reader = {
    self: io.host.actor,
    now: io.output.format === "table" ? io.host.now() : null,
  };
  const vaults: ListedVault[] = [];
  const found: { uuid: string; message: string }[] = [];
  for (const record of records) {
    const { uuid } = record;
    const beside = {
      exchanges: options.history === true ? record.exchanges : undefined,
      inUse: holders.get(uuid) ?? null,
    };
    const vault = describeVault(record, beside, circumstances);
    const isPending = vault.exchange !== null && vault.inUse === null;
    if (options.pending === true && !isPending) continue;
    vaults.push(vault);
    for (const { finding, since } of findingsOf(record, vault)) {
      const isAsked = options.failOn?.some((asked) => asked === finding || asked === "any");
      if (isAsked !== true || (since !== null && since > until)) continue;
      const { exchange } = vault;
      const by =
        finding === "pending" && exchange !== null ? bySince(exchange, reader, ", by") : "";
      found.push({ uuid, message: `${uuid} is ${finding}${by}` });
    }
  }
  const message = found.map((one) => one.message).join("; ");
  const [first] = found;
  const finding =
    first && new VaultError("finding", message, { next: [command`vault status ${first.uuid}`] });
  const isLong = await io.output
    .show({ vaults }, async (view) => await table(vaults, options, view))
    .catch((error: unknown) => {
      throw finding ?? error;
    });
  if (isLong) io.narrator.note(countsOf(vaults));
  if (options.uuid === undefined) {
    sayNext(
      io.narrator,
      vaults.filter(({ locked }) => !locked),
    );
  } else if (isLong) {
    io.narrator.note(
      "",
      vaults.flatMap(({ next }) => next.slice(0, 1)),
    );
  }
  if (finding !== undefined) throw finding;
  return 0;
}

/** Until when something must have begun to be a finding, ISO 8601. */
function olderThan({ olderThan: age }: StatusOptions, now: number): string {
  return new Date(now - (age === undefined ? 0 : parseDuration(age, "--older-than"))).toISOString();
}

/** Most vaults that are named because they need a command of their own. */
const namedAtMost = 5;

/** `100 vaults: 1 in doubt, 99 ready`, the rarest first. */
function countsOf(vaults: readonly ListedVault[]): string {
  const groups = [...Map.groupBy(vaults, ({ status }) => status)]
    .map(([status, { length }]) => ({ status, length }))
    .toSorted((a, b) => a.length - b.length);
  const parts = groups.map(({ status, length }) => `${length} ${status}`);
  return `${count(vaults.length, "vault")}: ${parts.join(", ")}`;
}

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
    ...(more > 0 ? [{ ...command`vault status UUID`, note: `for ${more} more vaults` }] : []),
  ]);
}

async function chosen(state: StatePart, options: StatusOptions): Promise<VaultRecord[]> {
  const records = await (await state.store()).list();
  if (options.uuid === undefined) return records.toSorted(byLabel);
  const wanted = options.uuid.toLowerCase();
  const found = records.filter((record) => record.uuid.toLowerCase() === wanted);
  if (found.length === 0) throw noCredentials(options.uuid);
  return found;
}

async function table(vaults: ListedVault[], options: StatusOptions, view: View): Promise<string> {
  const { statusList, statusTable } = await import("./view.ts");
  const [only] = vaults;
  if (only === undefined && options.pending === true && view.facts.isTTY)
    return "Nothing is pending.\n";
  return options.uuid !== undefined && only !== undefined
    ? await statusTable(only, view)
    : await statusList(vaults, view);
}
