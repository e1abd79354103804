import { describe, expect, test } from "vitest";
import { parseActions, parseOutcomes } from "../../src/audit/flags.ts";
import { printed } from "../support/audit-reports.ts";
import { failure, line, replayText, rules, vaultUuid } from "./support.ts";

const of = (vault: number, more: Record<string, unknown> = {}) => ({
  vaultUuid: vaultUuid(vault),
  ...more,
});

/** An exchange whose actions have names of their own. */
const opened = (vault: number, at: number): string[] => [
  line(at, "Wallet opened", of(vault)),
  line(at + 1, "Wallet open confirmed", of(vault)),
];

const refused = (vault: number, at: number): string =>
  line(at, "Wallet opened", of(vault, { outcome: "FAILURE" }));

const actions = parseActions([
  "Wallet opened=READ_VAULT",
  "Wallet open confirmed=acknowledgeReadVault",
]);

/** The first vault is locked by what is understood, the second one by what is not; the others are fine. */
const log = [
  ...[1, 2, 3].map((at) => failure(at)),
  ...[10, 20, 30].flatMap((at) => opened(2, at)),
  ...[40, 41, 42].map((at) => refused(2, at)),
  line(50, "CREATE_VAULT", of(3)),
  ...opened(3, 60),
  line(70, "CREATE_VAULT", of(4)),
].join("\n");

const verdictsIn = async (text: string, more: Partial<typeof rules> = {}) => {
  const { result, reports } = await replayText(text, { rules: { ...rules, ...more } });
  const verdicts = Object.fromEntries(
    reports.map(({ uuid, verdict }) => [Number(uuid.slice(-3)), verdict]),
  );
  return { verdicts, reports, summary: result.summary };
};

const warning =
  /^Actions that were not understood: "Wallet opened" ×7, "Wallet open confirmed" ×4\. Say what .*--action OLD=NEW.*--map action=COLUMN/;

describe("actions that are not recognized", () => {
  test("make no vault ok", async () => {
    const { verdicts, reports, summary } = await verdictsIn(log);
    expect(verdicts).toEqual({ 1: "locked", 2: "unknown", 3: "unknown", 4: "ok" });
    expect(summary).toMatchObject({
      verdicts: { locked: 1, unknown: 2, ok: 1 },
      unknownItems: 11,
      warnings: [warning],
      found: { text: /^1 vault locked.* Also 2 without a verdict\.$/ },
    });
    expect(reports.slice(1, 3)).toMatchObject([
      { certainty: "unknown", reason: "not understood: 2 of its 3 items" },
      {
        certainty: "unknown",
        reason: "none of its items has a known action",
        advice: { support: /--action OLD=NEW/ },
      },
    ]);
  });

  test("are what each report says first", async () => {
    const { summary, reports } = await verdictsIn(log);
    const { terminal, markdown, page } = printed({ summary, vaults: reports });
    expect(terminal.split("\n\n")[1]).toMatch(warning);
    expect(markdown.split("\n")[2]).toMatch(/^\*\*Warning:\*\* Actions that were not understood/);
    expect(page).toMatch(/<\/h1>\n<p class="warning"><bdi>Actions that were not understood/);
  });

  test("are understood by --action, in words that stand beside them too", async () => {
    const odd = [log, line(80, "Wallet opened: FAILED", of(5)), line(81, "WALLET-OPENED", of(6))];
    const { verdicts, summary } = await verdictsIn(odd.join("\n"), { actions });
    expect(verdicts).toEqual({
      1: "locked",
      2: "locked",
      3: "ok",
      4: "ok",
      5: "ok",
      6: "open-exchange",
    });
    expect(summary).toMatchObject({ unknownItems: 0, rules: { actions } });
    expect(summary.found).not.toHaveProperty("warning");
  });

  test("are counted among all items with such an action: some say that credentials were refused", async () => {
    const both = [0, 1, 2].flatMap((at) => [
      line(at, "Wallet opened"),
      line(at + 0.5, "Wallet opened", { outcome: "FAILED", description: "bad credentials" }),
    ]);
    const { summary } = await verdictsIn([line(-1, "CREATE_VAULT"), ...both].join("\n"));
    expect(summary.otherActions).toEqual([{ value: "Wallet opened", count: 3, of: 6 }]);
    expect(summary.warnings.join(" ")).toContain(
      'not understood: "Wallet opened" (3 of 6). Say what',
    );
  });

  test("may be ignored", async () => {
    const listed = [line(0, "CREATE_VAULT"), line(1, "LIST_VAULTS")].join("\n");
    expect((await verdictsIn(listed)).verdicts).toEqual({ 1: "unknown" });
    const { verdicts, summary } = await verdictsIn(listed, {
      actions: parseActions(["LIST_VAULTS=ignore"]),
    });
    expect(verdicts).toEqual({ 1: "ok" });
    expect(summary).toMatchObject({ unknownItems: 0, applicationItems: 1 });
  });

  test("are not taken for a lock by time: each may have been a start", async () => {
    const days = 86_400;
    const idle = [line(-800 * days, "CREATE_VAULT"), line(-400 * days, "Wallet opened")];
    expect((await verdictsIn(idle.join("\n"))).verdicts).toEqual({ 1: "unknown" });
    const later = [...idle, line(0, "CREATE_VAULT", of(2))].join("\n");
    expect((await verdictsIn(later)).verdicts).toEqual({ 1: "locked", 2: "ok" });
  });

  test.each(["path", "stream"] as const)("are told by the endpoint of the call: %s", async (by) => {
    const base = `/vaultsvc/v1-2/vault/credit-card/offline`;
    const call = (at: number, endpoint: string, more = {}): string =>
      line(at, "VAULT_ACCESS", { endpoint, ...more });
    const start = `POST ${base}/${vaultUuid(1)}/get-start`;
    const text = [
      call(0, `POST ${base}`),
      call(1, start),
      call(2, `PUT ${base}/${vaultUuid(1)}/get-end HTTP/1.1`),
      ...[3, 4, 5].map((at) => call(at, start, { outcome: "FAILURE" })),
      line(6, "API_KEY_CHECK", { endpoint: start }),
      line(7, "READ_VAULT_INFO", { endpoint: `GET ${base}/${vaultUuid(1)}/info` }),
    ].join("\n");
    const { result, reports } = await replayText(text, { timeline: "vault" }, by);
    expect(reports[0]).toMatchObject({ verdict: "locked", cause: { rule: "failed-attempts" } });
    expect(reports[0]?.timeline?.map(({ item }) => item.event)).toEqual([
      "create",
      "read",
      "ack-read",
      "refused",
      "refused",
      "refused",
      "other",
    ]);
    expect(result.summary).toMatchObject({ unknownItems: 1, applicationItems: 1 });
    expect(result.summary.notes).toContain(
      'actions without a known name count by the endpoint of the call: "VAULT_ACCESS" ×6',
    );
  });
});

