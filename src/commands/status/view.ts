import { actorWords, isSameUser } from "../../actor.ts";
import { plain, type Palette } from "../../terminal/palette.ts";
import { printableLine } from "../../terminal/redactor.ts";
import { shownFingerprint } from "../../terminal/secrets.ts";
import { wrapMessage } from "../../terminal/streams.ts";
import type { Cell, Painted } from "../../terminal/tables.ts";
import { listTable, oneLineTable, tabbedLines } from "../../terminal/tables.ts";
import { relativeTime, durationInWords, when } from "../../terminal/time.ts";
import { bySince, usedBy } from "../../terminal/narrator.ts";
import { wayLines, wayText } from "../../way.ts";
import { dateRows, knownFacts, type Row, type View } from "../../cli/vault-view.ts";
import type {
  ExchangeStatus,
  ServiceBreaker,
  ListedVault,
  VaultGuard,
} from "../../documents/state.ts";
import type { Document } from "../../documents/schemas.ts";

/** Cells of a list of vaults, by the headings of their columns: what matters most stands first. */
type Columns<Vault> = Readonly<Record<string, (vault: Vault) => Cell>>;

function vaultList<Vault>(vaults: readonly Vault[], columns: Columns<Vault>, view: View): string {
  const cells = Object.values(columns);
  const rows = vaults.map((vault) => cells.map((cell) => cell(vault)));
  return oneLineTable(Object.keys(columns), rows, view);
}

export function statusList(vaults: readonly ListedVault[], view: View): string {
  const { isTTY, now, palette } = view;
  if (!isTTY) return tabbedLines(vaults.map(statusFields));
  if (vaults.length === 0) return "No vaults yet. Add one: vault import\n";
  const columns: Columns<ListedVault> = {
    Vault: nameOf,
    Status: (vault) => statusCell(vault, view),
    Unacked: (vault) => unacked(vault, palette),
    Failures: (vault) => failures(vault, palette),
    "Token left": ({ exchange }) => tokenLeft(exchange, now),
    "Reads left": ({ usesRemaining }) => String(usesRemaining ?? ""),
    "Last read": ({ lastReadAt: at }) => (at === null ? "" : relativeTime(Date.parse(at), now)),
    Kind: ({ kind }) => kind,
    UUID: uuidIn,
  };
  return vaultList(vaults, columns, view);
}

/** The fields of a line, which stay what they are: a later version may add some behind them. */
const statusFields = (vault: ListedVault): string[] => [
  vault.uuid,
  vault.label ?? "",
  vault.status,
  vault.kind,
  unacked(vault, plain).text,
  failures(vault, plain).text,
  vault.lastReadAt ?? "",
  String(vault.usesRemaining ?? ""),
  vault.exchange?.tokenExpiry ?? "",
  whose(vault),
];

function whose({ inUse, exchange }: ListedVault): string {
  const by = inUse?.by ?? exchange?.by;
  return by ? actorWords(by) : "";
}

export function statusTable(vault: ListedVault, view: View): string {
  const { isTTY, columns, palette } = view;
  const at = (time: string): string => when(time, view.now);
  const { fingerprint, usesRemaining: uses, lastError: error } = vault;
  const rows: Row[] = [
    ["Vault", { text: vault.uuid, paint: palette.strong }],
    ["Label", vault.label && printableLine(vault.label)],
    ["Service", vault.service],
    ["Kind", vault.kind],
    [
      "Credentials",
      fingerprint === null
        ? "none"
        : `generation ${vault.generation}, ${shownFingerprint(fingerprint)}`,
    ],
    ["Status", statusCell(vault, view)],
    // A terminal shows each on a line below.
    ...(isTTY ? [] : vault.next).map((way): Row => ["Next", wayText(way)]),
    ["Token left", tokenLeft(vault.exchange, view.now) || undefined],
    ["Unacked", unacked(vault, palette, " starts")],
    ["Failures", failures(vault, palette, " attempts in a row")],
    ["Last read", vault.lastReadAt && at(vault.lastReadAt)],
    ["Reads left", uses === null ? null : `${uses} before the last read`],
    ...dateRows(vault, view),
    ["Last error", error && `${at(error.at)}: ${printableLine(error.message)}`],
  ];
  const ways = isTTY ? wayLines(vault.next, columns) : [];
  const next = ways.map((line) => `${palette.code(printableLine(line))}\n`).join("");
  return knownFacts(view, rows) + next + history(vault, view);
}

