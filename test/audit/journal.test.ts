import { expect, test } from "vitest";
import type { Item } from "../../src/audit/read/item.ts";
import { journalItems } from "../../src/audit/meaning/journal.ts";
import { openHistory } from "../../src/store/sqlite/history.ts";
import { fakeHost } from "../support/fake-host.ts";
import { expectExit, offlineNote, openLab, type Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";

/** The journal of a machine, as audit items. */
async function itemsOf(machine: Machine): Promise<Item[]> {
  const history = await openHistory(machine.stateDir, fakeHost());
  if (history === null) throw new Error("there is no state");
  try {
    return [...journalItems(history.journal())];
  } finally {
    history.close();
  }
}

/** Runs a command, and checks its exit code. */
async function run(machine: Machine, code: number, ...args: string[]): Promise<void> {
  expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "300ms" } }, ...args), code);
}

const kind = ["--kind", "generic/offline"];
/** The first `get` of a vault. */
const first = (vault: Lab["vault"] | undefined): string[] => {
  const credentials = JSON.stringify(vault?.credentials);
  return ["get", vault?.uuid ?? "", ...kind, "--credentials", credentials];
};
const short = ({ action, outcome }: { action: string; outcome?: string | undefined }): string =>
  `${action} ${outcome}`;
/** Returns the items about vaults that the service recorded. */
const recorded = (lab: Lab) =>
  lab.service.sandbox.audit().filter(({ endpoint }) => endpoint !== null);

