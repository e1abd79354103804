import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import type { AuditItem } from "../../src/documents/sandbox.ts";
import { auditExport } from "../../src/sandbox/control.ts";
import { Bench, matching, wrongPair } from "./support.ts";

describe("the audit", () => {
  test("tells the life of a vault under the current names", () => {
    const bench = new Bench();
    const vault = bench.offline({ maxUsage: 1 });
    const updated = bench.exchange(vault, "update");
    bench.startWith(updated, wrongPair);
    bench.startWith(updated, wrongPair, "update");
    const { transactionToken } = bench.start(updated, "get", { externalRef: "order-2291" }).body;
    bench.end(updated, transactionToken.token);
    expect(bench.sandbox.audit().map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      "CREATE_VAULT SUCCESS",
      "UPDATE_VAULT SUCCESS",
      "ACKNOWLEDGE_UPDATE_VAULT SUCCESS",
      "READ_VAULT FAILURE",
      "UPDATE_VAULT FAILURE",
      "READ_VAULT SUCCESS",
      "ACKNOWLEDGE_READ_VAULT SUCCESS",
      "DELETE_VAULT SUCCESS",
    ]);
    const [read, acknowledged] = bench.sandbox.audit().slice(-3);
    expect(read).toEqual({
      id: matching(/^[0-9a-f-]{36}$/),
      time: "2026-11-20T14:00:00.000Z",
      action: "READ_VAULT",
      outcome: "SUCCESS",
      vaultUuid: vault.uuid,
      applicationUuid: bench.sandbox.application.uuid,
      externalRef: "order-2291",
      ipAddress: "127.0.0.1",
      endpoint: `POST /vaultsvc/v1-2/vault/credit-card/offline/${vault.uuid}/get-start`,
      description: "read started",
    });
    expect(acknowledged).toMatchObject({ externalRef: "order-2291" });
    const ids = bench.sandbox.audit().map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
  });

  test("says what locked a vault", () => {
    const bench = new Bench({ policy: { unackedStarts: 1 } });
    const failing = bench.offline();
    for (let i = 0; i < 3; i += 1) bench.startWith(failing, wrongPair);
    const descriptions = () => bench.sandbox.audit().map(({ description }) => description);
    expect(descriptions().slice(1)).toEqual([
      "bad credentials (vault.credentials)",
      "bad credentials (vault.credentials)",
      "bad credentials (vault.credentials), vault locked",
    ]);
    bench.start(bench.offline());
    expect(bench.sandbox.audit().at(-1)).toMatchObject({
      action: "READ_VAULT",
      outcome: "FAILURE",
      description: "too many starts without acknowledgement, vault locked",
    });
  });

  test("holds no secret", () => {
    const bench = new Bench();
    const vault = bench.offline();
    const { transactionToken, vault: given } = bench.start(vault, "update").body;
    bench.startWith(vault, wrongPair);
    bench.end(vault, transactionToken.token, "update");
    const text = JSON.stringify(bench.sandbox.audit());
    const secrets = [
      vault.credentials.payload,
      given.credentials.payload,
      transactionToken.token,
      wrongPair.payload,
      "5555555555554444",
    ];
    for (const secret of [...secrets, bench.sandbox.application.apiKey])
      expect(text).not.toContain(secret);
  });
});

describe("its export", () => {
  const exported = (file: string, items: readonly AuditItem[]): string =>
    String(auditExport(file)?.(items));
  const item = (externalRef: string | null): AuditItem => ({
    id: "1",
    time: "2026-11-20T14:00:00.000Z",
    action: "READ_VAULT",
    outcome: "SUCCESS",
    vaultUuid: null,
    applicationUuid: "a",
    externalRef,
    ipAddress: "127.0.0.1",
    endpoint: "POST /x",
    description: "read started",
  });

  test("NDJSON: a line an item", () => {
    const lines = exported("a.ndjson", [item('"\n'), item(null)]).split("\n");
    expect(lines).toHaveLength(3);
    expect(JSON.parse(lines[0] ?? "")).toEqual(item('"\n'));
    expect(lines[2]).toBe("");
    expect(exported("a.ndjson", [])).toBe("");
  });

  test.each([
    ["order-1", "order-1"],
    [null, ""],
    ["a,b", '"a,b"'],
    ['say "hi"', '"say ""hi"""'],
    ["two\nlines", '"two\nlines"'],
    ["=1+1", "'=1+1"],
    ["+1", "'+1"],
    ["-1", "'-1"],
    ["@cmd", "'@cmd"],
    ["\tx", "'\tx"],
    ["\rx", '"\'\rx"'],
    ['=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
    ["a=b", "a=b"],
  ])("CSV: the cell %j", (externalRef, cell) => {
    const csv = exported("a.csv", [item(externalRef)]);
    expect(csv).toBe(
      "id,time,action,outcome,vaultUuid,applicationUuid,externalRef,ipAddress,endpoint,description\r\n" +
        `1,2026-11-20T14:00:00.000Z,READ_VAULT,SUCCESS,,a,${cell},127.0.0.1,POST /x,read started\r\n`,
    );
  });

  test.each([
    ["a.ndjson", "folder.csv/A.NDJSON"],
    ["a.csv", "x.json.CSV"],
  ])("%s and %s have the same form", (one, other) => {
    const items = [item("=1"), item(null)];
    expect(auditExport(one)?.(items)).toBeTruthy();
    expect(auditExport(other)?.(items)).toEqual(auditExport(one)?.(items));
  });

  test.each([".ndjson", ".csv"])("%s.gz is the same, compressed", (ending) => {
    const items = [item("Höhe"), item("a,b")];
    const packed = auditExport(`items${ending}.gz`)?.(items) as Uint8Array;
    expect(gunzipSync(packed).toString("utf8")).toBe(auditExport(`items${ending}`)?.(items));
  });

  test.each([
    "items",
    "items.txt",
    "items.gz",
    "items.csv.zip",
    "csv",
    "items.constructor",
    "items.csv/",
    "",
  ])("%j names no form", (name) => {
    expect(auditExport(name)).toBeUndefined();
  });
});