/** The counters toward lockout, a row each vault; then the circuit breakers that are open. */
export function guardList({ vaults, breakers }: Document<"guard">, view: View): string {
  const { isTTY, now, palette } = view;
  const open = breakers
    .filter(({ state }) => state === "open")
    .map((breaker) => printableLine(breakerLine(breaker, now)));
  if (!isTTY) return tabbedLines([...vaults.map(guardFields), ...open.map((line) => [line])]);
  const below = open.map((line) => `${wrapMessage(line, view.columns)}\n`).join("");
  if (vaults.length === 0) return `No vaults.\n${below}`;
  const columns: Columns<VaultGuard> = {
    Vault: nameOf,
    "Guard refuses": (vault) => refusal(vault, palette),
    Unacked: (vault) => unacked(vault, palette),
    Failures: (vault) => failures(vault, palette),
    UUID: uuidIn,
  };
  return `${vaultList(vaults, columns, view)}${below}`;
}

const guardFields = (vault: VaultGuard): string[] => [
  vault.uuid,
  vault.label ?? "",
  unacked(vault, plain).text,
  failures(vault, plain).text,
  vault.refuses ?? "nothing",
  vault.refuses === null ? "" : vault.next.slice(0, 1).map(wayText).join(""),
];

/** What the guard refuses; the counters beside it say why. */
function refusal({ allows, refuses }: VaultGuard, palette: Palette): Cell {
  if (refuses === null) return { text: "nothing", paint: palette.good };
  return { text: allows ? "a plain get" : "any start", paint: palette.bad };
}

function breakerLine(
  { service, lostAt, trialDueAt, httpStatus }: ServiceBreaker,
  now: View["now"],
): string {
  const what = httpStatus === null ? "no response" : `HTTP ${httpStatus}`;
  const next =
    trialDueAt === null
      ? "a trial start may be sent now"
      : `the next trial start is due at ${when(trialDueAt, now)}`;
  return `${service}: circuit breaker open: ${what} to a start at ${when(lostAt ?? "", now)}; ${next}`;
}

type Named = Pick<ListedVault, "label" | "uuid">;

const nameOf = ({ uuid, label }: Named): string => (label === null ? uuid : printableLine(label));

/** The UUID of a vault whose name is not that. */
const uuidIn = ({ uuid, label }: Named): string => (label === null ? "" : uuid);

/** "2 of 5": yellow from the first, red if the next could be the one that locks. */
const counter =
  (name: "failedAttempts" | "unackedStarts") =>
  (vault: Pick<VaultGuard, typeof name | "limits">, palette: Palette, unit = ""): Painted => {
    const [count, limit] = [vault[name], vault.limits[name]];
    const paint = count + 1 >= limit ? palette.bad : count > 0 ? palette.warn : palette.dim;
    return { text: `${count} of ${limit}${unit}`, paint };
  };
const unacked = counter("unackedStarts");
const failures = counter("failedAttempts");

function statusCell({ status, locked, exchange, inUse }: ListedVault, view: View): Painted {
  const { palette } = view;
  if (locked || status === "rejected") return { text: status, paint: palette.bad };
  if (inUse !== null) return { text: `${status} ${usedBy(inUse, view)}`, paint: palette.same };
  if (exchange === null) return { text: status, paint: palette[paints[status] ?? "warn"] };
  const who = bySince(exchange, view, exchange.state === "held" ? " by" : ", by");
  return { text: `${status}${who}`, paint: palette.warn };
}

const paints: Readonly<Partial<Record<ListedVault["status"], "good" | "same" | "dim">>> = {
  ready: "good",
  unverified: "same",
  forgotten: "dim",
};

/** How long the token of an exchange lives: `4 minutes`, or `expired`. Nothing of one that is in doubt. */
function tokenLeft(exchange: ListedVault["exchange"], now: View["now"]): string {
  if (exchange === null || exchange.tokenExpiry === null || exchange.state === "in-doubt")
    return "";
  const expiry = Date.parse(exchange.tokenExpiry);
  if (now === null) return exchange.tokenExpiry;
  return expiry > now ? durationInWords(expiry - now) : "expired";
}

function history({ generations = [], exchanges }: ListedVault, view: View): string {
  if (exchanges === undefined) return "";
  const pairs = generations.map((g) => [
    String(g.generation),
    g.standing,
    g.proven ? "yes" : "no",
    shownFingerprint(g.fingerprint),
    when(g.createdAt, view.now),
  ]);
  const byOf = ({ by }: ExchangeStatus): string =>
    by === null || isSameUser(by, view.self) ? "" : printableLine(actorWords(by));
  const isShared = exchanges.some((exchange) => byOf(exchange) !== "");
  const runs = exchanges.map((e) => [
    e.id,
    e.operation,
    e.state,
    String(e.generation ?? ""),
    when(e.startedAt, view.now),
    ...(isShared ? [byOf(e)] : []),
  ]);
  const head = ["Exchange", "Operation", "State", "Gen", "Started", ...(isShared ? ["By"] : [])];
  const above = view.isTTY ? "\n" : "";
  return (
    above +
    listTable(["Gen", "Standing", "Verified", "Fingerprint", "Since"], pairs, view) +
    above +
    listTable(head, runs, view)
  );
}