test("the journal says what the service has recorded, in its words, in its order", async () => {
  const lab = await openLab([offlineNote, offlineNote]);
  const [vault, other] = lab.service.vaults;
  const uuid = vault?.uuid ?? "";
  const machine = lab.machine();
  const wrong = '{"encryptedData":"wrong","payload":"wrong"}';
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
  const reference = expect.stringMatching(/^vault-/) as string;
  expect(items.map((item) => [short(item), item.vault, item.externalRef])).toEqual(
    // The key is checked before the reference is read.
    recorded(lab).map((item) => [short(item), item.vaultUuid, item.externalRef ?? reference]),
  );
  expect(items).toHaveLength(13);
  expect(items[0]).toMatchObject({
    vault: uuid,
    description: expect.stringMatching(/^bad credentials \(.*HTTP 403/) as string,
    endpoint: `${lab.service.baseUrl}/vaultsvc/v1-2/vault/generic/offline`,
  });
  const times = items.map(({ time }) => time);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(Math.abs((times[0] ?? 0) - Date.now())).toBeLessThan(60_000);
});

/** What a machine does that has used the vault; what its journal has then, and what the last description says. */
const sessions: [string, (lab: Lab, machine: Machine) => Promise<void>, string[], RegExp?][] = [
  [
    "a process that died with its start on the way leaves one that may count, once, in its place",
    async (lab, machine) => {
      lab.faults("get-start:hang*all");
      const dies = machine.start({}, "get", lab.vault.uuid);
      await expect.poll(async () => (await itemsOf(machine)).length, { timeout: 10_000 }).toBe(3);
      dies.kill("SIGKILL");
      await dies.exit;
      expect((await itemsOf(machine))[2]?.description).toMatch(/response unknown: it may count/);
      lab.service.faults.clear();
      await run(machine, 0, "get", lab.vault.uuid, "--force");
    },
    ["READ_VAULT UNKNOWN", "READ_VAULT SUCCESS", "ACKNOWLEDGE_READ_VAULT SUCCESS"],
  ],
  [
    "nothing was sent, or it was over the rate: no item",
    async (lab, machine) => {
      lab.faults("get-start:status=429,retry-after=9");
      await run(machine, 9, "get", lab.vault.uuid);
      const dead = ["--timeout", "100ms", "--proxy", "http://127.0.0.1:1"];
      await run(machine, 10, "get", lab.vault.uuid, ...dead);
    },
    [],
  ],
  [
    "a locked vault, and an unlock that was told of; what the audit log shows of starts is none",
    async (lab, machine) => {
      const { uuid } = lab.vault;
      lab.service.sandbox.lock(uuid);
      await run(machine, 7, "get", uuid);
      expect((await itemsOf(machine)).at(-1)?.description).toMatch(
        /^vault is locked \(service: "the vault is locked: vault locked \(vaultUuid\)", HTTP 423, error [0-9a-f-]{36}\)$/,
      );
      await run(machine, 0, "guard", uuid, "--reset", "--yes");
      await run(machine, 0, "guard", uuid, "--reset", "--unanswered");
      await run(machine, 0, "guard", uuid, "--reset", "--failed", "1", "--starts", "0");
    },
    ["READ_VAULT FAILURE", "UNLOCK_VAULT SUCCESS"],
  ],
  [
    "the start that locks is told in the words of the service",
    async (lab, machine) => {
      const get = ["get", lab.vault.uuid, "--discard-pending", "--force"];
      for (let starts = 1; starts < 5; starts += 1) await run(machine, 0, ...get, "--no-ack");
      await run(machine, 7, ...get);
    },
    [...Array.from({ length: 4 }, () => "READ_VAULT SUCCESS"), "READ_VAULT FAILURE"],
    /too many starts without acknowledgement/,
  ],
  [
    "a refused end call is a failed one",
    async (lab, machine) => {
      await run(machine, 0, "get", lab.vault.uuid, "--no-ack");
      lab.clock.ahead = 3_600_000;
      await run(machine, 13, "ack", lab.vault.uuid);
    },
    ["READ_VAULT SUCCESS", "ACKNOWLEDGE_READ_VAULT FAILURE"],
    /^not acknowledged \(.*token/,
  ],
];

test.each(sessions)("%s", async (_what, play, expected, description = /./) => {
  const lab = await openLab();
  const machine = await lab.warmMachine();
  await play(lab, machine);
  const items = (await itemsOf(machine)).slice(2);
  expect(items.map(short)).toEqual(expected);
  if (items.length > 0) expect(items.at(-1)?.description).toMatch(description);
});

test("an acknowledgement in doubt is told where it was sent, once a later start shows it; a start without an answer may count", async () => {
  const lab = await openLab();
  const machine = await lab.warmMachine();
  lab.faults("get-end:drop-after*all");
  await run(machine, 11, "get", lab.vault.uuid);
  lab.service.faults.clear();
  lab.clock.ahead = 3_600_000;
  await run(machine, 12, "ack", lab.vault.uuid);
  const unseen = (await itemsOf(machine)).at(-1);
  expect(unseen).toMatchObject({ action: "ACKNOWLEDGE_READ_VAULT", outcome: "UNKNOWN" });
  await run(machine, 0, "get", lab.vault.uuid);
  const settled = await itemsOf(machine);
  expect(settled.map(short).slice(2)).toEqual(recorded(lab).map(short).slice(2));
  expect(settled[3]?.description).toBe("read acknowledged, as a later start showed");
  lab.faults("get-start:drop-after*all");
  await run(machine, 10, "get", lab.vault.uuid);
  const sent = (await itemsOf(machine)).slice(settled.length);
  expect(new Set(sent.map(short))).toEqual(new Set(["READ_VAULT UNKNOWN"]));
  expect(sent[0]?.description).toMatch(/^sent, outcome unknown: it may count \(.+\)$/);
  expect(recorded(lab)).toHaveLength(settled.length + sent.length);
});

test("a refusal of the application is told; what has no beginning in the journal is left out", () => {
  const line = { seq: 1, at: "2026-11-20T14:00:00Z", service: "s", uuid: "V", exchange: "x" };
  const itemsOf = (event: string, detail: object, fate: "unknown" | null = null) => [
    ...journalItems([{ ...line, event, detail: { ...detail }, fate }]),
  ];
  const error = { code: "unauthorized", message: "m" };
  expect(itemsOf("discarded", { operation: "get", error })).toMatchObject([
    { action: "API_KEY_CHECK", outcome: "FAILURE" },
  ]);
  expect(itemsOf("acknowledged", {})).toEqual([]);
  expect(itemsOf("intent", { operation: "dance", externalRef: 1 }, "unknown")).toEqual([]);
});
