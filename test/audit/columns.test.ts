import { describe, expect, test } from "vitest";
import { chooseColumns } from "../../src/audit/columns/choose.ts";
import type { ColumnMap } from "../../src/audit/columns/given.ts";
import { uuid } from "./support.ts";
import type { Columns } from "../../src/documents/audit.ts";

type Values = Record<string, string>;

/** Plausible values, of a few vaults of one application. */
const time = (n: number): string => new Date(Date.UTC(2026, 10, 20) + n * 60_000).toISOString();
const action = (n: number): string =>
  ["READ_VAULT", "ACKNOWLEDGE_READ_VAULT", "UPDATE_VAULT"][n % 3] ?? "";
const vault = (n: number): string => uuid(n % 4, "7");
const application = (): string => uuid(0, "8");
const id = (n: number): string => uuid(n, "a");
const endpoint = (n: number): string =>
  `POST /vaultsvc/v1-2/vault/credit-card/offline/${vault(n)}/get-start`;

const records = (
  make: (n: number) => Values,
  count = 12,
): { line: number; fields: Map<string, string> }[] =>
  Array.from({ length: count }, (_, n) => ({
    line: n + 1,
    fields: new Map(Object.entries(make(n))),
  }));

/** Formats columns as `role: column (by)`. */
const told = (columns: Columns): Record<string, string> =>
  Object.fromEntries(
    Object.entries(columns).map(([role, { name, by }]) => [role, `${name} (${by})`]),
  );

const recognize = (
  make: (n: number) => Values,
  map?: ColumnMap,
  count?: number,
): Record<string, string> =>
  told(chooseColumns(records(make, count), { map }, "export.csv").columns);

describe("columns by their names", () => {
  test.each([
    [
      "time",
      "transactionTime timestamp createdAt created_at @timestamp date Time event.time occurred-at ts audit_date _source.time",
    ],
    [
      "action",
      "action event type auditItem audit_item EVENT_TYPE operation _source.action activity event.action",
    ],
    [
      "vault",
      "vault vaultUuid vault_id vault.uuid walletUdid Vault_UUID wallet.id targetId data.vaultUuid",
    ],
    ["outcome", "outcome status result responseStatus.status success"],
    ["ip", "ip ipAddress requestor_IP remoteAddr source.ip client_ip X-Forwarded-For"],
    ["ref", "externalRef external_reference client_reference ref reference correlationId"],
    ["endpoint", "endpoint http_endpoint url path request requestUri"],
    ["application", "application applicationUUID application_uuid app.id clientId appUuid"],
    ["id", "id uuid itemId audit_item_id eventId _id"],
    ["description", "description message details reason"],
  ])("%s", (role, names) => {
    const usual: Record<string, (n: number) => string> = {
      time,
      action,
      vault,
      outcome: (n) => (n % 2 === 0 ? "SUCCESS" : "FAILURE"),
      ip: (n) => `10.0.0.${n}`,
      ref: (n) => `order-${n}`,
      endpoint,
      application,
      id,
      description: () => "as usual",
    };
    const column: Record<string, string> = { time: "time", action: "action", vault: "vaultUuid" };
    for (const name of names.split(" ")) {
      const roles = new Set(["time", "action", "vault", role]);
      const found = recognize((n) =>
        Object.fromEntries(
          [...roles].map((one) => [
            one === role ? name : (column[one] ?? ""),
            usual[one]?.(n) ?? "",
          ]),
        ),
      );
      expect(found, name).toMatchObject({ [role]: `${name} (name)` });
    }
  });

  test("with spaces", () => {
    const make = (n: number): Values => ({
      "Transaction Time": time(n),
      "Audit Item": action(n),
      "Vault UUID": vault(n),
      "Requestor IP": "10.0.0.1",
      "HTTP endpoint": endpoint(n),
    });
    expect(recognize(make)).toEqual({
      time: "Transaction Time (name)",
      action: "Audit Item (name)",
      vault: "Vault UUID (name)",
      ip: "Requestor IP (name)",
      endpoint: "HTTP endpoint (name)",
    });
  });

  test("of the early client: the action stands in the description", () => {
    const make = (n: number): Values => ({
      id: String(n),
      description: action(n),
      walletName: "Wallet of Ann",
      walletUdid: vault(n),
      username: "ann",
      applicationUUID: application(),
      transactionTime: String(1_795_183_331_000 + n),
    });
    expect(recognize(make)).toEqual({
      time: "transactionTime (name)",
      action: "description (value)",
      vault: "walletUdid (name)",
      application: "applicationUUID (name)",
      id: "id (name)",
    });
  });

  test("unless the values are something else", () => {
    const make = (n: number): Values => ({
      time: String(n + 3),
      timestamp: time(n),
      type: "AUDIT",
      event: action(n),
      vault: "Wallet of Ann",
      "target.uuid": vault(n),
      status: "ACTIVE",
      path: "none",
      host: "node-1",
    });
    expect(recognize(make)).toEqual({
      time: "timestamp (name)",
      action: "event (name)",
      vault: "target.uuid (name)",
    });
  });

  test("the action is where the known ones are", () => {
    const make = (n: number): Values => ({
      time: time(n),
      action: n === 0 ? "READ_VAULT" : "bulk",
      kind: action(n),
      vault: vault(n),
    });
    expect(recognize(make)).toMatchObject({ action: "kind (name)" });
  });

  test("unknown actions and vaults that are no uuids, where nothing fits better", () => {
    const make = (n: number): Values => ({
      time: time(n),
      action: `THING_${n}`,
      vault: `vault-${n}`,
    });
    expect(recognize(make)).toEqual({
      time: "time (name)",
      action: "action (name)",
      vault: "vault (name)",
    });
  });
});