test("an outcome that is not recognized is neither, until --outcome says what it means", async () => {
  const bounced = [1, 2, 3].map((at) => line(at, "READ_VAULT", { outcome: "Bounced" }));
  const text = [line(0, "CREATE_VAULT"), ...bounced].join("\n");
  const told = async (meaning: string) =>
    await verdictsIn(text, { outcomes: parseOutcomes([`BOUNCED=${meaning}`]) });
  const { verdicts, summary } = await verdictsIn(text);
  expect(verdicts).toEqual({ 1: "unknown" });
  expect(summary.warnings).toMatchObject([/"Bounced" ×3.*--outcome VALUE=success/]);
  expect((await told("success")).verdicts).toEqual({ 1: "open-exchange" });
  const failed = await told("failure");
  expect(failed.verdicts).toEqual({ 1: "locked" });
  expect(failed.summary).toMatchObject({
    warnings: [],
    rules: { outcomes: { bounced: "failure" } },
  });
});

test.each([
  [parseActions, "READ_VAULT", /^--action: "READ_VAULT" is not OLD=NEW/],
  [parseActions, "=READ_VAULT", /is not OLD=NEW/],
  [parseActions, "OPENED=OPENED", /is not OLD=NEW/],
  [parseActions, "OPENED=__proto__", /is not OLD=NEW/],
  [parseActions, "A=READ_VAULT A=LOCK_VAULT", /"A" is given twice/],
  [parseOutcomes, "WARN", /^--outcome: "warn" is not VALUE=success/],
  [parseOutcomes, "WARN=perhaps", /is not VALUE=success/],
  [parseOutcomes, "x=success X=failure", /"x" is given twice/],
])("%o refuses %s", (parse, texts, message) => {
  expect(() => parse(texts.split(" "))).toThrow(message);
});

test("a value may hold an equals sign", () => {
  expect(parseActions(["op=7=READ_VAULT"])).toEqual({ "op=7": "READ_VAULT" });
});
