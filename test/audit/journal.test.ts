import { describe, expect, test } from "vitest";
import type { Item } from "../../src/audit/read/item.ts";
import { journalItems } from "../../src/audit/meaning/journal.ts";
import { journalLines } from "../../src/store/journal/items.ts";
import { openForReading } from "../../src/store/journal/history.ts";
import { fakeHost } from "../support/fake-host.ts";
import type { Lab } from "../support/lab.ts";
import { expectExit, offlineNote, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";

async function itemsOf(machine: Machine): Promise<Item[]> {
  const db = await openForReading(machine.stateDir, fakeHost());
  if (db === null) throw new Error("there is no state");
  try {
    return [...journalItems(journalLines(db))];
  } finally {
    db.close();
  }
}

const wrong = '{"encryptedData":"wrong","payload":"wrong"}';

/** Runs a command, and checks its exit code. */
async function run(machine: Machine, code: number, ...args: string[]): Promise<void> {
  expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "300ms" } }, ...args), code);
}

const kind = ["--kind", "generic/offline"];
/** The first `get` of a vault. */
const first = (vault: Lab["vault"] | undefined): string[] => [
  "get",
  vault?.uuid ?? "",
  ...kind,
  "--credentials",
  JSON.stringify(vault?.credentials),
];

const short = ({ action, outcome }: Pick<Item, "action" | "outcome">): string =>
  `${action} ${outcome}`;

/** Returns the items about vaults that the service recorded. */
const recorded = (lab: Lab): string[] =>
  lab.service.sandbox
    .audit()
    .filter(({ endpoint }) => endpoint !== null)
    .map(short);

