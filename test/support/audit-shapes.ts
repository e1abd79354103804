import { gzipSync } from "node:zlib";
import type { Item } from "./audit-log.ts";
import type { Dice } from "./dice.ts";

// The same items as many exports would have them: names, values, columns that mean nothing here, wrappers, formats.

type Row = Record<string, unknown>;

/** Of failed items by letter (test/support/audit-log.ts), and of the others. */
const reasons = [
  {
    F: "bad credentials (vault.credentials)",
    G: "bad credentials (vault.credentials), vault locked",
    Q: "too many starts without acknowledgement, vault locked",
    Z: "the vault is locked; an administrator can unlock it",
    E: "the token is unknown or has expired",
    K: "API key check failed",
    ok: "",
  },
  ...[
    "Invalid credentials supplied|Too many unacknowledged requests: vault locked|Vault is locked|Invalid token supplied|Invalid API key supplied|Completed",
    "bad_credentials|too_many_starts|vault_locked|invalid_token|bad_api_key|",
    "Ungültige Anmeldedaten|Zu viele unbestätigte Starts, Tresor gesperrt|Der Tresor ist gesperrt|Token abgelaufen|Ungültiger API-Schlüssel|",
  ].map((texts) => {
    const [F = "", Q = "", Z = "", E = "", K = "", ok = ""] = texts.split("|");
    return { F, G: F, Q, Z, E, K, ok };
  }),
] satisfies Record<string, string>[];

const statuses: Record<string, number> = { F: 403, G: 403, Q: 423, Z: 423, E: 400, K: 401 };
type Outcome = (item: Item) => unknown;
const words =
  (success: unknown, failure: unknown): Outcome =>
  ({ isFailure }) =>
    isFailure ? failure : success;
/** Columns of outcomes, what they hold for a success and for a failure. */
const outcomes: readonly (readonly [name: string, of: Outcome])[] = [
  ["statusCode", ({ letter }) => statuses[letter] ?? 200],
  ["success", words(true, false)],
  ["failed", words(false, true)],
  ["success", words(1, 0)],
  ...[
    "outcome SUCCESS FAILURE",
    "result ok failed",
    "status Success Error",
    "outcome ACCEPTED REJECTED",
    "result erfolgreich fehlgeschlagen",
    "status OK DENIED",
    "result S F",
    "succeeded yes no",
    "outcome PASS FAIL",
    "status succès échec",
  ].map((each): [string, Outcome] => {
    const [name = "", success, failure] = each.split(" ");
    return [name, words(success, failure)];
  }),
  ["status", words("200 OK", "403 Forbidden")],
];

const iso = (time: number): string => new Date(time).toISOString();
const kibana = (time: number): string => {
  const date = new Date(time).toUTCString().split(" ");
  return `${date[2]} ${Number(date[1])}, ${date[3]} @ ${iso(time).slice(11, -1)}`;
};
const times: readonly ((time: number, dice: Dice) => unknown)[] = [
  iso,
  iso,
  (time) => time,
  (time) => iso(time).replace("T", " ").replace("Z", " UTC"),
  (time) => String(time / 1000),
  (time) => iso(time).replace("T", " ").replace("Z", "").replace(".", ","),
  (time) => iso(time).replaceAll("-", "").replaceAll(":", ""),
  (time) => iso(time).replace("T", " ").replace("Z", " +0000 UTC"),
  (time) => `${time}000`,
  (time) => kibana(time),
  (time) => `${iso(time + 19_800_000).slice(0, -1)}+05:30`,
  (time, dice) => {
    const hours = dice.between(1, 9);
    return `${iso(time - hours * 3_600_000).slice(0, -1)}-0${hours}:00`;
  },
];

const names = {
  time: ["time", "timestamp", "eventTime", "occurred_at", "transactionTime", "event.time"],
  action: ["action", "eventName", "event_type", "Action", "event.action"],
  reason: ["description", "reason", "message", "Detail", "error_message", "event.reason"],
  vault: ["vaultUuid", "vault_id", "Vault UUID", "vault.uuid", "walletUdid", "vaultId"],
  address: ["ipAddress", "clientIp", "sourceIPAddress", "request.ip", "client_ip"],
  reference: ["externalRef", "external_reference", "External Reference"],
  application: ["applicationUuid", "appId", "application.uuid", "Application UUID"],
  endpoint: ["endpoint", "request.path", "uri"],
  id: ["id", "eventId", "event_id", "Audit ID"],
};

