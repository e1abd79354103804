import { describe, expect, test } from "vitest";
import { Faults, parseFault, type FaultRule } from "../../src/sandbox/faults.ts";
import { Bench, anyText } from "./support.ts";

const uuid = "123e4567-e89b-42d3-a456-426614174000";

describe("the text form", () => {
  const forms: [string, Partial<FaultRule>][] = [
    ["get-start:drop-after", { match: { operation: "get", step: "start" }, action: "drop-after" }],
    ["end:delay=2s*3", { match: { step: "end" }, action: { delayMs: 2000 }, times: 3 }],
    [
      "get-end:status=503*2",
      { match: { operation: "get", step: "end" }, action: { status: 503 }, times: 2 },
    ],
    ["start:garbage@1", { match: { step: "start" }, action: "garbage", skip: 1 }],
    [
      "update:cut@2*all",
      { match: { operation: "update" }, action: "cut", skip: 2, times: Infinity },
    ],
    ["any:status=429,retry-after=2", { match: {}, action: { status: 429, retryAfter: 2 } }],
    [
      `update-end/${uuid}:error-after=502`,
      { match: { operation: "update", step: "end", uuid }, action: { errorAfter: 502 } },
    ],
    ["any:hang", { match: {}, action: "hang" }],
    ["start:delay=1500ms", { match: { step: "start" }, action: { delayMs: 1500 } }],
    ["start:no-credentials", { match: { step: "start" }, action: "no-credentials" }],
    ["start:drop-before", { match: { step: "start" }, action: "drop-before" }],
  ];
  test.each(forms)("%s", (text, rule) => {
    expect(parseFault(text)).toEqual({ skip: 0, times: 1, ...rule });
  });

  test("the longest delay is that of a timer", () => {
    expect(parseFault("start:delay=1000h").action).toEqual({ delayMs: 2 ** 31 - 1 });
  });

  test.each([
    "",
    "get-start",
    ":cut",
    "getstart:cut",
    "start-get:cut",
    "get-:cut",
    "-start:cut",
    "read:cut",
    "info-start:cut",
    "start/abc:cut",
    "start:explode",
    "start:status=200",
    "start:status=503,retry-after=soon",
    "start:error-after=",
    "start:error-after=502,retry-after=2",
    "start:cut@x",
    "start:cut*x",
    "start:cut*0",
    "start:cut*2@1",
  ])("%j is refused", (text) => {
    expect(() => parseFault(text)).toThrow(
      expect.objectContaining({
        code: "invalid-input",
        message: `fault ${JSON.stringify(text)}: must be TARGET[/UUID]:ACTION[@SKIP][*TIMES]`,
      }),
    );
  });

  test("a delay without a unit is refused", () => {
    expect(() => parseFault("start:delay=2")).toThrow(/500ms/);
  });
});

describe("rules", () => {
  const request = { operation: "get", step: "start", uuid } as const;

  test("skip, fire so many times, and are used up", () => {
    const faults = new Faults();
    faults.add([parseFault("start:cut@2*2")]);
    const taken = Array.from({ length: 6 }, () => faults.take(request));
    expect(taken).toEqual([undefined, undefined, "cut", "cut", undefined, undefined]);
    expect(faults.armed).toBe(0);
  });

  test("match operation, step and vault; the first that is due wins", () => {
    const faults = new Faults();
    const rules = [
      "end:cut",
      "update:cut",
      `start/${"0".repeat(36)}:cut`,
      `get-start/${uuid.toUpperCase()}:hang`,
      "any:garbage*all",
    ];
    faults.add(rules.map(parseFault));
    expect([faults.take(request), faults.take(request), faults.take(request)]).toEqual([
      "hang",
      "garbage",
      "garbage",
    ]);
    faults.clear();
    expect(faults.take(request)).toBeUndefined();
  });
});

