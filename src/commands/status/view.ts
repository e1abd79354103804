import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import { shownFingerprint } from "../../terminal/secrets.ts";
import type { Cell } from "../../terminal/tables.ts";
import { listTable } from "../../terminal/tables.ts";
import { distance, when } from "../../terminal/time.ts";
import type { Row, View } from "../../cli/vault-view.ts";
import { knownFacts } from "../../cli/vault-view.ts";

interface Counted {
  uuid: string;
  label: string | null;
  unackedStarts: number;
  failedAttempts: number;
  limits: { unackedStarts: number; failedAttempts: number };
}

/** What the table of one vault shows. Dates are ISO 8601. */
interface ShownVault extends Counted {
  service: string;
  kind: string;
  generation: number | null;
  fingerprint: string | null;
  /** The service has accepted the pair, or handed it out. */
  proven: boolean | null;
  state: string | null;
  /** Of the exchange that the state is of. */
  operation: string | null;
  pending: { state: string; tokenExpiry: string | null; next: string } | null;
  locked: boolean;
  usesRemaining: number | null;
  expiryDate: string | null;
  autoLockDate: string | null;
  dateCreated: string | null;
  lastModified: string | null;
  lastError: { at: string; code: string; message: string } | null;
  generations?: { generation: number; standing: string; proven: boolean; fingerprint: string; createdAt: string }[];
  exchanges?: { id: string; operation: string; state: string; generation: number | null; startedAt: string }[];
}

interface ShownGuard extends Counted {
  /** What the guard would refuse, or null. */
  refuses: string | null;
}

/** One row a vault. */
export async function statusList(vaults: readonly ShownVault[], view: View): Promise<string> {
  if (vaults.length === 0) return "No vaults yet. Add one: vault import\n";
  const palette = await createPalette(view.facts.color);
  const isLimited = vaults.some(({ usesRemaining }) => usesRemaining !== null);
  const heading = ["Vault", "Gen", "Status", "Unacked", "Failures", ...(isLimited ? ["Reads\nleft"] : [])];
  const rows = vaults.map((vault) => [
    named(vault),
    vault.generation === null ? "–" : String(vault.generation),
    stateCell(vault, view.now, palette),
    counter(vault.unackedStarts, vault.limits.unackedStarts, palette),
    counter(vault.failedAttempts, vault.limits.failedAttempts, palette),
    ...(isLimited ? [String(vault.usesRemaining ?? "")] : []),
  ]);
  return await listTable(heading, rows, { palette, columns: view.facts.columns });
}

/** Everything about one vault. */
export async function statusTable(vault: ShownVault, view: View): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const date = (value: string | null): string | undefined => (value === null ? undefined : when(value, view.now));
  const rows: Row[] = [
    ["Vault", { text: vault.uuid, paint: palette.strong }],
    ["Label", vault.label === null ? undefined : printableLine(vault.label)],
    ["Service", vault.service],
    ["Kind", vault.kind],
    ["Credentials", vault.generation === null ? "none" : `generation ${vault.generation}, ${shownFingerprint(vault.fingerprint ?? "")}`],
    ["Status", stateCell(vault, view.now, palette)],
    ["Next", nextStep(vault, palette)],
    ["Unacked", counter(vault.unackedStarts, vault.limits.unackedStarts, palette, "starts")],
    ["Failures", counter(vault.failedAttempts, vault.limits.failedAttempts, palette, "attempts in a row")],
    ["Reads left", vault.usesRemaining === null ? undefined : `${vault.usesRemaining} (at the last read, which counts)`],
    ["Expires", date(vault.expiryDate)],
    ["Auto-locks", date(vault.autoLockDate)],
    ["Created", date(vault.dateCreated)],
    ["Last modified", date(vault.lastModified)],
    [
      "Last error",
      vault.lastError === null ? undefined : `${when(vault.lastError.at, view.now)}: ${printableLine(vault.lastError.message)}`,
    ],
  ];
  return (await knownFacts(view, palette, rows)) + (await history(vault, view, palette));
}

