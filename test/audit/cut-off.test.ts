import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { printed } from "../support/audit-reports.ts";
import { failure, line, moment, replayText, vaultUuid } from "./support.ts";

const items = [
  line(0, "CREATE_VAULT"),
  line(1, "READ_VAULT"),
  line(2, "ACKNOWLEDGE_READ_VAULT"),
  failure(3),
];
const ndjson = `${items.join("\n")}\n`;
const csv = [
  "time,action,outcome,vaultUuid,description",
  ...items.map((item) => {
    const {
      time,
      action,
      outcome,
      vaultUuid,
      description = "-",
    } = JSON.parse(item) as Record<string, string>;
    return [time, action, outcome, vaultUuid, `"${description}"`].join(",");
  }),
].join("\n");
/** Items that differ, so that a gzip file can be cut among them. */
const distinct = items
  .map((item, index) => JSON.stringify({ ...JSON.parse(item), index }))
  .join("\n");

describe("an export that is cut off", () => {
  test.each([
    ["in a line", ndjson.slice(0, -30), 4],
    ["in a JSON array", `[${items.join(",")}]`.slice(0, -30), 4],
    ["in a wrapper, between items", `{"items":[${items.join(",")}]}`.slice(0, -2), 5],
    ["in a row", csv.slice(0, -30), 5],
    ["in a quoted cell", csv.slice(0, -5), 5],
    ["in gzip", gzipSync(`${distinct}\n`).subarray(0, -30), 4],
  ])("%s is what each report says first", async (_where, text, cutAt) => {
    const { result, reports } = await replayText(text);
    const { summary } = result;
    const warning = `items is cut off or damaged at line ${cutAt}: what comes after is missing.`;
    expect(summary).toMatchObject({ inputs: [{ cutAt }], found: { text: /^No locks found/ } });
    expect(summary.warnings.join(" ")).toContain(warning);
    expect(reports).toMatchObject([{ reason: /the log is cut off|could not be read names/ }]);
    expect(reports).not.toMatchObject([{ certainty: "certain" }]);
    const { terminal, markdown, page } = printed({ summary, vaults: reports });
    expect(terminal.split("\n")[2]).toMatch(new RegExp(`^${warning}`));
    expect(markdown.split("\n")[2]).toMatch(new RegExp(`^\\*\\*Warning:\\*\\* ${warning}`));
    expect(page).toContain(`</h1>\n<p class="warning"><bdi>${warning}`);
  });

  test.each([
    ["a last line without its end", ndjson.slice(0, -1)],
    ["a last row without its end", csv],
    ["a line in the middle that is not an item", `${items[0]}\n{"time":"2026\n${items[1]}\n`],
    ["a footer", `${ndjson}-- 4 items`],
  ])("is none for %s", async (_what, text) => {
    const { result } = await replayText(text);
    expect(result.summary.inputs[0]).not.toHaveProperty("cutAt");
    expect(result.summary.found).not.toHaveProperty("warning");
  });
});

describe("a line that cannot be read", () => {
  const second = { vaultUuid: vaultUuid(2) };
  const other = [line(5, "READ_VAULT", second), line(6, "ACKNOWLEDGE_READ_VAULT", second)];
  const healthy = [...items.slice(0, 3), ...other];
  const name = vaultUuid(1).toUpperCase();
  test.each([
    ["not JSON", `{"vaultUuid":"${name}","latency":NaN}`],
    ["without a time", `{"action":"READ_VAULT","outcome":"FAILURE","vaultUuid":"${name}"}`],
    ["with a time that is none", failure(4).replace("2026", "soon")],
    ["of text", `# ${name} was locked`],
  ])("makes the vault that it names unknown, and no other one: %s", async (_what, unread) => {
    const { reports, result } = await replayText(`${[...healthy, unread].join("\n")}\n`);
    expect(reports.map(({ verdict, certainty }) => [verdict, certainty]).sort()).toEqual([
      ["ok", "likely"],
      ["unknown", "unknown"],
    ]);
    expect(result.summary.skippedLines).toBe(1);
  });

  test("leaves a lock likely", async () => {
    const log = [...items, failure(4), failure(5), `{"vaultUuid":"${name}",`].join("\n");
    const { reports } = await replayText(`${log}\n`);
    expect(reports).toMatchObject([{ verdict: "locked", certainty: "likely" }]);
  });
});

test.each([
  ["NDJSON", ndjson, line(4, "READ_VAULT", { outcome: "FAILURE", pad: "x".repeat(1_100_000) })],
  ["CSV", `${csv}\n`, `soon,READ_VAULT,FAILURE,${vaultUuid(1)},${"x".repeat(2_000_000)}`],
])(
  "a record of %s that is too long leaves the vault that it names unknown",
  async (_form, text, long) => {
    const { reports } = await replayText(`${text}${long}\n`);
    expect(reports).toMatchObject([{ verdict: "unknown" }]);
  },
);

test("an item within a text has its own time, whatever stands beside the text", async () => {
  const wrapped = items.map((message, n) =>
    JSON.stringify({ timestamp: 1_795_183_331_000 + n, message, host: "log-1" }),
  );
  const { reports } = await replayText(wrapped.join("\n"));
  expect(reports).toMatchObject([{ lastAt: moment(3) }]);
});