describe("what a fault does to the vault and to the answer", () => {
  const rawStart = (fault: string) => {
    const bench = new Bench();
    bench.sandbox.faults.add([parseFault(fault)]);
    const vault = bench.offline();
    const path = `/vaultsvc/v1-2/vault/${vault.kind}/${vault.uuid}/get-start`;
    const answer = bench.raw({ path, body: JSON.stringify(bench.startBody(vault)) });
    return {
      bench,
      vault,
      answer,
      starts: bench.sandbox.inspect(vault.uuid).counts.starts,
      logged: bench.sandbox.requests().at(-1),
    };
  };

  test("drop-before: nothing", () => {
    expect(rawStart("start:drop-before")).toMatchObject({
      starts: 0,
      answer: { transport: "drop" },
      logged: { processed: false },
    });
  });

  test.each([
    ["drop-after", { transport: "drop" }],
    ["cut", { transport: "cut" }],
    ["hang", { transport: "hang" }],
    ["delay=2s", { delayMs: 2000, status: 200 }],
  ])("%s: processed, the answer lost or late", (action, answer) => {
    expect(rawStart(`start:${action}`)).toMatchObject({
      starts: 1,
      answer,
      logged: { processed: true, status: 200 },
    });
  });

  test("status: not processed, an error that says so", () => {
    expect(rawStart("start:status=503,retry-after=7")).toMatchObject({
      starts: 0,
      answer: { status: 503, headers: { "retry-after": "7" } },
    });
    const { answer, starts } = rawStart("start:status=429,retry-after=7");
    expect([starts, answer.status, answer.headers["retry-after"]]).toEqual([0, 429, "7"]);
    expect(JSON.parse(answer.body)).toMatchObject({
      retryAfter: 7,
      responseStatus: { status: "ERROR" },
      errorUuid: anyText,
    });
  });

  test("error-after: processed, an error all the same", () => {
    expect(rawStart("start:error-after=502")).toMatchObject({ starts: 1, answer: { status: 502 } });
  });

  test("garbage: processed, not JSON", () => {
    const { starts, answer } = rawStart("start:garbage");
    expect([starts, answer.status]).toEqual([1, 200]);
    expect(() => JSON.parse(answer.body) as unknown).toThrow(SyntaxError);
  });

  test("no-credentials: SUCCESS without them", () => {
    const { starts, answer } = rawStart("start:no-credentials");
    const body = JSON.parse(answer.body) as { vault: object };
    expect(body).toMatchObject({ responseStatus: { status: "SUCCESS" } });
    expect([starts, Object.keys(body.vault).includes("credentials")]).toEqual([1, false]);
  });

  test("an end call that is dropped after processing has acknowledged", () => {
    const bench = new Bench();
    const vault = bench.offline();
    bench.sandbox.faults.add([parseFault("end:drop-after")]);
    const { transactionToken, vault: given } = bench.start(vault).body;
    const { uuid: app, apiKey } = bench.sandbox.application;
    const path = `/vaultsvc/v1-2/vault/${vault.kind}/${vault.uuid}/get-end`;
    const headers = { "x-application-uuid": app, "x-api-key": apiKey };
    const answer = bench.raw({
      method: "PUT",
      path,
      headers,
      body: JSON.stringify({ token: transactionToken.token }),
    });
    expect(answer.transport).toBe("drop");
    expect(bench.sandbox.accepts(vault.uuid, given.credentials)).toBe(true);
  });
});

test("latency delays every answer of a vault endpoint, on top of a fault's own delay", () => {
  const bench = new Bench({ latencyMs: 50, faults: [parseFault("start:delay=1s")] });
  const path = `/vaultsvc/v1-2/vault/generic/offline/${uuid}/get-start`;
  expect([
    bench.raw({ path }).delayMs,
    bench.raw({ path }).delayMs,
    bench.raw({ path: "/nowhere" }).delayMs,
  ]).toEqual([1050, 50, undefined]);
});