describe("columns by the look of their values", () => {
  test("of everything", () => {
    const make = (n: number): Values => ({
      column1: id(n),
      column2: time(n),
      column3: action(n).toLowerCase().replaceAll("_", " "),
      column4: n % 2 === 0 ? "SUCCESS" : "FAILURE",
      column5: vault(n),
      column6: application(),
      column7: `order-${n}`,
      column8: n % 2 === 0 ? "fe80::1" : "10.0.0.1",
      column9: endpoint(n).replace("POST ", ""),
    });
    expect(recognize(make)).toEqual({
      time: "column2 (value)",
      action: "column3 (value)",
      vault: "column5 (value)",
      endpoint: "column9 (value)",
      ip: "column8 (value)",
      outcome: "column4 (value)",
      application: "column6 (value)",
      id: "column1 (value)",
    });
  });

  test.each([
    ["seconds", (n: number) => String(1_795_183_331 + n)],
    ["milliseconds", (n: number) => String(1_795_183_331_000 + n)],
    ["nanoseconds", (n: number) => String(1_795_183_331_000 + n).padEnd(19, "0")],
    ["with an offset", (n: number) => time(n).replace("Z", "+0200")],
  ])("times in %s", (_what, make) => {
    expect(
      recognize((n) => ({
        a: String(1_000_000_000 + n),
        b: make(n),
        c: action(n),
        vault: vault(n),
      }))["time"],
    ).toBe("b (value)");
  });

  test.each([
    "REGISTER_VAULT",
    "START_USE_VAULT",
    "COMPLETE_USE_VAULT",
    "Read vault",
    "acknowledge-update-vault",
    "DeleteVault",
  ])("the action %s", (name) => {
    expect(recognize((n) => ({ a: time(n), b: name, vault: vault(n) }))["action"]).toBe(
      "b (value)",
    );
  });

  test("the vault is the one that the endpoint names, although each is different", () => {
    const make = (n: number): Values => ({
      time: time(n),
      action: action(n),
      a: uuid(n, "1"),
      b: uuid(n, "7"),
      endpoint: `/vault/generic/offline/${uuid(n, "7").toUpperCase()}/get-end`,
    });
    expect(recognize(make)).toMatchObject({ vault: "b (value)" });
  });

  test("the vault has more values than the application", () => {
    const make = (n: number): Values => ({
      time: time(n),
      action: action(n),
      a: application(),
      b: vault(n),
      c: id(n),
    });
    expect(recognize(make)).toMatchObject({
      vault: "b (value)",
      application: "a (value)",
      id: "c (value)",
    });
  });

  test("a column called uuid is the vault's where its values repeat", () => {
    expect(recognize((n) => ({ time: time(n), action: action(n), uuid: vault(n) }))).toMatchObject({
      vault: "uuid (value)",
    });
    expect(
      recognize((n) => ({ time: time(n), action: action(n), uuid: id(n), b: vault(n) })),
    ).toMatchObject({
      vault: "b (value)",
      id: "uuid (name)",
    });
  });

  test("of a single record", () => {
    expect(recognize((n) => ({ a: time(n), b: action(n), c: vault(n) }), {}, 1)).toEqual({
      time: "a (value)",
      action: "b (value)",
      vault: "c (value)",
    });
  });

  test("without a column for it, the vault is in the endpoint", () => {
    expect(
      recognize((n) => ({ id: id(n), time: time(n), action: action(n), url: endpoint(n) })),
    ).toEqual({
      time: "time (name)",
      action: "action (name)",
      endpoint: "url (name)",
      vault: "url (value)",
      id: "id (name)",
    });
  });
});