/** Columns of every log system that say nothing about a vault. */
const noise: readonly (readonly [name: string, of: (item: Item, dice: Dice) => unknown])[] = [
  ["preview", () => false],
  ["readOnly", () => true],
  ["archived", (_, dice) => dice.chance(0.5)],
  ["port", () => 443],
  ["bytes", (_, dice) => dice.between(200, 599)],
  ["durationMs", (_, dice) => dice.between(100, 999)],
  ["level", () => "INFO"],
  ["host", () => "log-7.example.com"],
  ["subjectId", ({ ipAddress }) => `99999999-9999-4999-8999-00000000000${ipAddress?.length ?? 0}`],
  ["requestId", (_, dice) => dice.uuid()],
  ["tenant", () => "tenant-7"],
  ["sequence", (_, dice) => dice.word()],
  ["tags", () => ["audit", "prod"]],
  ["geo.country", (_, dice) => dice.pick(["DE", "NZ", "BR"])],
  ["createdAt", () => "2024-01-01T00:00:00.000Z"],
  ["@version", () => "1"],
  ["userAgent", () => "okhttp/4.12.0"],
];

/** How each item is wrapped. */
const wrappers: readonly ((row: Row, index: number) => Row)[] = [
  (row) => row,
  (row) => row,
  (row, index) => ({ _index: "audit", _id: `a${index}`, _source: row }),
  (row, index) => ({ preview: false, offset: index, result: row }),
  (row) => ({ message: JSON.stringify(row) }),
  (row) => ({ log: { stream: "stdout" }, event: row }),
];

const json = (value: unknown): string => JSON.stringify(value);
const halves = <T>(rows: readonly T[]): [T[], T[]] => [
  rows.slice(0, rows.length >> 1),
  rows.slice(rows.length >> 1),
];
const lines = (rows: readonly Row[], end = "\n"): string =>
  rows.map((row) => json(row) + end).join("");
const total = (rows: readonly Row[]): Row => ({ total: { value: rows.length, relation: "eq" } });

/** What stands around the items in JSON. */
const containers: readonly (readonly [name: string, text: (rows: readonly Row[]) => string])[] = [
  ["NDJSON", (rows) => lines(rows)],
  ["CRLF", (rows) => lines(rows, "\r\n")],
  ["CR", (rows) => lines(rows, "\r")],
  ["blank lines", (rows) => lines(rows, "\n\n")],
  ["no line ends", (rows) => lines(rows, "")],
  ["array", json],
  ["indented array", (rows) => JSON.stringify(rows, null, 2)],
  ["wrapper", (rows) => json({ took: 3, items: rows, count: rows.length })],
  ["hits", (rows) => json({ took: 3, hits: { ...total(rows), hits: rows } })],
  ["fields first", (rows) => json({ fields: [{ name: "a" }, { name: "b" }], results: rows })],
  ["links first", (rows) => json({ links: [{ rel: "self", href: "/audit?page=1" }], data: rows })],
  ["two lists", (rows) => json({ read: halves(rows)[0], other: halves(rows)[1] })],
  ["page per line", (rows) => lines(halves(rows).map((part) => ({ items: part })))],
  ["one object per id", (rows) => json(Object.fromEntries(rows.map((row, at) => [`e${at}`, row])))],
];

const textOf = (value: unknown): string =>
  value === null || value === undefined ? "" : typeof value === "string" ? value : json(value);
