import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { errorKinds } from "../../src/error-kinds.ts";
import { serviceDetails, wording } from "../../src/exchange/dispositions.ts";
import type { Answer, Pair } from "../../src/protocol/answers.ts";
import { isSuccess, readStartSuccess } from "../../src/protocol/answers.ts";
import { classify } from "../../src/protocol/classify.ts";
import { endpoints, type Endpoint, type Operation } from "../../src/protocol/endpoints.ts";
import { isOtherVault, readCreateSuccess, readInfo } from "../../src/protocol/answers.ts";
import { maskSecrets } from "../../src/service/http.ts";
import { replyOf } from "../../src/service/http.ts";
import { jsonText } from "../../src/terminal/redactor.ts";
import { importOld, kind, oldPair, startHostileService } from "../support/hostile-service.ts";
import { errorOf, machineFor } from "../support/machine.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { byteChanges, changeBytes, changeJson, jsonChanges } from "../support/dice.ts";
import { card } from "../support/lab.ts";

const uuid = "0f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";
const responseStatus = { status: "SUCCESS" };
const dates = {
  autoLockDate: "2027-11-20T14:02:11Z",
  dateCreated: "2025-01-01T00:00:00Z",
  expiryDate: "2026-12-31T00:00:00Z",
};
const transactionToken = { expiry: "2026-11-20T14:02:11Z", timeToExpire: 300, token: "T0K" };
const vault = {
  credentials: { encryptedData: "ENC", payload: "PAY" },
  uuid,
  creditCard: card,
  content: "text",
  usesRemaining: 4,
  ...dates,
};
const details = [
  { property: "vault.credentials", message: "bad credentials", errorReasons: ["a", "b"] },
];

const start = { responseStatus, transactionToken, vault };
/** Good answers of each kind, to begin with: most often the one that matters most. */
const seeds: readonly object[] = [
  start,
  start,
  start,
  { responseStatus },
  { responseStatus, ...dates, metadata: { team: "ops" } },
  { responseStatus, vault },
  { responseStatus: { status: "ERROR", code: "E-17", detailedErrors: details }, errorUuid: uuid },
  { responseStatus: { status: "ERROR" }, retryAfter: 3 },
];
const statuses = [200, 200, 200, 201, 204, 302, 400, 401, 403, 404, 409, 410, 423, 429, 500, 503];
const starts = endpoints.filter(({ step }) => step === "start");

/** A SUCCESS that is accepted has both credential strings, a token and this vault's uuid: told without the code that is tested. */
function isValidStart(body: unknown): boolean {
  const text = (value: unknown): value is string => typeof value === "string" && value.length > 0;
  const at = (value: unknown, ...path: string[]): unknown =>
    path.reduce<unknown>(
      (inner, name) =>
        typeof inner === "object" &&
        inner !== null &&
        !Array.isArray(inner) &&
        Object.hasOwn(inner, name)
          ? (inner as Record<string, unknown>)[name]
          : undefined,
      value,
    );
  const named = at(body, "vault", "uuid");
  return (
    at(body, "responseStatus", "status") === "SUCCESS" &&
    text(at(body, "vault", "credentials", "encryptedData")) &&
    text(at(body, "vault", "credentials", "payload")) &&
    text(at(body, "transactionToken", "token")) &&
    text(named) &&
    named.toLowerCase() === uuid
  );
}

/** Everything that is done with an answer, short of sending something again. */
function judge(bytes: Buffer, httpStatus: number, endpoint: Endpoint): void {
  const reply = replyOf({ httpStatus, headers: {}, body: bytes }, "h:1");
  expect(["answer", "no-answer"]).toContain(reply.type);
  if (reply.type === "not-sent" || reply.answer === undefined) return;
  const { answer } = reply;
  const success = readStartSuccess(
    { ...endpoint, operation: endpoint.operation as Operation, uuid },
    answer,
  );
  expect(success !== undefined).toBe(isValidStart(answer.body));
  if (success !== undefined) checkFacts(success);
  const created = readCreateSuccess(answer);
  if (created !== undefined)
    expect(
      [created.uuid, created.pair.encryptedData, created.pair.payload].every((part) => part !== ""),
    ).toBe(true);
  readInfo(answer);
  isOtherVault(answer, uuid);
  checkError(answer);
  expect(JSON.parse(jsonText({ body: maskSecrets(answer.body) }))).toBeTypeOf("object");
  expect(({} as Record<string, unknown>)["status"]).toBeUndefined();
}

