import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { tempDir } from "../support/cleanup.ts";
import { failure, line, moment, reportOfOne, replayText, rules, vaultUuid } from "./support.ts";

const created = line(0, "CREATE_VAULT");
const read = (at: number, more = {}): string => line(at, "READ_VAULT", more);
const ack = (at: number, more = {}): string => line(at, "ACKNOWLEDGE_READ_VAULT", more);
const day = 86_400;

describe("how sure a verdict is", () => {
  it("is certain where the log shows the vault from its creation on", async () => {
    expect(await reportOfOne([created, read(1), ack(2)])).toMatchObject({
      verdict: "ok",
      certainty: "certain",
    });
  });

  it("is certain behind an acknowledgement, which sets both counters to zero", async () => {
    expect(await reportOfOne([read(1), ack(2)])).toMatchObject({
      verdict: "ok",
      certainty: "certain",
    });
  });

  it.each<[string, string[], object, RegExp]>([
    [
      "the log begins later than the vault",
      [read(1), read(2)],
      {},
      /the log begins after the vault's creation/,
    ],
    [
      "what was before was not asked for",
      [created, read(1), read(20)],
      { since: Date.parse(moment(10)) },
      /--since leaves out earlier items/,
    ],
    [
      "a line could not be read",
      [created, read(1), ack(2), "no item"],
      {},
      /1 line could not be read/,
    ],
    [
      "nothing tells failures",
      [created, read(1), ack(2)].map((one) => one.replace(',"outcome":"SUCCESS"', "")),
      {},
      /the items do not show which calls failed/,
    ],
    [
      "the release records no failures",
      [created, read(1), ack(2)],
      { rules: { ...rules, release: "1.2.17" } },
      /records no failed attempts/,
    ],
    [
      "there are items of unknown actions",
      [created, line(1, "ROTATE_VAULT"), read(2)],
      {},
      /were not understood/,
    ],
    ["the log contradicts itself", [created, ack(5)], {}, /contradicts itself/],
  ])("is likely only where %s", async (_what, lines, options, reason) => {
    const report = await reportOfOne(lines, options);
    expect(report).toMatchObject({ certainty: "likely" });
    expect(report.reason).toMatch(reason);
  });

  it("is certain of a lock that the item itself tells of, whatever was before", async () => {
    const report = await reportOfOne([
      failure(1, { description: "bad credentials, vault locked" }),
    ]);
    expect(report).toMatchObject({
      verdict: "locked",
      certainty: "certain",
      lockedAt: moment(1),
      cause: { rule: "failed-attempts" },
    });
  });

  it("knows that a call was refused for a lock that it does not show", async () => {
    const report = await reportOfOne([
      created,
      line(1, "READ_VAULT", { outcome: "FAILURE", description: "the vault is locked" }),
    ]);
    expect(report).toMatchObject({
      verdict: "locked",
      cause: { rule: "unseen" },
      contradictions: [{ kind: "refused-while-open" }],
    });
  });
});