test("without a column for it, the endpoint says what a call does", () => {
  expect(recognize((n) => ({ time: time(n), url: endpoint(n), status: "200" }))).toMatchObject({
    action: "url (value)",
    endpoint: "url (name)",
    vault: "url (value)",
  });
});

describe("what cannot be recognized", () => {
  test("nothing is required of no records", () => {
    expect(chooseColumns([], {}, "export.csv").columns).toEqual({});
  });

  test.each<[string, (n: number) => Values, string, string]>([
    [
      "nothing fits",
      (n) => ({ a: "x", [`b\u001b[31m${n % 2}`]: "y" }),
      "export.csv: found no column for time, action, vault",
      String.raw`name it with --map time=COLUMN,action=COLUMN,vault=COLUMN; the columns are a, "b\u001b[31m0", "b\u001b[31m1"`,
    ],
    [
      "times in another form",
      (n) => ({ time: "Nov 20 14:02:11", action: action(n), vault: vault(n) }),
      'export.csv: found no column for time; time holds "Nov 20 14:02:11", which has no year',
      "have it exported with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z; or name another column with --map time=COLUMN",
    ],
    [
      "items that another system has wrapped in a text",
      (n) => ({ "@timestamp": time(n), "@message": JSON.stringify({ action: action(n) }) }),
      "export.csv: found no column for vault",
      `the items are JSON in the texts of @message; give it these texts alone, one a line, as from JSON: jq -c '.. | objects | .["@message"] // empty | fromjson' FILE | vault audit-replay -`,
    ],
    [
      "two columns that may be the vault",
      (n) => ({ time: time(n), action: action(n), a: application(), b: uuid(1) }),
      "export.csv: found no column for vault; the vault may be a or b",
      "name it with --map vault=COLUMN; the columns are time, action, a, b",
    ],
    [
      "uuids that never repeat",
      (n) => ({ time: time(n), action: action(n), a: id(n) }),
      "export.csv: found no column for vault",
      "name it with --map vault=COLUMN; the columns are time, action, a",
    ],
  ])("%s", (_what, make, message, hint) => {
    expect(() => chooseColumns(records(make), {}, "export.csv")).toThrow(
      expect.objectContaining({
        code: "invalid-input",
        message,
        facts: expect.objectContaining({ hint }) as unknown,
      }),
    );
  });
});

describe("--map", () => {
  const make = (n: number): Values => ({
    time: time(n),
    sent: time(n),
    action: action(n),
    vault: vault(n),
    b: uuid(1),
    Status: "x",
  });

  test("overrules", () => {
    expect(recognize(make, { time: "sent", vault: "b", outcome: "status" })).toMatchObject({
      time: "sent (--map)",
      vault: "b (--map)",
      outcome: "Status (--map)",
      action: "action (name)",
    });
  });

  test("can give one column two roles", () => {
    expect(recognize(make, { action: "action", description: "action" })).toMatchObject({
      action: "action (--map)",
      description: "action (--map)",
    });
  });

  test("of a column that no record has is refused", () => {
    expect(() => chooseColumns(records(make), { map: { ip: "adress" } }, "export.csv")).toThrow(
      expect.objectContaining({
        code: "usage",
        message: '--map ip=…: export.csv has no column "adress"',
        facts: { hint: "its columns are time, sent, action, vault, b, Status" },
      }),
    );
  });
});
