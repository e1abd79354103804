import type { Local } from "../parts/state.ts";
import { journalItems } from "../audit/meaning/journal.ts";
import { type Replay, replay, type ReplayOptions } from "../audit/replay.ts";
import { newestRelease } from "../audit/flags.ts";
import { cutWords } from "../audit/explain/report.ts";
import type { Settings } from "../settings/settings.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { defaults } from "../protocol/limits.ts";
import type { AuditFinding, AuditReplayOptions } from "./audit-replay/options.ts";
import { descriptor, parseAuditReplay } from "./audit-replay/options.ts";
import { checkTargets, printReplay } from "./audit-replay/output.ts";
import { command } from "../cli/command.ts";
import { hasDigits, VaultNames } from "../cli/vault-name.ts";
import type { Narrator } from "../terminal/narrator.ts";
import { printableLine } from "../terminal/redactor.ts";
import { defined } from "../defined.ts";
import { count as inNumber } from "../terminal/count.ts";
import type { Rules } from "../documents/audit.ts";

/** Replays audit items. Calls no service, changes nothing. Exits with 17 after the output if a --fail-on condition is met. */
const auditReplay = command({
  ...descriptor,
  async run({ io, settings, state }, flags) {
    const options = parseAuditReplay(flags, io.host.now());
    checkTargets({ io, settings }, options);
    const { interrupted } = io.host;
    const { map = {} } = options;
    const { close, ...sources } = await openSources({ io, settings, state }, options);
    let opened: Replay | undefined;
    try {
      const rules = rulesOf(settings, options);
      const vault = options.vault && vaultOf(options.vault, sources.labels);
      const timeline = options.timeline === true;
      const given = { ...sources, ...options, rules, map, vault, timeline };
      opened = await replay(defined({ ...given, now: io.host.now(), signal: interrupted }));
      if (vault !== undefined) checkVault(io.narrator, vault, opened);
      const isDocument = io.output.format !== "table" || io.output.field !== undefined;
      // A report has them in its first lines.
      if (isDocument) for (const warning of opened.summary.warnings) io.narrator.warn(warning);
      const finding = findingOf(opened, options.failOn ?? []);
      await printReplay(io, options, opened).catch((error: unknown) => {
        // A reader that closes the output early does not change the finding.
        throw interrupted.aborted || error instanceof VaultError ? error : (finding ?? error);
      });
      if (finding !== undefined) throw finding;
    } catch (error) {
      if (!interrupted.aborted || error !== interrupted.reason) throw error;
      throw new VaultError(
        "interrupted",
        "interrupted: the replay is incomplete, and nothing was changed",
        { retry: "safe", cause: error },
      );
    } finally {
      opened?.close();
      close();
    }
  },
});
export { auditReplay as "audit-replay" };

/** Inputs of a replay, with what this machine knows about them. Must be closed. */
interface Sources extends Pick<ReplayOptions, "inputs" | "journal" | "labels"> {
  close: () => void;
}

/**
 * Names the files, or without any opens this machine's journal. The state is only read; with files, a state that cannot be read is a
 * warning. With `redact`, what is printed calls the files by their numbers.
 */
async function openSources(
  { io: { host, narrator }, state }: Local,
  { files, redact }: AuditReplayOptions,
): Promise<Sources> {
  const inputs = files.map((file, index) =>
    file === "-"
      ? { name: "standard input", stream: host.stdin.chunks() }
      : { name: redact === true ? `file-${index + 1}` : file, path: host.resolve(file) },
  );
  const isJournal = files.length === 0;
  try {
    const history = await state.history();
    if (history === null && isJournal)
      narrator.note("this machine has no state yet, so there is no journal; name a file to replay");
    const lines = { [Symbol.iterator]: () => journalItems(history?.journal() ?? []) };
    return {
      inputs,
      journal: isJournal ? lines : undefined,
      labels: history?.labels(),
      close: () => history?.close(),
    };
  } catch (error) {
    if (isJournal) throw error;
    narrator.warn(`no labels of this machine are shown: ${asVaultError(error).message}`);
    return { inputs, close: () => undefined };
  }
}

/**
 * Returns the UUID, or its first digits, of the vault that a name stands for: a label on this machine, else digits. They are taken
 * without a terminal too: nothing is sent.
 * @throws as `VaultNames.find`
 */
function vaultOf(name: string, labels: ReadonlyMap<string, string> = new Map()): string {
  const known = new VaultNames([...labels].map(([uuid, label]) => ({ uuid, label })));
  // Other vaults may be in the items than are known here.
  if (hasDigits(name) && !known.isLabel(name)) return name.toLowerCase();
  return known.find(name, { shown: printableLine(name), exact: false }).uuid;
}

/** @throws `usage` for digits that fit several vaults, of which it lists the first */
function checkVault(narrator: Narrator, vault: string, replayed: Replay): void {
  const { vaultCount } = replayed.summary;
  if (vaultCount === 0) narrator.warn(`no item names vault ${vault}`);
  if (vaultCount <= 1) return;
  const uuids = Array.from(replayed.vaults({ problems: false }).take(10), ({ uuid }) => uuid);
  const all = [...uuids, ...(vaultCount > uuids.length ? ["…"] : [])].join(", ");
  const fits = `--vault: ${vault} fits ${inNumber(vaultCount, "vault")}: ${all}`;
  throw new VaultError("usage", fits, { hint: "give more digits" });
}

function rulesOf(settings: Settings, options: AuditReplayOptions): Rules {
  return {
    limits: settings.policy,
    tokenLifetimeMs: options.tokenLifetime ?? defaults.tokenLifetimeMs,
    autoLockAfterMs: defaults.autoLockAfterMs,
    release: options.release ?? newestRelease,
    failure: options.failure ?? null,
    ...defined({ actions: merged(options.action), outcomes: merged(options.outcome) }),
  };
}

const merged = <T>(all: readonly T[] | undefined): T | undefined =>
  all && (Object.assign({}, ...all) as T);

/** Returns the error of a --fail-on condition that is met, or that what could not be read of the inputs does not rule out. */
function findingOf({ summary }: Replay, failOn: readonly AuditFinding[]): VaultError | undefined {
  const { verdicts, inputs, skippedLines } = summary;
  const conditions = [...new Set(failOn)];
  const unmet = conditions.filter((verdict) => verdicts[verdict] === 0);
  const lines = `${inNumber(skippedLines, "line")} could not be read`;
  const unread = cutWords(inputs) ?? (skippedLines > 0 ? lines : undefined);
  const found = [
    ...conditions
      .filter((verdict) => verdicts[verdict] > 0)
      .map((verdict) => `${inNumber(verdicts[verdict], "vault is", "vaults are")} ${verdict}`),
    ...(unread !== undefined && unmet.length > 0
      ? [`${unread}: ${unmet.join(", ")} cannot be ruled out`]
      : []),
  ];
  return found.length === 0 ? undefined : new VaultError("finding", found.join("; "));
}
