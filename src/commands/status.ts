import { command, vaultArgument } from "../cli/command.ts";
import { listOf } from "../cli/values.ts";
import { vaultNamed } from "../cli/vault-name.ts";
import { parseDuration } from "../duration.ts";
import { VaultError } from "../errors.ts";
import { bySince } from "../terminal/narrator.ts";
import { noCredentials, type VaultRecord } from "../exchange/records.ts";
import type { View } from "../cli/vault-view.ts";
import type { ListedVault } from "../documents/state.ts";
import { command as wayTo } from "../way.ts";
import { describeVault, sayNext } from "./status/vault-status.ts";

const findings = [
  "locked",
  "pending",
  "at-risk",
  "rejected",
  "in-doubt",
  "gone",
  "unverified",
  "any",
] as const;

type Finding = (typeof findings)[number];

const readFindings = listOf(findings);

/** Reads the state only. Exit 17 with --fail-on if what it names was found, after the document. */
export const status = command({
  description:
    "Show what this machine knows about its vaults: credentials, pending exchanges, counters toward lockout, dates. Never calls the service.",
  arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (default: all)` } },
  options: {
    "--pending": "only vaults that need an acknowledgement",
    "--history": "also show the stored generations and exchanges",
    "--fail-on <findings>": {
      help: `exit 17 if a vault is one of these (comma-separated): ${findings.join(", ")}`,
      values: { from: "list", values: findings, separated: true },
      parse: readFindings,
    },
    "--older-than <duration>": {
      help: "with --fail-on: only if it has been so for this long, such as 30m (locked, gone: at once)",
      parse: parseDuration,
      requires: ["failOn"],
    },
  },
  examples: ["vault status $VAULT --history", "vault status --fail-on any --older-than 1h"],
  async run({ io, settings, state }, options) {
    const { uuid: name, olderThan: age = 0 } = options;
    const asked = name === undefined ? undefined : await vaultNamed({ io, state }, name);
    const until = new Date(io.host.now() - age).toISOString();
    const store = await state.store();
    await store.gather(io.host.interrupted);
    const circumstances = { policy: settings.policy, clock: io.host };
    const reader = {
      self: io.host.actor,
      now: io.output.format === "table" ? io.host.now() : null,
    };
    // What begins or ends meanwhile is in use, too: its record may say that somebody has left it.
    const before = await store.locks();
    const only = asked === undefined ? undefined : await Array.fromAsync(store.each(asked));
    if (asked !== undefined && only?.length === 0) throw noCredentials(asked);
    const locks = [...before, ...(await store.locks())];
    const holders = new Map(locks.map(({ uuid, holder, since }) => [uuid, { by: holder, since }]));
    const found: { uuid: string; what: string }[] = [];
    const toDo: Pick<ListedVault, "uuid" | "next">[] = [];
    async function* vaults(): AsyncGenerator<ListedVault> {
      for await (const record of only ?? store.each()) {
        const { uuid } = record;
        const inUse = holders.get(uuid) ?? null;
        const vault = describeVault(record, inUse, options.history, circumstances);
        const { exchange, next, locked } = vault;
        if (options.pending === true && (exchange === null || inUse !== null)) continue;
        if (next.length > 0 && !locked) toDo.push({ uuid, next });
        for (const { finding, since } of findingsOf(record, vault)) {
          const isNamed = options.failOn?.some((named) => named === finding || named === "any");
          if (isNamed !== true || (since !== null && since > until)) continue;
          const by =
            finding === "pending" && exchange !== null ? bySince(exchange, reader, ", by") : "";
          found.push({ uuid, what: `${uuid} is ${finding}${by}` });
        }
        yield vault;
      }
    }
    await io.output
      .showEach("vaults", vaults(), async (some, view) => await table(some, options, view))
      .catch((error: unknown) => {
        // What was found is told, also if it cannot be printed.
        if (found.length === 0) throw error;
      });
    const uuids = [...new Set(found.map(({ uuid }) => uuid))];
    if (uuids.length > 0)
      throw new VaultError("finding", found.map(({ what }) => what).join("; "), {
        next: uuids.slice(0, 3).map((uuid) => wayTo`vault status ${uuid}`),
      });
    if (asked === undefined) sayNext(io.narrator, toDo);
  },
});

async function table(
  vaults: readonly ListedVault[],
  options: { uuid?: string; pending?: boolean | undefined },
  view: View,
): Promise<string> {
  const { statusList, statusTable } = await import("./status/view.ts");
  if (vaults.length === 0 && options.pending === true && view.isTTY) return "Nothing is pending.\n";
  return options.uuid === undefined
    ? statusList(vaults, view)
    : vaults.map((vault) => statusTable(vault, view)).join("");
}

/** What monitors ask for, with since when it is so. Nothing ends a lock but a person, so no time matters. */
function* findingsOf(
  { open, last, generations }: VaultRecord,
  { status, inUse, atRisk, generation, proven }: ListedVault,
): Iterable<{ finding: Finding; since: string | null }> {
  if (status === "locked" || status === "gone") yield { finding: status, since: null };
  // A vault in use needs nobody.
  if (inUse !== null) return;
  const startedAt = last?.startedAt ?? null;
  if (open !== null) yield { finding: "pending", since: open.startedAt };
  if (open?.state === "in-doubt") yield { finding: "in-doubt", since: open.startedAt };
  if (atRisk || status === "at risk") yield { finding: "at-risk", since: startedAt };
  // The next success supersedes what was refused.
  if (generations.some(({ refused, standing }) => refused && standing !== "superseded"))
    yield { finding: "rejected", since: last?.state === "rejected" ? startedAt : null };
  const pair = generations.find((each) => each.generation === generation);
  if (proven === false && status !== "rejected")
    yield { finding: "unverified", since: pair?.createdAt ?? null };
}
