import { describe, expect, test } from "vitest";
import { parseWhere } from "../../src/audit/selection.ts";
import { failure, line, moment, replayText, vaultUuid } from "./support.ts";

const cron = {
  externalRef: "cron",
  ipAddress: "10.0.0.7",
  endpoint: "POST /vault/get-start",
  application: "app-1",
};
const web = { externalRef: "web", ipAddress: "10.0.0.8", application: "app-1" };

/** Vault 1 is locked by one client; the other one uses vault 2; vault 3 has both. */
const log = [
  line(0, "CREATE_VAULT", web),
  ...[1, 2, 3].map((at) => failure(at, cron)),
  line(10, "READ_VAULT", { ...web, vaultUuid: vaultUuid(2) }),
  line(11, "READ_VAULT", { ...cron, ipAddress: "10.0.0.8", vaultUuid: vaultUuid(3) }),
  line(12, "READ_VAULT", { ...web, ipAddress: "10.0.0.7", vaultUuid: vaultUuid(3) }),
].join("\n");

async function selectedBy(
  where: readonly string[],
  options = {},
  text = log,
  by: "path" | "stream" = "path",
) {
  const { result, reports } = await replayText(text, { where: parseWhere(where), ...options }, by);
  return {
    ...result.summary,
    reports,
    numbers: reports.map(({ uuid }) => Number(uuid.slice(-1))).toSorted(),
  };
}

describe("--where selects the vaults that have an item with", () => {
  test.each<[string[], number[]]>([
    [["ref=cron"], [1, 3]],
    [["ref=web"], [1, 2, 3]],
    [["ip=10.0.0.7"], [1, 3]],
    [["ip=10.0.0"], []],
    [["ip=10.*"], [1, 2, 3]],
    [["ip=*.7"], [1, 3]],
    [["ref=c*r*n"], [1, 3]],
    [["ref=c*o*o*n"], []],
    [["ref=cr*ron"], []],
    [["ref=*"], [1, 2, 3]],
    [["endpoint=*get-start*"], [1, 3]],
    [["app=app-1"], [1, 2, 3]],
    [["ref=cron", "ip=10.0.0.7"], [1]],
    [["ref=web", "ip=10.0.0.7"], [3]],
    [["ref=CRON"], []],
  ])("%j: vaults %j", async (where, numbers) => {
    for (const by of ["path", "stream"] as const)
      expect((await selectedBy(where, {}, log, by)).numbers).toEqual(numbers);
  });
});

describe("a selection", () => {
  test("keeps all items of its vaults, so that verdicts are the same", async () => {
    const all = (await replayText(log)).reports;
    const { reports, verdicts, vaultCount, selected, items } = await selectedBy(["ref=cron"]);
    expect(reports).toEqual(all.filter(({ uuid }) => uuid !== vaultUuid(2)));
    expect({ verdicts, vaultCount, selected, items }).toEqual({
      verdicts: { locked: 1, "at-risk": 0, "open-exchange": 1, unknown: 0, deleted: 0, ok: 0 },
      vaultCount: 2,
      selected: { where: ["ref=cron"], vaults: 2, of: 3 },
      items: 7,
    });
  });

  test("traces refused credentials as without it", async () => {
    const text = [
      line(0, "READ_VAULT", web),
      line(1, "ACKNOWLEDGE_READ_VAULT", web),
      ...[2, 3, 4].map((at) => failure(at, cron)),
    ].join("\n");
    const { reports } = await selectedBy(["ref=cron"], {}, text);
    expect(reports[0]?.cause?.refused?.replacedBy?.start).toMatchObject({
      line: 1,
      externalRef: "web",
    });
    expect(reports).toEqual((await replayText(text)).reports);
  });

  test("looks only at items between --since and --until", async () => {
    expect(
      (
        await selectedBy(["ip=10.0.0.8"], {
          since: Date.parse(moment(1)),
          until: Date.parse(moment(10)),
        })
      ).numbers,
    ).toEqual([2]);
  });

  test.each([
    [
      ["ref=cron"],
      /^1 vault locked by reference cron from 10\.0\.0\.7\. Also 1 with an open exchange\. 2 of 3 vaults have an item with ref=cron\.$/,
    ],
    [
      ["ref=web", "ip=10.0.0.7"],
      /^1 vault probably with an open exchange\. 1 of 3 vaults has an item with ref=web and ip=10\.0\.0\.7\.$/,
    ],
    [["ref=none"], /^None of 3 vaults has an item with ref=none\.$/],
  ])("is stated with the answer: %j", async (where, text) => {
    expect((await selectedBy(where)).found.text).toMatch(text);
  });

  test("by a column that no input has is noted", async () => {
    const { notes } = await selectedBy(
      ["ref=a", "ip=b"],
      {},
      line(0, "CREATE_VAULT", { ipAddress: "10.0.0.1" }),
    );
    expect(notes).toEqual(["no column is known for --where ref=…; name it (--map ref=…)"]);
  });
});

test.each([
  ["refs=a", '--where: "refs" must be one of ref, ip, endpoint, app'],
  ["a", '--where: "a" must be one of ref, ip, endpoint, app'],
  ["toString=a", '--where: "toString" must be one of ref, ip, endpoint, app'],
  ["ref=", "--where: ref= needs a value"],
  ["ref", "--where: ref= needs a value"],
  ["", '--where: "" must be one of ref, ip, endpoint, app'],
])("%j is refused", (text, message) => {
  const hint = "--where ref=nightly-job, or with * for any text: --where 'ip=10.0.*'";
  expect(() => parseWhere([text])).toThrow(
    expect.objectContaining({ code: "usage", message, facts: { hint } }),
  );
});