const quoted = (text: string): string => `"${text.replaceAll('"', '""')}"`;
const cellOf = (value: unknown, between: string): string => {
  const text = textOf(value);
  return /["\r\n]/.test(text) || text.includes(between) ? quoted(text) : text;
};

const table =
  (between: string, cell = cellOf, head = "", end = "\n") =>
  (rows: readonly Row[]): string => {
    const columns = Object.keys(rows[0] ?? {});
    const lines = [columns, ...rows.map((row) => columns.map((column) => row[column]))];
    const text = lines.map(
      (cells) => cells.map((value) => cell(value, between)).join(between) + end,
    );
    return head + text.join("");
  };
const tables: readonly (readonly [name: string, text: (rows: readonly Row[]) => string])[] = [
  ["CSV", table(",")],
  ["TSV", table("\t")],
  ["semicolons", table(";")],
  ["quoted CSV", table(",", (value) => quoted(textOf(value)))],
  ["CSV with CRLF", table(",", cellOf, "", "\r\n")],
  ["CSV below a title", table(",", cellOf, "Audit report\nexported by ada\n\n")],
  ["CSV with a mark", table(",", cellOf, "\uFEFF")],
];

/** What stands in the place of the log's own words. */
export interface Words {
  reason?: (text: string) => string;
  outcome?: (value: unknown) => unknown;
}

/** One way to export items. */
export interface Shape {
  name: string;
  isGzip: boolean;
  /** False: files overlap, and items have no id by which it can be told that they are the same. */
  isExact: boolean;
  /** Writes a log as one or several files, which overlap. */
  write(items: readonly Item[], words?: Words): Buffer[];
}

const same = <T>(value: T): T => value;
const refused = { letter: "F", isFailure: true } as Item;

const shuffled = <T>(dice: Dice, list: readonly T[]): T[] =>
  list
    .map((value) => ({ value, at: dice.word() }))
    .toSorted((a, b) => a.at - b.at)
    .map(({ value }) => value);

export function shapeOf(dice: Dice): Shape {
  const isTable = dice.chance(0.3);
  const [form, text] = dice.pick(isTable ? tables : containers);
  const wrap = isTable ? wrappers[0] : dice.pick(wrappers);
  const [outcomeName, outcome] = dice.pick(outcomes);
  const reason: Record<string, string> = dice.pick(reasons);
  const reasonOf = (letter: string): string => reason[letter] ?? reason["ok"] ?? "";
  const time = dice.pick(times);
  const nothing = dice.pick([null, undefined, ""]);
  const isGzip = dice.chance(0.1);
  const isNewestFirst = dice.chance(0.2);
  const files = dice.chance(0.2) ? dice.between(2, 3) : 1;
  const name = (role: keyof typeof names): string => dice.pick(names[role]);
  const hasId = dice.chance(0.7);
  type Column = [name: string, of: (item: Item, words: Words) => unknown];
  const all: Column[] = [
    [name("time"), (item) => time(item.time, dice)],
    [name("action"), ({ action }) => action],
    [outcomeName, (item, { outcome: word = same }) => word(outcome(item))],
    [name("reason"), ({ letter }, { reason: word = same }) => word(reasonOf(letter))],
    [name("vault"), ({ vaultUuid }) => vaultUuid],
    [name("address"), ({ ipAddress }) => ipAddress],
    [name("reference"), ({ externalRef }) => externalRef],
  ];
  if (hasId) all.push([name("id"), ({ id }) => id]);
  if (dice.chance(0.7)) all.push([name("endpoint"), ({ endpoint }) => endpoint]);
  if (dice.chance(0.7)) all.push([name("application"), ({ applicationUuid }) => applicationUuid]);
  for (const [noisy, of] of shuffled(dice, noise).slice(0, dice.between(0, 6)))
    all.push([noisy, (item) => of(item, dice)]);
  const columns = shuffled(dice, all);
  const rowOf = (item: Item, words: Words): Row => {
    const row: Row = {};
    for (const [name, of] of columns) {
      const value = of(item, words);
      set(
        row,
        isTable ? [name] : name.split("."),
        value === null || value === "" ? nothing : value,
      );
    }
    return row;
  };
  return {
    name: [
      form,
      ...(isGzip ? ["gzip"] : []),
      ...(isNewestFirst ? ["newest first"] : []),
      ...(files > 1 ? [`${files} files`] : []),
      wrap === wrappers[0] ? "" : `in ${json(wrap?.({}, 0))}`,
      [...columns.map(([name]) => name), `${outcomeName}=${String(outcome(refused))}`].join(" "),
    ].join(", "),
    isGzip,
    isExact: hasId || files === 1,
    write: (items, words = {}) => {
      const rows = items.map(
        (item, index) => (wrap ?? wrappers[0])?.(rowOf(item, words), index) ?? {},
      );
      const share = Math.ceil(rows.length / files);
      return Array.from({ length: files }, (_, part) => {
        const some = rows.slice(part * share, (part + 1) * share + (part < files - 1 ? 3 : 0));
        const bytes = Buffer.from(text(isNewestFirst ? some.toReversed() : some));
        return isGzip ? gzipSync(bytes) : bytes;
      });
    },
  };
}

function set(row: Row, [first = "", ...rest]: string[], value: unknown): void {
  if (rest.length === 0) row[first] = value;
  else set((row[first] ??= {}) as Row, rest, value);
}
