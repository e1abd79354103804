import { command } from "../../src/way.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { GetDocument, UpdateDocument } from "../../src/documents/exchange.ts";
import { Report, type Outcome } from "../../src/runs/report.ts";
import { VaultError } from "../../src/errors.ts";
import { checkDocument } from "../support/documents.ts";
import { printingParts, shown, uuid, type PartsOptions } from "../support/fake-host.ts";

const exchange = {
  id: "01J00000000000000000000000",
  operation: "get" as const,
  externalRef: "vault-01J00000000000000000000000",
  startedAt: "2026-11-21T12:00:00.000Z",
  tokenExpiry: "2026-11-21T12:05:00Z",
  generation: 7,
  by: { host: "desk", user: "ada", pid: 4711 },
};
const card = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2031 };
const contents: GetDocument = {
  uuid: uuid(1),
  label: "payroll",
  vault: { uuid: uuid(1), creditCard: card },
  kind: "credit-card/offline",
  exchange,
  settled: [],
};
const receipt: UpdateDocument = {
  ...contents,
  exchange: {
    ...exchange,
    operation: "update",
    state: "acknowledged",
    acknowledgedAt: "2026-11-21T12:00:01.000Z",
  },
};
const settled = {
  exchange: {
    id: exchange.id,
    operation: "get",
    externalRef: "x",
    startedAt: "2026-11-27T10:02:00Z",
    by: null,
  },
  operation: "get",
  outcome: "acknowledged",
} as const;

const rejected = (n: number, generation = 7): VaultError =>
  new VaultError(
    "rejected",
    `the service refused the credentials of generation ${generation} ("no"); they will not be sent again`,
    {
      next: [
        { ...command`vault import ${uuid(n)} --credentials @FILE`, note: "adds the right ones" },
        command`vault status ${uuid(n)} --history`,
      ],
    },
  );
const cut = (n: number): VaultError =>
  new VaultError(
    "network",
    "the start was sent, but no complete response came back: connection reset",
    {
      uuid: uuid(n),
      hint: "the stored credentials are kept",
      next: [{ ...command`vault status ${uuid(n)}`, note: "then run it again" }],
    },
  );

