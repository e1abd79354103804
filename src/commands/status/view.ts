import { actorWords, isSameUser } from "../../actor.ts";
import { count } from "../../terminal/count.ts";
import type { Palette } from "../../terminal/palette.ts";
import { createPalette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import { shownFingerprint } from "../../terminal/secrets.ts";
import { wrapMessage } from "../../terminal/streams.ts";
import type { Cell, Painted } from "../../terminal/tables.ts";
import { listTable } from "../../terminal/tables.ts";
import { distance, when } from "../../terminal/time.ts";
import { bySince } from "../../terminal/who.ts";
import { wayLines } from "../../way.ts";
import type { Row, View } from "../../cli/vault-view.ts";
import { dateRows, knownFacts } from "../../cli/vault-view.ts";
import type {
  ExchangeStatus,
  GuardDocument,
  ServiceBreaker,
  ListedVault,
} from "../../documents/state.ts";

/** One row a vault. */
export async function statusList(vaults: readonly ListedVault[], view: View): Promise<string> {
  if (vaults.length === 0) return "No vaults yet. Add one: vault import\n";
  const palette = await createPalette(view.facts.color);
  const rows = vaults.map((vault) => [
    `${named(vault)}\n${vault.kind}`,
    withReads(statusCell(vault, view, palette), vault, view.now),
    counter(vault.unackedStarts, vault.limits.unackedStarts, palette),
    counter(vault.failedAttempts, vault.limits.failedAttempts, palette),
  ]);
  return listTable(["Vault", "Status", "Unacked", "Failures"], rows, {
    palette,
    columns: view.facts.columns,
  });
}

/** Everything about one vault. */
export async function statusTable(vault: ListedVault, view: View): Promise<string> {
  const palette = await createPalette(view.facts.color);
  const rows: Row[] = [
    ["Vault", { text: vault.uuid, paint: palette.strong }],
    ["Label", vault.label === null ? undefined : printableLine(vault.label)],
    ["Service", vault.service],
    ["Kind", vault.kind],
    [
      "Credentials",
      vault.generation === null
        ? "none"
        : `generation ${vault.generation}, ${shownFingerprint(vault.fingerprint ?? "")}`,
    ],
    ["Status", statusCell(vault, view, palette)],
    ["Unacked", counter(vault.unackedStarts, vault.limits.unackedStarts, palette, "starts")],
    [
      "Failures",
      counter(vault.failedAttempts, vault.limits.failedAttempts, palette, "attempts in a row"),
    ],
    ["Last read", vault.lastReadAt === null ? undefined : when(vault.lastReadAt, view.now)],
    [
      "Reads left",
      vault.usesRemaining === null
        ? undefined
        : `${vault.usesRemaining} (at the last read, which counts)`,
    ],
    ...dateRows(vault, view),
    [
      "Last error",
      vault.lastError === null
        ? undefined
        : `${when(vault.lastError.at, view.now)}: ${printableLine(vault.lastError.message)}`,
    ],
  ];
  const ways = wayLines(vault.next, view.facts.isTTY ? view.facts.columns : undefined);
  const next = ways.map((line) => `${palette.code(printableLine(line))}\n`).join("");
  return knownFacts(view, palette, rows) + next + history(vault, view, palette);
}

/** The counters toward lockout, a row each vault. */
export async function guardList({ vaults, breakers }: GuardDocument, view: View): Promise<string> {
  const open = breakers
    .filter(({ state }) => state === "open")
    .map((breaker) => printableLine(breakerLine(breaker, view.now)))
    .map((line) => `${view.facts.isTTY ? wrapMessage(line, view.facts.columns) : line}\n`);
  if (vaults.length === 0) return `No vaults.\n${open.join("")}`;
  const palette = await createPalette(view.facts.color);
  const rows = vaults.map((vault) => [
    named(vault),
    counter(vault.unackedStarts, vault.limits.unackedStarts, palette),
    counter(vault.failedAttempts, vault.limits.failedAttempts, palette),
    vault.refuses === null
      ? { text: "nothing", paint: palette.good }
      : { text: vault.refuses, paint: palette.bad },
  ]);
  const table = listTable(["Vault", "Unacked", "Failures", "Guard refuses"], rows, {
    palette,
    columns: view.facts.columns,
  });
  return `${table}${open.join("")}`;
}

function breakerLine(
  { service, lostAt, trialDueAt, httpStatus }: ServiceBreaker,
  now: number,
): string {
  const what = httpStatus === null ? "no response" : `HTTP ${httpStatus}`;
  const next =
    trialDueAt === null
      ? "a trial start may be sent now"
      : `the next trial start is due at ${when(trialDueAt, now)}`;
  return `${service}: circuit breaker open: ${what} to a start at ${when(lostAt ?? "", now)}; ${next}`;
}

const named = ({ uuid, label }: Pick<ListedVault, "uuid" | "label">): string =>
  label === null ? uuid : `${uuid}\n${printableLine(label)}`;

/** "2 of 5": yellow from the first, red where the next could be the one that locks. */
function counter(count: number, limit: number, palette: Palette, unit?: string): Cell {
  const text = `${count} of ${limit}${unit === undefined ? "" : ` ${unit}`}`;
  return { text, paint: count + 1 >= limit ? palette.bad : count > 0 ? palette.warn : palette.dim };
}

function statusCell(
  { status, locked, exchange }: ListedVault,
  view: View,
  palette: Palette,
): Painted {
  if (locked) return { text: status, paint: palette.bad };
  if (exchange === null)
    return { text: status, paint: status === "ready" ? palette.good : palette.warn };
  const { state, tokenExpiry } = exchange;
  const left =
    tokenExpiry === null || state === "in-doubt"
      ? ""
      : `\n${tokenLeft(Date.parse(tokenExpiry), view.now)}`;
  const who = bySince(exchange, view, state === "held" ? " by" : ", by");
  return { text: `${status}${who}${left}`, paint: palette.warn };
}

/** The status with lines that say when the vault was last read, and how often it can be. */
function withReads(
  { text, paint }: Painted,
  { lastReadAt, usesRemaining }: ListedVault,
  now: number,
): Cell {
  const last = lastReadAt === null ? [] : [`read ${distance(Date.parse(lastReadAt), now)}`];
  const left = usesRemaining === null ? [] : [`${count(usesRemaining, "read")} left`];
  return { text: [text, ...last, ...left].join("\n"), paint };
}

const tokenLeft = (expiry: number, now: number): string =>
  expiry > now ? `${distance(expiry, now).replace(/^in /, "")} left` : "token expired";

function history(vault: ListedVault, view: View, palette: Palette): string {
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
  const nameOf = ({ by }: ExchangeStatus): string =>
    by === null || isSameUser(by, view.self) ? "" : printableLine(actorWords(by));
  const isShared = exchanges.some((exchange) => nameOf(exchange) !== "");
  const runs = exchanges.map((e) => [
    e.id,
    e.operation,
    e.state,
    e.generation === null ? "" : String(e.generation),
    when(e.startedAt, view.now),
    ...(isShared ? [nameOf(e)] : []),
  ]);
  return [
    "\n",
    listTable(["Gen", "Standing", "Verified", "Fingerprint", "Since"], pairs, options),
    "\n",
    listTable(
      ["Exchange", "Operation", "State", "Gen", "Started", ...(isShared ? ["By"] : [])],
      runs,
      options,
    ),
  ].join("");
}