describe("what does not fit together is listed, and the newest item believed", () => {
  it.each<[string, string[], string, object]>([
    [
      "an acknowledgement without a start",
      [created, read(1), ack(2), ack(3)],
      "acknowledgement-without-start",
      { verdict: "ok" },
    ],
    [
      "an acknowledgement after the token has expired",
      [created, read(1), ack(200)],
      "acknowledgement-after-expiry",
      { verdict: "ok" },
    ],
    [
      "an acknowledgement of the other operation",
      [created, read(1), line(2, "ACKNOWLEDGE_UPDATE_VAULT")],
      "acknowledgement-of-other-operation",
      { verdict: "ok" },
    ],
    [
      "a read after the deletion",
      [created, line(1, "DELETE_VAULT"), read(2)],
      "activity-after-deletion",
      { verdict: "open-exchange" },
    ],
    [
      "a read while it is locked",
      [created, failure(1), failure(2), failure(3), read(4)],
      "activity-while-locked",
      { verdict: "open-exchange", unackedStarts: 1 },
    ],
    [
      "items before the creation",
      [read(1), ack(2), line(3, "CREATE_VAULT")],
      "activity-before-creation",
      { verdict: "ok" },
    ],
    ["a second creation", [created, line(3, "CREATE_VAULT")], "created-twice", { verdict: "ok" }],
  ])("%s", async (_what, lines, kind, expected) => {
    const report = await reportOfOne(lines);
    expect(report).toMatchObject({ ...expected, certainty: "likely" });
    expect(report.contradictions.map((one) => one.kind)).toEqual([kind]);
    expect(report.contradictions[0]?.item.line).toBe(lines.length);
  });

  it("an acknowledgement that begins the log is none", async () => {
    expect(await reportOfOne([ack(1)])).toMatchObject({
      verdict: "ok",
      certainty: "certain",
      contradictions: [],
    });
  });

  it("a vault's first twenty are listed, the others counted", async () => {
    const report = await reportOfOne([
      created,
      ...Array.from({ length: 30 }, (_, index) => ack(index + 1)),
    ]);
    expect(report.contradictions).toHaveLength(20);
    expect(report.moreContradictions).toBe(10);
  });
});