describe("the journal as audit items", () => {
  test("says what the service has recorded, in its words, in its order", async () => {
    const lab = await openLab([offlineNote, offlineNote]);
    const [vault, other] = lab.service.vaults;
    const uuid = vault?.uuid ?? "";
    const machine = lab.machine();
    await run(machine, 6, "get", uuid, ...kind, "--credentials", wrong);
    await run(machine, 0, ...first(vault), "--external-ref", "order-1");
    await run(machine, 0, "update", uuid, "--content", "new");
    await run(machine, 0, "get", uuid, "--no-ack");
    await run(machine, 0, "get", uuid, "--discard-pending");
    await run(machine, 0, "info", uuid);
    await run(machine, 5, "get", uuid, "--api-key", "123e4567-e89b-42d3-a456-426614174000");
    await run(machine, 0, "create", ...kind, "--content", "made", "--external-ref", "creation");
    await run(machine, 0, ...first(other));
    await run(machine, 0, "delete", uuid, "--yes");
    const items = await itemsOf(machine);
    const told = items.map((item) => ({
      what: short(item),
      vault: item.vault,
      externalRef: item.externalRef,
    }));
    const audit = lab.service.sandbox.audit().filter(({ endpoint }) => endpoint !== null);
    expect(told).toEqual(
      audit.map((item) => ({
        what: short(item),
        vault: item.vaultUuid,
        // The key is checked before the reference is read.
        externalRef: item.externalRef ?? (expect.stringMatching(/^vault-/) as string),
      })),
    );
    expect(told).toHaveLength(13);
    expect(items[0]).toEqual({
      time: expect.any(Number) as number,
      action: "READ_VAULT",
      vault: uuid,
      outcome: "FAILURE",
      description: expect.stringMatching(/^bad credentials \(.*HTTP 403/) as string,
      endpoint: `${lab.service.baseUrl}/vaultsvc/v1-2/vault/generic/offline`,
      externalRef: expect.stringMatching(/^vault-/) as string,
      id: expect.any(String) as string,
    });
    const times = items.map(({ time }) => time);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(Math.abs((times[0] ?? 0) - Date.now())).toBeLessThan(60_000);
  });

  test("a start without an answer may count, and says so", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    lab.faults("get-start:drop-after*all");
    await run(machine, 10, "get", lab.vault.uuid);
    const sent = (await itemsOf(machine)).slice(2);
    expect(new Set(sent.map(short))).toEqual(new Set(["READ_VAULT UNKNOWN"]));
    expect(sent[0]?.description).toMatch(/^sent, outcome unknown: it may count \(.+\)$/);
    expect(sent).toHaveLength(recorded(lab).length - 2);
  });

  test("a process that died with its start on the way leaves one that may count, once, in its place", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    lab.faults("get-start:hang*all");
    const dies = machine.start({}, "get", lab.vault.uuid);
    await expect.poll(async () => (await itemsOf(machine)).length, { timeout: 10_000 }).toBe(3);
    dies.kill("SIGKILL");
    await dies.exit;
    lab.service.faults.clear();
    await run(machine, 0, "get", lab.vault.uuid);
    const items = await itemsOf(machine);
    expect(items.map(short)).toEqual([
      "READ_VAULT SUCCESS",
      "ACKNOWLEDGE_READ_VAULT SUCCESS",
      "READ_VAULT UNKNOWN",
      "READ_VAULT SUCCESS",
      "ACKNOWLEDGE_READ_VAULT SUCCESS",
    ]);
    expect(items[2]?.description).toMatch(/response unknown: it may count/);
  });

  test("nothing was sent, or it was over the rate: no item", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    lab.faults("get-start:status=429,retry-after=9");
    await run(machine, 9, "get", lab.vault.uuid);
    const dead = ["--timeout", "100ms", "--proxy", "http://127.0.0.1:1"];
    await run(machine, 10, "get", lab.vault.uuid, ...dead);
    expect(await itemsOf(machine)).toHaveLength(2);
  });

  test("a locked vault, a deleted one, and what an unlock was told by", async () => {
    const lab = await openLab([offlineNote, offlineNote]);
    const [one, two] = lab.service.vaults;
    const machine = lab.machine();
    for (const vault of [one, two]) await run(machine, 0, ...first(vault));
    lab.service.sandbox.lock(one?.uuid ?? "");
    await run(machine, 7, "get", one?.uuid ?? "");
    await run(machine, 0, "guard", one?.uuid ?? "", "--reset", "--yes");
    await lab.machine().vault("delete", two?.uuid ?? "", "--yes");
    lab.service.sandbox.unlock(one?.uuid ?? "");
    const [refused, reset] = (await itemsOf(machine)).slice(4);
    expect(refused).toMatchObject({ action: "READ_VAULT", outcome: "FAILURE", vault: one?.uuid });
    expect(refused?.description).toMatch(
      /^vault is locked \(service: "the vault is locked: vault locked \(vaultUuid\)", HTTP 423, error [0-9a-f-]{36}\)$/,
    );
    expect(reset).toMatchObject({
      action: "UNLOCK_VAULT",
      outcome: "SUCCESS",
      vault: one?.uuid,
    });
    expect(reset).not.toHaveProperty("externalRef");
    // What the audit log shows of the starts is no unlock.
    const before = (await itemsOf(machine)).length;
    await run(machine, 0, "guard", one?.uuid ?? "", "--reset", "--unanswered");
    await run(machine, 0, "guard", one?.uuid ?? "", "--reset", "--failed", "1", "--starts", "0");
    expect(await itemsOf(machine)).toHaveLength(before);
  });

  test("the start that locks is told in the words of the service", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    for (let starts = 1; starts < 5; starts += 1)
      await run(machine, 0, "get", lab.vault.uuid, "--no-ack", "--discard-pending", "--force");
    await run(machine, 7, "get", lab.vault.uuid, "--discard-pending", "--force");
    const last = (await itemsOf(machine)).at(-1);
    expect(last).toMatchObject({ action: "READ_VAULT", outcome: "FAILURE" });
    expect(last?.description).toContain("too many starts without acknowledgement");
  });

  test("an acknowledgement that arrived unseen is told where it was sent, once it is known", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    lab.faults("get-end:drop-after*all");
    await run(machine, 11, "get", lab.vault.uuid);
    lab.service.faults.clear();
    lab.clock.ahead = 3_600_000;
    await run(machine, 12, "ack", lab.vault.uuid);
    const inDoubt = await itemsOf(machine);
    expect(inDoubt.slice(2).map(short)).toEqual([
      "READ_VAULT SUCCESS",
      "ACKNOWLEDGE_READ_VAULT UNKNOWN",
    ]);
    expect(inDoubt[3]?.description).toBe(
      "acknowledgement sent, outcome unknown: it may have arrived",
    );
    await run(machine, 0, "get", lab.vault.uuid);
    const settled = await itemsOf(machine);
    expect(settled.slice(2).map(short)).toEqual(recorded(lab).slice(2));
    expect(settled[3]).toEqual({
      ...inDoubt[3],
      outcome: "SUCCESS",
      description: "read acknowledged, as a later start showed",
    });
  });

  test("a refused end call is a failed one", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    await run(machine, 0, "get", lab.vault.uuid, "--no-ack");
    lab.clock.ahead = 3_600_000;
    await run(machine, 13, "ack", lab.vault.uuid);
    const last = (await itemsOf(machine)).at(-1);
    expect(last).toMatchObject({ action: "ACKNOWLEDGE_READ_VAULT", outcome: "FAILURE" });
    expect(last?.description).toMatch(/^not acknowledged \(.*token/);
  });
});

test("a refusal of the application is told; what has no beginning in the journal is left out", () => {
  const line = { seq: 1, at: "2026-11-20T14:00:00Z", service: "s", uuid: "V", exchange: "x" };
  const itemsOf = (event: string, detail: object, fate: "unknown" | null = null): Item[] => [
    ...journalItems([{ ...line, event, detail: { ...detail }, fate }]),
  ];
  const error = { code: "unauthorized", message: "m" };
  expect(itemsOf("discarded", { operation: "get", error })).toMatchObject([
    { action: "API_KEY_CHECK", outcome: "FAILURE" },
  ]);
  expect(itemsOf("acknowledged", {})).toEqual([]);
  expect(itemsOf("intent", { operation: "dance", externalRef: 1 }, "unknown")).toEqual([]);
});
