import { expect, test } from "vitest";
import { failure, line, replayText, vaultUuid } from "./support.ts";
import type { Found } from "../../src/documents/audit.ts";

const cron = { externalRef: "report-cron", ipAddress: "10.0.0.7" };

/** Returns the lines of a vault with failed attempts of these clients, one minute after the other. */
function attempts(vault: number, clients: readonly object[]): string[] {
  const of = { vaultUuid: vaultUuid(vault) };
  const from = vault * 1000;
  return [
    line(from, "CREATE_VAULT", of),
    ...clients.map((client, at) => failure(from + at + 1, { ...of, ...client })),
  ];
}

async function foundIn(lines: readonly string[]): Promise<Found> {
  const { result } = await replayText(`${lines.join("\n")}\n`);
  return result.summary.found;
}

const lockedBy = (vault: number, client: object): string[] =>
  attempts(vault, [client, client, client]);
const many = (count: number, client: object, from = 1): string[] =>
  Array.from({ length: count }, (_, index) => lockedBy(from + index, client)).flat();

test.each<[string, string[], string]>([
  ["one lock", lockedBy(1, cron), "1 vault locked by reference report-cron from 10.0.0.7."],
  [
    "two locks by one client",
    many(2, cron),
    "2 vaults locked by reference report-cron from 10.0.0.7.",
  ],
  [
    "three locks by one address",
    many(3, { ipAddress: "10.0.0.8" }),
    "3 vaults locked by address 10.0.0.8.",
  ],
  [
    "locks by several clients",
    [
      ...many(3, cron),
      ...many(2, { ipAddress: "10.0.0.8" }, 4),
      ...lockedBy(6, { externalRef: "b" }),
      ...lockedBy(7, { externalRef: "c" }),
    ],
    "7 vaults locked; 3 by reference report-cron from 10.0.0.7, 2 by address 10.0.0.8, 1 by reference c and 1 more.",
  ],
  [
    "a lock by an administrator",
    [line(1, "LOCK_VAULT", { ipAddress: "10.1.1.1" })],
    "1 vault locked by an administrator (address 10.1.1.1).",
  ],
  [
    "a reference in only one of three items",
    attempts(1, [cron, { ...cron, externalRef: "a" }, { ...cron, externalRef: "b" }]),
    "1 vault locked by address 10.0.0.7.",
  ],
  [
    "a lock, a risk and an open exchange",
    [
      ...lockedBy(1, cron),
      ...attempts(2, [cron, cron]),
      line(3001, "READ_VAULT", { vaultUuid: vaultUuid(3) }),
    ],
    "1 vault locked by reference report-cron from 10.0.0.7. Also 1 at risk, 1 with an open exchange.",
  ],
  [
    "only a risk",
    attempts(2, [cron, cron]),
    "1 vault at risk because of reference report-cron from 10.0.0.7.",
  ],
  [
    "no problem",
    [line(0, "CREATE_VAULT"), line(1, "DELETE_VAULT", { vaultUuid: vaultUuid(2) })],
    "No locks found in 2 vaults, 1 of them deleted. Locks made in the console appear only if the export records them.",
  ],
])("the answer to %s", async (_what, lines, text) => {
  expect((await foundIn(lines)).text).toBe(text);
});

test("counts the vaults of each origin", async () => {
  const { by } = await foundIn([...many(2, cron), ...lockedBy(3, { externalRef: "b" })]);
  expect(by).toEqual([
    { vaults: 2, externalRef: "report-cron", address: "10.0.0.7" },
    { vaults: 1, externalRef: "b" },
  ]);
});

test("reads the items of at most 500 vaults, and says so", async () => {
  expect((await foundIn(many(501, cron))).text).toBe(
    "501 vaults locked; of the latest 500, 500 by reference report-cron from 10.0.0.7.",
  );
});