const done: Outcome = { ok: true };
const failed = (error: VaultError): Outcome => ({ ok: false, error });
const skipped = (reason: "held" | "locked" | "guard" | "limited"): Outcome => ({
  ok: false,
  skipped: reason,
  error: new VaultError("guard", `why it is ${reason}`, { next: [command`vault help ${reason}`] }),
});
function open(
  options: PartsOptions & {
    total: number;
    operation?: "get" | "update" | "ack";
    form?: "ndjson" | "rows";
  },
) {
  const { total, operation = "get", form = "rows" } = options;
  const parts = printingParts(options);
  const rest = command`vault get --all --run payroll`;
  const report = new Report(parts.app, { operation, total, form, name: "payroll", rest });
  const end = async (): Promise<void> => {
    parts.pass(171_230);
    report.calls = 4006;
    await report.end([command`vault get --run payroll`]);
    await parts.flush();
  };
  return { ...parts, report, end };
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
afterEach(() => void vi.useRealTimers());

describe("lines for a program", () => {
  test("are one write each, and as their schema says", async () => {
    const { app, report, written, end } = open({ total: 5, form: "ndjson" });
    app.io.redactor.add("hunter2");
    await report.exchange("contents", contents, () => "");
    await report.exchange("contents", { ...contents, settled: [settled] }, () => "");
    await report.exchange("receipt", receipt);
    await report.outcome({ uuid: uuid(1), label: "payroll" }, done);
    await report.outcome({ uuid: uuid(2), label: null }, { ok: true, earlier: true });
    await report.outcome(
      { uuid: uuid(3), label: "x" },
      failed(new VaultError("service", "not hunter2\nbut more", { hint: "run it again" })),
    );
    await report.outcome({ uuid: uuid(4), label: null }, skipped("held"));
    await report.notBegun([{ uuid: uuid(5), label: null }]);
    await end();
    expect(written.stdout.every((text) => text.indexOf("\n") === text.length - 1)).toBe(true);
    const events = written.stdout.map((text) => JSON.parse(text) as unknown);
    for (const event of events) checkDocument("event", event);
    const { settled: _, ...vault } = contents;
    expect(events).toEqual([
      { event: "contents", ...vault },
      { event: "contents", ...vault, settled: [settled] },
      { event: "receipt", ...vault, exchange: receipt.exchange },
      { event: "outcome", uuid: uuid(1), label: "payroll", ok: true },
      { event: "outcome", uuid: uuid(2), label: null, ok: true, earlier: true },
      {
        event: "outcome",
        uuid: uuid(3),
        label: "x",
        ok: false,
        error: {
          code: "service",
          message: "not «redacted»\nbut more",
          hint: "run it again",
          next: [],
          exitCode: 13,
          retry: "after-status",
          uuid: uuid(3),
          label: "x",
        },
      },
      { event: "outcome", uuid: uuid(4), label: null, ok: false, skipped: "held" },
      { event: "outcome", uuid: uuid(5), label: null, ok: false, skipped: "stopped" },
      {
        event: "summary",
        run: "payroll",
        done: 2,
        earlier: 1,
        failed: 1,
        skipped: 2,
        seconds: 171.23,
        calls: 4006,
        next: [{ argv: ["vault", "get", "--run", "payroll"] }],
      },
    ]);
    expect(written.stderr).toBe("");
  });

  test("reject as the output does", async () => {
    const { report } = open({ total: 1, form: "ndjson", stdoutFails: { code: "ENOSPC" } });
    await expect(report.exchange("contents", contents, () => "")).rejects.toMatchObject({
      code: "ENOSPC",
    });
    await expect(report.outcome(contents, done)).rejects.toMatchObject({ code: "ENOSPC" });
  });
});

describe("rows for a person", () => {
  test("each, wrapped, and a summary", async () => {
    const { app, report, written, end } = open({ total: 14, isTTY: true, columns: 80 });
    app.io.redactor.add("hunter2");
    await report.exchange("contents", contents, () => "  Vault  its contents\n");
    await report.outcome({ uuid: uuid(1), label: "payroll" }, done);
    await report.outcome({ uuid: uuid(2), label: null }, { ok: true, earlier: true });
    for (const n of [3, 4])
      await report.outcome(
        { uuid: uuid(n), label: `of hunter2\u001B ${n}` },
        failed(rejected(n, n)),
      );
    await report.outcome({ uuid: uuid(5), label: null }, failed(cut(5)));
    await report.outcome({ uuid: uuid(6), label: null }, skipped("locked"));
    await report.outcome({ uuid: uuid(7), label: "mine" }, skipped("limited"));
    await report.outcome({ uuid: uuid(8), label: null }, skipped("guard"));
    for (const n of [9, 10, 11, 12])
      await report.outcome({ uuid: uuid(n), label: null }, skipped("held"));
    await report.notBegun([{ uuid: uuid(13), label: null }]);
    await end();
    expect(`\n${shown(written.screen)}`).toMatchInlineSnapshot(`
      "
        Vault  its contents
      123e4567-e89b-42d3-a456-000000000001  done     payroll
      123e4567-e89b-42d3-a456-000000000002  earlier
      123e4567-e89b-42d3-a456-000000000003  failed   of «redacted»\\u{1b} 3: the
        service refused the credentials of generation 3 ("no"); they will not be sent
        again
      123e4567-e89b-42d3-a456-000000000004  failed   of «redacted»\\u{1b} 4: the
        service refused the credentials of generation 4 ("no"); they will not be sent
        again
      123e4567-e89b-42d3-a456-000000000005  failed   the start was sent, but no
        complete response came back: connection reset
      123e4567-e89b-42d3-a456-000000000006  skipped  why it is locked
      123e4567-e89b-42d3-a456-000000000007  skipped  mine: why it is limited
      123e4567-e89b-42d3-a456-000000000008  skipped  why it is guard
      123e4567-e89b-42d3-a456-000000000009  skipped  why it is held
      123e4567-e89b-42d3-a456-000000000010  skipped  why it is held
      123e4567-e89b-42d3-a456-000000000011  skipped  why it is held
      123e4567-e89b-42d3-a456-000000000012  skipped  why it is held
      2 of 14 vaults read in 171.2s: 1 of them earlier, 3 failed, 7 skipped, 2 not
        started. Run payroll.
      "
    `);
  });

  test("an update has its row alone, and what went well has no groups", async () => {
    const { report, written, end } = open({ total: 1, operation: "update", isTTY: true });
    await report.exchange("receipt", receipt);
    await report.outcome(contents, done);
    await end();
    expect(shown(written.screen)).toBe(
      `${uuid(1)}  done     payroll\n1 vault updated in 171.2s. Run payroll.\n`,
    );
  });

  test("--quiet has no messages, and without a terminal there are some only with --verbose", async () => {
    for (const [options, isTold] of [
      [{ isTTY: true, quiet: true }, false],
      [{}, false],
      [{ verbose: true }, true],
    ] as const) {
      const { report, written, end } = open({ total: 1, ...options });
      await report.outcome(contents, failed(cut(1)));
      await end();
      expect(written.stdout).toHaveLength(1);
      expect(
        written.stderr.startsWith("0 of 1 vault read in 171.2s: 1 failed. Run payroll.\n"),
      ).toBe(isTold);
      expect(written.stderr === "").toBe(!isTold);
    }
  });
});

describe("failures by cause", () => {
  const next = [
    `vault import ${uuid(0)} --credentials @FILE`,
    `vault status ${uuid(0)} --history`,
    "vault help locked",
    "vault help held",
  ];
  const linesOf = (error?: VaultError) => error?.facts.next?.map(({ argv }) => argv.join(" "));

  test("are few, with what helps the first of each", async () => {
    const { report } = open({ total: 1503 });
    for (let n = 0; n < 1500; n += 1)
      await report.outcome({ uuid: uuid(n), label: null }, failed(rejected(n, n)));
    await report.outcome({ uuid: uuid(1501), label: null }, skipped("locked"));
    for (const n of [1502, 1503])
      await report.outcome({ uuid: uuid(n), label: null }, skipped("held"));
    const failure = report.failureOf(null);
    expect(failure?.message).toBe(
      "run payroll left 1,503 of 1,503 vaults undone: 1,500 failed (rejected), 1 skipped (locked), 2 skipped (held); " +
        "the same command line would not change that",
    );
    expect(failure?.retry).toBe("after-fix");
    expect(linesOf(failure)).toEqual(next);
  });

  test("with one that the same line may do, that line comes first", async () => {
    const { report } = open({ total: 4 });
    await report.outcome({ uuid: uuid(0), label: null }, failed(rejected(0)));
    await report.outcome({ uuid: uuid(1), label: null }, failed(cut(1)));
    await report.outcome({ uuid: uuid(2), label: null }, skipped("locked"));
    await report.outcome({ uuid: uuid(3), label: null }, skipped("held"));
    const failure = report.failureOf(null);
    expect(failure?.message).toBe(
      "run payroll left 4 of 4 vaults undone: 1 failed (rejected), 1 failed (network), 1 skipped (locked), 1 skipped (held)",
    );
    expect(linesOf(failure)).toEqual(["vault get --all --run payroll", ...next]);
  });
});

describe("progress", () => {
  test("is a bar that rows and messages do not break", async () => {
    const { app, report, written, pass } = open({ total: 2000, isTTY: true });
    await report.outcome({ uuid: uuid(1), label: null }, { ok: true, earlier: true });
    for (let n = 2; n < 12; n += 1) {
      pass(200);
      app.io.narrator.warn("slow");
      await Promise.all(
        [1, 2].map(
          async (k) =>
            await report.outcome({ uuid: uuid(n), label: `${k}` }, k === 1 ? done : failed(cut(n))),
        ),
      );
    }
    const lines = shown(written.screen).split("\n");
    expect(lines.at(-1)).toBe("░░░░░░░░░░░░    1 %  3 minutes left  11 of 2,000 done  10 failed");
    expect(
      lines
        .slice(0, -1)
        .filter(
          (line) =>
            !/^(vault: warning: slow|1.{35} {2}(done|earlier|failed).*| {2}\S.*)$/.test(line),
        ),
    ).toEqual([]);
    expect(lines.filter((line) => line === "vault: warning: slow")).toHaveLength(10);
    // Nothing is finished for a while.
    pass(10_000);
    vi.advanceTimersByTime(1000);
    expect(shown(written.screen).split("\n").at(-1)).toContain("19 minutes left");
    report.close();
    vi.advanceTimersByTime(5000);
    expect(shown(written.screen).split("\n").at(-1)).toBe("");
  });
});