/** Dates can be read, numbers counted. */
function checkFacts(success: NonNullable<ReturnType<typeof readStartSuccess>>): void {
  for (const date of [
    success.tokenExpiry,
    success.expiryDate,
    success.autoLockDate,
    success.dateCreated,
    success.lastModified,
  ]) {
    if (date !== null) expect(Number.isNaN(Date.parse(date))).toBe(false);
  }
  if (success.usesRemaining !== null)
    expect(Number.isSafeInteger(success.usesRemaining)).toBe(true);
}

const classes = [
  "rate",
  "server",
  "application",
  "credentials",
  "token",
  "locked",
  "gone",
  "missing",
  "validation",
  "service",
];

function checkError(answer: Answer): void {
  expect(classes).toContain(classify(answer));
  expect(wording(answer)).toContain(`HTTP ${answer.httpStatus}`);
  expect(serviceDetails(answer).errorUuid ?? uuid).toMatch(/^[0-9a-fA-F-]{32,36}$/);
  if (isSuccess(answer)) expect(answer.body["responseStatus"]).toMatchObject({ status: "SUCCESS" });
}

const runs = isWhole ? 20_000 : 1500;
const settings = (seed: number, numRuns = runs): fc.Parameters<unknown> => ({ seed, numRuns });
const where = [
  fc.constantFrom(...seeds),
  fc.constantFrom(...statuses),
  fc.constantFrom(...starts),
] as const;

describe("an answer in which anything may have changed is read by the rules, or is none", () => {
  it("by bytes", () => {
    fc.assert(
      fc.property(...where, byteChanges, (seed, status, endpoint, changes) => {
        judge(changeBytes(Buffer.from(JSON.stringify(seed)), changes), status, endpoint);
      }),
      settings(20261124),
    );
    tried("fuzzed responses", runs);
  });

  it("by values", () => {
    let valid = 0;
    fc.assert(
      fc.property(...where, jsonChanges, (seed, status, endpoint, changes) => {
        const text = changeJson(seed, changes);
        if (isValidStart(JSON.parse(text))) valid += 1;
        judge(Buffer.from(text), status, endpoint);
      }),
      settings(20261125),
    );
    // Both sides of the rule were met.
    expect(valid).toBeGreaterThan(runs / 50);
    expect(valid).toBeLessThan(runs / 2);
    tried("fuzzed responses", runs);
  });
});

describe("over a connection, to the whole program", () => {
  const documented = Object.values(errorKinds).map(({ exitCode }) => exitCode);

  it("the old pair stays the current one, unless the answer hands out another by the rules", async () => {
    const hostile = await startHostileService();
    const machine = machineFor(hostile, {
      env: { VAULTSVC_MAX_WAIT: "0s", VAULTSVC_TIMEOUT: "1s", VAULTSVC_OUTPUT: "json" },
    });
    const count = isWhole ? 1000 : 60;
    let vaults = 0;
    await fc.assert(
      fc.asyncProperty(fc.boolean(), byteChanges, jsonChanges, async (isBytes, bytes, values) => {
        vaults += 1;
        const one = `0f9b1c1e-2d3c-4b5a-8697-${String(vaults).padStart(12, "0")}`;
        hostile.be(kind);
        await importOld(machine, one, "credit-card/offline");
        let sent = "";
        hostile.be((_, { good, socket }) => {
          sent = isBytes ? JSON.stringify(good) : changeJson(good, values);
          const whole = Buffer.from(
            `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(sent)}\r\n\r\n${sent}`,
          );
          socket.end(isBytes ? changeBytes(whole, bytes) : whole);
        });
        const { code, stdout, stderr } = await machine.vault("get", one, "--no-ack");
        expect(code).not.toBe(1);
        if (code !== 0) {
          expect(documented).toContain(code);
          expect(errorOf({ code, stdout, stderr, signal: null }).exitCode).toBe(code);
          expect(await machine.exported(one)).toEqual(oldPair);
          return;
        }
        const offered = (JSON.parse(stdout) as { vault: { uuid: string; credentials: Pair } })
          .vault;
        expect(offered.uuid.toLowerCase()).toBe(one);
        const { encryptedData, payload } = offered.credentials;
        expect(await machine.exported(one)).toMatchObject({
          status: "pending",
          old: oldPair,
          new: { encryptedData, payload },
        });
      }),
      settings(20261126, count),
    );
    tried("fuzzed responses", count);
  });
});
