import { expect, test } from "vitest";
import { parseWhere } from "../../src/audit/flags.ts";
import { failure, line, moment, replayText, vaultUuid } from "./support.ts";

const endpoint = "POST /vault/get-start";
const cron = { externalRef: "cron", ipAddress: "10.0.0.7", endpoint, application: "app-1" };
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
  const numbers = reports.map(({ uuid }) => Number(uuid.slice(-1))).toSorted();
  return { ...result.summary, reports, numbers };
}

test.each<[string, number[]]>([
  ["ref=cron", [1, 3]],
  ["ip=10.0.0", []],
  ["ip=10.*", [1, 2, 3]],
  ["ip=*.7", [1, 3]],
  ["ref=c*r*n", [1, 3]],
  ["ref=c*o*o*n", []],
  ["ref=cr*ron", []],
  ["endpoint=*get-start*", [1, 3]],
  ["app=app-1", [1, 2, 3]],
  ["ref=cron ip=10.0.0.7", [1]],
  ["ref=web ip=10.0.0.7", [3]],
  ["ref=CRON", []],
])("--where %s: vaults %j", async (where, numbers) => {
  for (const by of ["path", "stream"] as const)
    expect((await selectedBy(where.split(" "), {}, log, by)).numbers).toEqual(numbers);
});

test("a selection keeps all items of its vaults, so that reports are the same", async () => {
  const all = (await replayText(log)).reports;
  const { reports, vaultCount, selected, items } = await selectedBy(["ref=cron"]);
  expect(reports).toEqual(all.filter(({ uuid }) => uuid !== vaultUuid(2)));
  expect({ vaultCount, selected, items }).toEqual({
    vaultCount: 2,
    selected: { where: ["ref=cron"], vaults: 2, of: 3 },
    items: 7,
  });
  const span = { since: Date.parse(moment(1)), until: Date.parse(moment(10)) };
  expect((await selectedBy(["ip=10.0.0.8"], span)).numbers).toEqual([2]);
});

test.each([
  ["ref=cron", /^1 vault locked by reference cron .* 2 of 3 vaults have an item with ref=cron\.$/],
  ["ref=none", /^None of 3 vaults has an item with ref=none\.$/],
])("is stated with the answer: %s", async (where, text) => {
  expect((await selectedBy([where])).found.text).toMatch(text);
});

test("a column that no input has is noted, and other conditions are refused", async () => {
  const text = line(0, "CREATE_VAULT", { ipAddress: "10.0.0.1" });
  const { notes } = await selectedBy(["ref=a", "ip=b"], {}, text);
  expect(notes).toEqual(["no column is known for --where ref=…; name it (--map ref=…)"]);
  for (const [where, message] of [
    ["toString=a", '--where: "toString=a" is not KEY=VALUE'],
    ["ref=", '--where: "ref=" is not KEY=VALUE'],
    ["", '--where: "" is not KEY=VALUE'],
  ] as const)
    expect(() => parseWhere([where])).toThrow(expect.objectContaining({ code: "usage", message }));
});