describe("the rules", () => {
  it("one more failed access, or one more start, would lock", async () => {
    expect(await reportOfOne([created, failure(1), failure(2)])).toMatchObject({
      verdict: "at-risk",
      failedAttempts: 2,
    });
    expect(await reportOfOne([created, read(1), read(2), read(3), read(4)])).toMatchObject({
      verdict: "at-risk",
      unackedStarts: 4,
    });
    expect(await reportOfOne([created, failure(1), failure(2), read(3), ack(4)])).toMatchObject({
      verdict: "ok",
      failedAttempts: 0,
    });
    const first = { ...rules, limits: { ...rules.limits, unackedStarts: 1 } };
    expect(await reportOfOne([created], { rules: first })).toMatchObject({ verdict: "at-risk" });
  });

  it("a successful start sets failures to zero, not starts; a failure leaves the starts", async () => {
    const report = await reportOfOne([created, read(1), failure(2), read(3), failure(4)]);
    expect(report).toMatchObject({ unackedStarts: 2, failedAttempts: 1, verdict: "open-exchange" });
  });

  it("what comes to a locked vault changes neither its counters nor what locked it", async () => {
    const lines = [
      created,
      failure(1),
      failure(2),
      failure(3),
      failure(4),
      failure(5),
      line(6, "READ_VAULT", { outcome: "FAILURE", description: "vault is locked" }),
    ];
    const report = await reportOfOne(lines);
    expect(report).toMatchObject({
      verdict: "locked",
      lockedAt: moment(3),
      failedAttempts: 3,
      items: 7,
      contradictions: [],
    });
    expect(report.cause?.chain.map((item) => item.line)).toEqual([2, 3, 4]);
  });

  it("other limits than the usual ones hold, and are in the report", async () => {
    const other = { ...rules, limits: { failedAttempts: 2, unackedStarts: 3 } };
    expect(await reportOfOne([created, failure(1), failure(2)], { rules: other })).toMatchObject({
      verdict: "locked",
      lockedAt: moment(2),
    });
    expect(await reportOfOne([created, read(1), read(2), read(3)], { rules: other })).toMatchObject(
      {
        cause: { rule: "unacknowledged-starts" },
      },
    );
    expect((await replayText(`${created}\n`, { rules: other })).result.summary.rules).toEqual(
      other,
    );
  });

  it("with limits longer than a chain is remembered, its newest items are named", async () => {
    const many = Array.from({ length: 20 }, (_, index) => failure(index + 1));
    const report = await reportOfOne([created, ...many], {
      rules: { ...rules, limits: { ...rules.limits, failedAttempts: 20 } },
    });
    expect(report).toMatchObject({ verdict: "locked", lockedAt: moment(20) });
    expect(report.cause?.chain.map((item) => item.line)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 2),
    );
  });

  it("releases up to 1.2.22 lock when the transaction of a start with invalid credentials expires", async () => {
    const lines = [created, failure(10), line(400, "READ_VAULT", { vaultUuid: vaultUuid(2) })];
    const old = { rules: { ...rules, release: "1.2.22" } };
    const { reports } = await replayText(`${lines.join("\n")}\n`, old);
    expect(reports.find(({ uuid }) => uuid === vaultUuid(1))).toMatchObject({
      verdict: "locked",
      certainty: "likely",
      lockedAt: moment(130),
      cause: { rule: "expired-invalid-start", item: { line: 2 } },
    });
    expect(
      (await replayText(`${lines.join("\n")}\n`)).reports.find(({ uuid }) => uuid === vaultUuid(1)),
    ).toMatchObject({ verdict: "ok" });
    // A success before the transaction expires prevents the lock.
    expect(await reportOfOne([created, failure(10), read(100), ack(101)], old)).toMatchObject({
      verdict: "ok",
    });
    expect(await reportOfOne([created, failure(10)], old)).toMatchObject({ verdict: "ok" });
  });

  it("a vault without a start for a year has locked itself, but for generic ones", async () => {
    const late = [
      created,
      read(1),
      ack(2),
      line(400 * day, "READ_VAULT", { vaultUuid: vaultUuid(2) }),
    ];
    const now = Date.parse(moment(500 * day));
    const one = async (lines: string[]) =>
      (await replayText(`${lines.join("\n")}\n`, { now })).reports.find(
        ({ uuid }) => uuid === vaultUuid(1),
      );
    expect(await one(late)).toMatchObject({
      verdict: "locked",
      certainty: "likely",
      lockedAt: moment(1 + 365 * day),
      cause: { rule: "auto-lock" },
    });
    const generic = late.map((text) =>
      text.replace("{", '{"endpoint":"POST /vault/generic/offline/get-start",'),
    );
    expect(await one(generic)).toMatchObject({ verdict: "ok" });
    const { reports } = await replayText(`${generic.join("\n")}\n`, { now }, "stream");
    expect(reports.find(({ uuid }) => uuid === vaultUuid(1))).toMatchObject({ verdict: "ok" });
    const idle = [
      line(0, "CREATE_VAULT", { endpoint: "POST /vault/generic/offline" }),
      late[3] as string,
    ];
    expect(await one(idle)).toMatchObject({ verdict: "ok" });
    const refused = line(400 * day, "READ_VAULT", {
      outcome: "FAILURE",
      description: "the vault is locked",
    });
    const [first, second, third] = late as [string, string, string];
    expect(await one([first, second, third, refused])).toMatchObject({
      verdict: "locked",
      lockedAt: moment(1 + 365 * day),
      contradictions: [],
      cause: { rule: "auto-lock" },
    });
  });

  it("former action names are understood, and told of where the release does not fit them", async () => {
    const former = [
      line(0, "REGISTER_VAULT"),
      line(1, "START_USE_VAULT"),
      line(2, "COMPLETE_USE_VAULT"),
    ];
    const { result, reports } = await replayText(`${former.join("\n")}\n`);
    expect(reports[0]).toMatchObject({ verdict: "ok", certainty: "certain" });
    expect(result.summary.notes.join()).toMatch(
      /3 items have action names from before release 1\.2\.11/,
    );
    const old = await replayText(`${former.join("\n")}\n`, {
      rules: { ...rules, release: "1.2.10" },
    });
    expect(old.result.summary.notes.join()).not.toMatch(/action names/);
    const current = await replayText(`${[created, read(1), ack(2)].join("\n")}\n`, {
      rules: { ...rules, release: "1.2.10" },
    });
    expect(current.result.summary.notes.join()).toMatch(/most of these items do not/);
  });

  it("--failure marks failed accesses that the usual wording does not", async () => {
    const odd = [1, 2, 3].map((at) =>
      line(at, "READ_VAULT", { outcome: "KO-7", description: "secret differs" }),
    );
    const lines = [created, ...odd.map((text) => text.replace("KO-7", "ok"))];
    expect(await reportOfOne(lines)).toMatchObject({ verdict: "open-exchange", unackedStarts: 3 });
    expect(
      await reportOfOne(lines, { rules: { ...rules, failure: "secret differs" } }),
    ).toMatchObject({
      verdict: "locked",
      failedAttempts: 3,
    });
  });

  it("failed checks of the application are no failed accesses, also where they name a vault", async () => {
    const checks = [1, 2, 3].map((at) =>
      line(at, "API_KEY_CHECK", { outcome: "FAILURE", description: "API key check failed" }),
    );
    const { result, reports } = await replayText(`${[created, ...checks].join("\n")}\n`);
    expect(reports).toMatchObject([{ verdict: "ok", items: 1 }]);
    expect(result.summary.applicationItems).toBe(3);
  });
});