/** The counters toward lockout, a row each vault. */
export async function guardList(vaults: readonly ShownGuard[], view: View): Promise<string> {
  if (vaults.length === 0) return "No vaults.\n";
  const palette = await createPalette(view.facts.color);
  const rows = vaults.map((vault) => [
    named(vault),
    counter(vault.unackedStarts, vault.limits.unackedStarts, palette),
    counter(vault.failedAttempts, vault.limits.failedAttempts, palette),
    vault.refuses === null ? { text: "nothing", paint: palette.good } : { text: vault.refuses, paint: palette.bad },
  ]);
  return await listTable(["Vault", "Unacked", "Failures", "Guard refuses"], rows, { palette, columns: view.facts.columns });
}

const named = ({ uuid, label }: Counted): string => (label === null ? uuid : `${uuid}\n${printableLine(label)}`);

/** "2 of 5": yellow from the first, red where the next could be the one that locks. */
function counter(count: number, limit: number, palette: Palette, unit?: string): Cell {
  const text = `${count} of ${limit}${unit === undefined ? "" : ` ${unit}`}`;
  return { text, paint: count + 1 >= limit ? palette.bad : count > 0 ? palette.warn : palette.dim };
}

function stateCell(vault: ShownVault, now: number, palette: Palette): Cell {
  if (vault.locked) return { text: vault.lastError?.code ?? "locked", paint: palette.bad };
  const { pending } = vault;
  if (pending === null) {
    return { text: idleStatus(vault), paint: vault.state === "acknowledged" ? palette.good : palette.warn };
  }
  const left = pending.tokenExpiry === null || pending.state === "in-doubt" ? "" : `\n${tokenLeft(Date.parse(pending.tokenExpiry), now)}`;
  return { text: `${statusWords[pending.state] ?? pending.state}${left}`, paint: palette.warn };
}

/** Status of a vault by the state of its exchange, where they differ. */
const statusWords: Readonly<Record<string, string>> = { acknowledged: "ready", ending: "acknowledging", "in-doubt": "in doubt" };

/** Status of a vault without an open exchange; before the first one, `vault create` or `vault import` made it known. */
function idleStatus({ operation, proven, state }: ShownVault): string {
  if (state === null) return proven === true ? "created" : "imported";
  if (state === "intent") return operation === "delete" ? "delete unanswered" : "start unanswered";
  return statusWords[state] ?? state;
}

const tokenLeft = (expiry: number, now: number): string =>
  expiry > now ? `${distance(expiry, now).replace(/^in /, "")} left` : "token expired";

function nextStep(vault: ShownVault, palette: Palette): Cell | undefined {
  if (vault.lastError?.code === "gone") return { text: `vault forget ${vault.uuid} (if it was deleted)`, paint: palette.code };
  if (vault.locked) return { text: `vault guard ${vault.uuid} --reset (after an administrator has unlocked it)`, paint: palette.code };
  if (vault.pending !== null) return { text: vault.pending.next, paint: palette.code };
  return undefined;
}

async function history(vault: ShownVault, view: View, palette: Palette): Promise<string> {
  const { generations, exchanges } = vault;
  if (generations === undefined || exchanges === undefined) return "";
  const options = { palette, columns: view.facts.columns };
  const pairs = generations.map((g) => [
    String(g.generation),
    g.standing,
    g.proven ? "yes" : "no",
    shownFingerprint(g.fingerprint),
    when(g.createdAt, view.now),
  ]);
  const runs = exchanges.map((e) => [
    e.id,
    e.operation,
    e.state,
    e.generation === null ? "" : String(e.generation),
    when(e.startedAt, view.now),
  ]);
  return [
    "\n",
    await listTable(["Gen", "Standing", "Verified", "Fingerprint", "Since"], pairs, options),
    "\n",
    await listTable(["Exchange", "Operation", "State", "Gen", "Started"], runs, options),
  ].join("");
}