describe("the order of items", () => {
  const far = 5000;
  const others = Array.from({ length: far }, (_, index) =>
    line(100 + index, "READ_VAULT", { vaultUuid: vaultUuid(2 + (index % 50)) }),
  );

  it("is put right within the window", async () => {
    const lines = [created, read(50), ...others.slice(0, 4000), ack(51)];
    const { result, reports } = await replayText(`${lines.join("\n")}\n`);
    expect(reports.find(({ uuid }) => uuid === vaultUuid(1))).toMatchObject({
      verdict: "ok",
      certainty: "certain",
      contradictions: [],
    });
    expect(result.summary).toMatchObject({ reordered: 1, late: 0 });
  });

  it("is told of beyond it, where it concerns the same vault", async () => {
    const lines = [
      created,
      read(50),
      read(60),
      ...Array.from({ length: 4 }, () => others).flat(),
      ack(51),
    ];
    const { result, reports } = await replayText(`${lines.join("\n")}\n`);
    const one = reports.find(({ uuid }) => uuid === vaultUuid(1));
    expect(one).toMatchObject({ certainty: "likely" });
    expect(one?.reason).toMatch(/too far out of order to be sorted/);
    expect(result.summary.late).toBeGreaterThan(0);
    expect(result.summary.notes.join()).toMatch(/too far out of order/);
  });

  it("items told twice count once, also where others of the same millisecond lie between", async () => {
    const both = [read(1), ack(1)];
    const { result, reports } = await replayText(`${[created, ...both, ...both].join("\n")}\n`);
    expect(reports).toMatchObject([{ verdict: "ok", items: 3, contradictions: [] }]);
    expect(result.summary.duplicates).toBe(2);
  });

  it("items without ids that differ in a column that nobody asks for are two, in a file as in a stream", async () => {
    const failures = [1, 2, 3].map((thread) => failure(1, { id: undefined, thread }));
    const text = `${[created, ...failures, failures[0]].join("\n")}\n`;
    for (const by of ["path", "stream"] as const) {
      const { reports, result } = await replayText(text, {}, by);
      expect(reports).toMatchObject([{ verdict: "locked", certainty: "certain" }]);
      expect(result.summary.duplicates).toBe(0);
    }
  });
});

describe("items that need care", () => {
  it("whatever their ids are like, only what is told twice counts once", async () => {
    const ends = Array.from({ length: 3 }, (_, index) =>
      failure(1, { id: `item-2026-00000${index}-eu1` }),
    );
    expect(await reportOfOne([created, ...ends])).toMatchObject({
      verdict: "locked",
      failedAttempts: 3,
    });
    const shared = { id: "transaction-1" };
    const { result, reports } = await replayText(
      `${[created, read(1, shared), ack(1, shared), failure(2)].join("\n")}\n`,
    );
    expect(reports).toMatchObject([{ verdict: "ok", unackedStarts: 0, items: 4 }]);
    expect(result.summary.duplicates).toBe(0);
    const none = { id: null };
    const lines = [
      created,
      read(0),
      ack(0),
      read(1, none),
      ack(1, none),
      read(2, { id: "" }),
      ack(2, { id: "" }),
    ];
    expect(await reportOfOne(lines)).toMatchObject({ verdict: "ok", items: 7, contradictions: [] });
  });

  it("without ids, what is alike in one input are several items", async () => {
    const alike = failure(1, { id: undefined });
    const lines = [created, alike, alike, alike].map((text) => text.replace(/"id":"[^"]*",/, ""));
    expect(await reportOfOne(lines)).toMatchObject({ verdict: "locked", certainty: "certain" });
  });

  it("outcomes may be true and false", async () => {
    const said = (at: number, success: boolean): string =>
      line(at, "READ_VAULT", { outcome: undefined, success });
    const good = [1, 2, 3].flatMap((at) => [
      said(at, true),
      line(at + 0.5, "ACKNOWLEDGE_READ_VAULT", { outcome: undefined, success: true }),
    ]);
    const lines = [
      line(0, "CREATE_VAULT", { outcome: undefined, success: true }),
      ...good,
      said(5, false),
      said(6, false),
      said(7, false),
    ];
    expect(await reportOfOne(lines, { map: { outcome: "success" } })).toMatchObject({
      verdict: "locked",
      lockedAt: moment(7),
    });
  });

  it("a refusal that does not say why costs certainty, and an unknown action says nothing", async () => {
    const mute = await reportOfOne([
      created,
      read(1),
      read(2),
      read(3),
      read(4),
      line(5, "READ_VAULT", { outcome: "FAILURE" }),
    ]);
    expect(mute).toMatchObject({ verdict: "at-risk", certainty: "likely" });
    expect(mute.reason).toMatch(/gives no reason/);
    const [created2, ...odd] = [
      line(0, "READ_VAULT", { vaultUuid: vaultUuid(2) }),
      line(1, "LESEN"),
      line(2, "LESEN"),
    ];
    const { reports } = await replayText(`${[created2, ...odd].join("\n")}\n`);
    expect(reports.find(({ uuid }) => uuid === vaultUuid(1))).toMatchObject({
      certainty: "unknown",
      advice: { support: expect.stringMatching(/^No verdict is possible/) as string },
    });
  });

  it("a vault without dashes or in braces, or only in the endpoint, is found", async () => {
    const bare = vaultUuid(1).replaceAll("-", "");
    const endpoint = `POST /vault/credit-card/offline/${vaultUuid(1)}/get-start`;
    const lines = [
      created,
      failure(1, { vaultUuid: bare }),
      failure(2, { vaultUuid: `{${vaultUuid(1)}}` }),
      failure(3, { vaultUuid: null, endpoint }),
    ];
    expect(
      await reportOfOne(lines.map((text) => text.replace("{", '{"endpoint":"POST /",'))),
    ).toMatchObject({
      verdict: "locked",
      items: 4,
    });
  });

  it("times that are still to come, and the application's, do not move the moment of the verdicts", async () => {
    const far = line(900 * day, "READ_VAULT", { vaultUuid: vaultUuid(2) });
    const check = line(400 * day, "API_KEY_CHECK", {
      outcome: "FAILURE",
      description: "API key check failed",
    });
    const { result } = await replayText(`${[created, read(1), ack(2), check, far].join("\n")}\n`);
    expect(result.summary.asOf).toBe(moment(2));
    expect(result.summary.notes.join()).toMatch(/1 item dated in the future/);
  });

  it("what an item says of a lock is believed, and noted where the rules have another moment for it", async () => {
    const early = await reportOfOne([
      created,
      failure(1, { description: "bad credentials, vault locked" }),
    ]);
    expect(early).toMatchObject({
      verdict: "locked",
      lockedAt: moment(1),
      contradictions: [{ kind: "locked-at-another-moment" }],
    });
    const said = line(5, "READ_VAULT", {
      outcome: "FAILURE",
      description: "too many starts without acknowledgement, vault locked",
    });
    const late = await reportOfOne([created, read(1), read(2), read(3), read(4), said], {
      rules: { ...rules, limits: { ...rules.limits, unackedStarts: 4 } },
    });
    expect(late).toMatchObject({
      lockedAt: moment(4),
      contradictions: [{ kind: "locked-at-another-moment" }],
    });
  });

  it("no line that is an item is an error, and so is an empty input", async () => {
    await expect(replayText("PK nonsense\n")).rejects.toThrow(
      /its only line could not be read as an audit item; line 1: not JSON/,
    );
    await expect(replayText("")).rejects.toThrow("items: no audit items: it is empty");
  });

  it("advice goes by the clock, not by the log", async () => {
    const at = async (now: string) =>
      (await reportOfOne([created, read(10)], { now: Date.parse(now) })).advice.support;
    expect(await at(moment(60))).toMatch(/^Have the client acknowledge it before/);
    expect(await at(moment(600))).toMatch(/the token has expired/);
  });

  it.each([
    [
      "held",
      60,
      /^Not locked\. It is an exchange of this machine: its status names what is possible/,
    ],
    ["intent", 60, /: its status names the next step\./],
    ["in-doubt", 60, /: its status names the next step\./],
    ["held", 600, /: its status names the next step\./],
  ])(
    "advice on an exchange of this machine that is %s, %i seconds after noon, leads to its status",
    async (state, seconds, expected) => {
      const own = () => ({
        id: "x",
        operation: "get",
        generation: 1,
        state,
        startedAt: moment(10),
      });
      const lines = [created, read(10, { externalRef: "own" })];
      const options = { own, now: Date.parse(moment(seconds)) };
      const { support, developer, next } = (await reportOfOne(lines, options)).advice;
      expect(support).toMatch(expected);
      expect(next[0]).toEqual({ argv: ["vault", "status", vaultUuid(1)] });
      expect(support + developer).not.toMatch(/\bvault (?:ack|get|status)/);
      const risk = await reportOfOne([...lines, failure(11), failure(12)], options);
      const [hope, none] = [/can still be acknowledged/, /locks the vault\.$/];
      expect(risk.advice.support).toMatch(state === "held" && seconds < 130 ? hope : none);
    },
  );

  it("advice names the command that sets the guard's counters to the log's, where these are certain", async () => {
    const setTo = async (
      lines: readonly string[],
      more: Partial<ReplayOptions> = {},
    ): Promise<string | undefined> =>
      / --reset( .*)$/.exec(
        (await reportOfOne(lines, more)).advice.next.map(({ argv }) => argv.join(" ")).join("\n"),
      )?.[1];
    expect(await setTo([created, read(1), ack(2), read(3), failure(4), failure(5)])).toBe(
      " --failed 2 --starts 1",
    );
    expect(await setTo([created, read(1), read(2), read(3), read(4)])).toBe(
      " --failed 0 --starts 4",
    );
    expect(await setTo([created, read(1), ack(2), failure(3)])).toBe(" --failed 1 --starts 0");
    expect(await setTo([created, read(1), ack(2)])).toBeUndefined();
    // What came before the log, and what may follow it, is unknown.
    expect(await setTo([failure(1), failure(2)])).toBeUndefined();
    expect(
      await setTo([created, failure(1), failure(2)], { until: Date.parse(moment(9)) }),
    ).toBeUndefined();
    // After a lock, an administrator comes first.
    const locked = await reportOfOne([created, failure(1), failure(2), failure(3)]);
    expect(locked.advice.support).toMatch(/administrator unlock the vault in the console\.$/);
    expect(locked.advice.next[0]).toMatchObject({
      argv: ["vault", "guard", vaultUuid(1), "--reset"],
      note: expect.stringContaining("after the unlock") as string,
    });
  });
});

describe("two exports of the same items", () => {
  it("in one file, without ids: where it begins anew, equal lines are the same", async () => {
    const lines = [created, failure(1), failure(2), failure(2), read(100), ack(101)].map((text) =>
      text.replace(/"id":"[^"]*",/, ""),
    );
    const { reports, result } = await replayText([...lines, ...lines, ...lines].join("\n"));
    expect(reports).toMatchObject([
      { items: 6, contradictions: [{ kind: "activity-while-locked" }] },
    ]);
    expect(result.summary.duplicates).toBe(12);
  });

  it("one without ids: each call counts once", async () => {
    const lines = [created, read(1), ack(2), failure(3), failure(4)];
    const folder = tempDir("two");
    const write = (name: string, all: string[]) => {
      const path = join(folder, name);
      writeFileSync(path, `${all.join("\n")}\n`);
      return { name, path };
    };
    const inputs = [
      write("a.ndjson", lines),
      write(
        "b.ndjson",
        lines.map((text) => text.replace(/"id":"[^"]*",/, "")),
      ),
    ];
    for (const order of [inputs, inputs.toReversed()]) {
      const { reports, result } = await replayText("", { inputs: order });
      expect(reports).toMatchObject([{ verdict: "at-risk", failedAttempts: 2, items: 5 }]);
      expect(result.summary.duplicates).toBe(5);
    }
  });
});

describe("--since, --until and --vault", () => {
  const lines = [
    created,
    read(1),
    read(2),
    read(3),
    read(4),
    read(5),
    line(6, "READ_VAULT", { vaultUuid: vaultUuid(2) }),
  ];

  it("what lies after --until has not happened, and it is the moment of the verdicts", async () => {
    const { result, reports } = await replayText(`${lines.join("\n")}\n`, {
      until: Date.parse(moment(4)),
    });
    expect(reports).toMatchObject([{ verdict: "at-risk", unackedStarts: 4 }]);
    expect(result.summary).toMatchObject({ asOf: moment(4), items: 5 });
  });

  it("only the vault that is asked for is in the report, in either case of its letters", async () => {
    const { result, reports } = await replayText(`${lines.join("\n")}\n`, {
      vault: vaultUuid(2).toUpperCase(),
    });
    expect(reports.map(({ uuid }) => uuid)).toEqual([vaultUuid(2)]);
    expect(result.summary).toMatchObject({ vaultCount: 1, items: 7 });
  });

  it("the token of an open exchange is alive or not at that moment", async () => {
    const at = async (seconds: number) =>
      (await reportOfOne([created, read(10)], { until: Date.parse(moment(seconds)) })).exchange;
    expect(await at(100)).toMatchObject({
      operation: "get",
      tokenExpiry: moment(130),
      expired: false,
    });
    expect(await at(130)).toMatchObject({ expired: true });
  });
});

it("a lock after more items than a report lists is told with the count of all", async () => {
  const attempts = Array.from({ length: 20 }, (_, at) =>
    failure(at + 1, at === 19 ? { externalRef: "cron" } : {}),
  );
  const { cause } = await reportOfOne([line(0, "CREATE_VAULT"), ...attempts], {
    rules: { ...rules, limits: { unackedStarts: 5, failedAttempts: 20 } },
    own: () => ({
      id: "ID",
      operation: "get",
      generation: 6,
      state: "rejected",
      startedAt: moment(20),
    }),
  });
  expect(cause?.chain).toHaveLength(20);
  expect(cause?.text).toContain(` after 20 failed attempts in a row, the last one `);
  expect(cause?.text).toContain(`The 20th failed attempt at ${moment(20)}`);
});
