import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { HostileService } from "../support/hostile-service.ts";
import { card, importOld, oldPair, startHostileService, withVault } from "../support/hostile-service.ts";
import { expectError, expectExit } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf, machineFor } from "../support/machine.ts";

const uuid = "0f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";
const another = "99999999-8888-4777-8666-555555555555";
const deep = "[".repeat(100_000) + "]".repeat(100_000);

/** A machine that knows a vault by its old pair. */
async function world(): Promise<{ service: HostileService; machine: Machine }> {
  const service = await startHostileService();
  const machine = machineFor(service, { env: { PAIR: JSON.stringify(oldPair), CARD: JSON.stringify(card), VAULTSVC_MAX_WAIT: "0s" } });
  await importOld(machine, uuid, "generic/offline");
  return { service, machine };
}

describe.concurrent("an answer about another vault", () => {
  it.each([["get", "get-start"] as const, ["update", "update-start"] as const])(
    "to a %s is no success: the old pair stays the current one",
    async (operation, what) => {
      const { service, machine } = await world();
      service.be((asked, { good, send }) => send(asked.what === what ? withVault(good, { uuid: another }) : good));
      const contents = operation === "update" ? ["--content", "env:CARD"] : [];
      expectError(await machine.vault(operation, uuid, ...contents, "--json"), 13, "service");
      expect(await machine.exported(uuid)).toEqual(oldPair);
      expect(await machine.exported(another)).toBeNull();
    },
  );

  it.each([{ uuid: another }, { vaultUuid: another }, { vault: { uuid: another } }])(
    "to an info is refused, and nothing of it is noted: %j",
    async (named) => {
      const { service, machine } = await world();
      service.be((_, { good, send }) => send({ ...good, ...named, autoLockDate: "2031-01-01T00:00:00Z" }));
      expectError(await machine.vault("info", uuid, "--json"), 13, "service", /about another vault/);
      expect((await machine.vault("status", uuid, "--json")).stdout).not.toContain("2031-01-01");
      service.be((_, { good, send }) => send({ ...good, uuid: uuid.toUpperCase(), autoLockDate: "2031-01-01T00:00:00Z" }));
      expectExit(await machine.vault("info", uuid, "--json"), 0);
      expect((await machine.vault("status", uuid, "--json")).stdout).toContain("2031-01-01");
    },
  );

  it("to a create, one that is known here: its pair stays the current one", async () => {
    const { service, machine } = await world();
    expectExit(await machine.vault("get", uuid, "--json"), 0);
    const before = await machine.exported(uuid);
    service.be((_, { good, send }) => send(withVault(good, { uuid })));
    await machine.vault("create", "--kind", "generic/offline", "--content", "env:CARD", "--json");
    expect(await machine.exported(uuid)).toEqual(before);
  });
});

describe("a large answer", () => {
  const tooLarge = Buffer.alloc(65 * 2 ** 20, "x");

  it("of 20 MiB is read whole", async () => {
    const { service, machine } = await world();
    const content = "é".repeat(10 * 2 ** 20);
    service.be((asked, { good, send }) => send(asked.what === "get-start" ? withVault(good, { content }) : good));
    const result = await machine.vault("get", uuid, "--field", "vault.content");
    expectExit(result, 0);
    expect(result.stdout === content).toBe(true);
  });

  it("above 64 MiB is told as such, and counts as one start: nothing is repeated", async () => {
    const { service, machine } = await world();
    expectExit(await machine.vault("get", uuid, "--json"), 0);
    const pair = await machine.exported(uuid);
    service.be((_, { send }) => send(tooLarge, 200, { "content-length": String(tooLarge.length) }));
    const before = service.asked.length;
    const result = await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "1m" } }, "get", uuid, "--json");
    expectError(result, 13, "service", /larger than 64 MiB \(65\.0 MiB\), cut off/);
    expect(errorOf(result)).toMatchObject({ retry: "after-status", spent: { unackedStarts: 1 } });
    expect(errorOf(result).hint).toMatch(/each repetition counts .* vault status /);
    expect(service.asked.length - before).toBe(1);
    expect(await machine.exported(uuid)).toEqual(pair);
  });

  it.each([
    ["an info", ["info", uuid]],
    ["a create", ["create", "--kind", "generic/offline", "--content", "env:CARD"]],
    ["a delete", ["delete", uuid, "--yes"]],
  ])("above 64 MiB to %s: the same", async (_, args) => {
    const { service, machine } = await world();
    service.be((_, { send }) => send(tooLarge));
    expectError(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "1m" } }, ...args, "--json"), 13, "service", /larger than 64 MiB/);
    expect(service.asked).toHaveLength(1);
  });
});

describe.concurrent("what is nested without end", () => {
  it.each([[["--json"]], [["--debug"]], [["--json", "--debug"]]])(
    "in an answer is no answer, whatever is shown of it: %j",
    async (shown) => {
      const { service, machine } = await world();
      for (const [status, code] of [
        [200, 10],
        [400, 10],
        [500, 10],
      ] as const) {
        for (const text of [deep, `{"a":`.repeat(100_000) + "1" + "}".repeat(100_000)]) {
          service.be((_, { send }) => send(`{"responseStatus":{"status":"${status === 200 ? "SUCCESS" : "ERROR"}","x":${text}}}`, status));
          const result = await machine.vault("info", uuid, ...shown);
          expectExit(result, code);
          expect(result.stderr).not.toMatch(/call stack|at .*\.ts:/);
        }
      }
    },
  );

  it.each<[string, (machine: Machine) => string[], number]>([
    [
      "credentials",
      (m) => ["import", another, "--kind", "generic/offline", "--credentials", `@${m.file("f", `{"state":"pending","x":${deep}}`)}`],
      3,
    ],
    ["a list to import", (m) => ["import", "--file", m.file("f", `[{"uuid":"${another}","credentials":{"a":${deep}}}]`)], 3],
    [
      "a line to import",
      (m) => ["import", "--file", m.file("f", `{"uuid":"${another}","kind":"generic/offline","credentials":{"a":${deep}}}`)],
      3,
    ],
    ["a device", (m) => ["get", another, "--kind", "generic/online", "--credentials", "env:PAIR", "--device", `@${m.file("f", deep)}`], 3],
    ["a card", (m) => ["update", uuid, "--card", `@${m.file("f", deep)}`], 3],
    ["claims", (m) => ["config", "set", "jwt.claims", `@${m.file("f", `{"a":${deep}}`)}`], 3],
    ["a policy", (m) => ["sandbox", "start", "--policy", m.file("f", `{"jwt":${deep}}`)], 3],
    ["a seed", (m) => ["sandbox", "start", "--seed", m.file("f", deep)], 3],
  ])("in a file of the user is refused: %s", async (_, args, code) => {
    const { service, machine } = await world();
    const result = await machine.vault(...args(machine), "--json");
    expectError(result, code, "invalid-input");
    expect(service.asked).toEqual([]);
  });

  it("in the configuration is refused, and the file stays as it is", async () => {
    const { machine } = await world();
    writeFileSync(join(machine.configDir, "config.json"), `{"profiles":{"default":{"jwt":{"claims":{"a":${deep}}}}}}`);
    for (const args of [["get", uuid], ["config", "list"], ["config", "set", "rateLimit", "5"], ["status"]]) {
      const result = await machine.vault(...args, "--json");
      expect([0, 14]).toContain(result.code);
      expect(result.stderr).not.toMatch(/call stack/);
    }
  });
});

it("a file of credentials that is not UTF-8 is refused: replaced characters would be sent as the pair", async () => {
  const { service, machine } = await world();
  const path = join(machine.home, "latin1.json");
  writeFileSync(path, Buffer.from('{"encryptedData":"caf\u00E9","payload":"b"}', "latin1"));
  for (const args of [
    ["import", another, "--kind", "generic/offline", "--credentials", `@${path}`],
    ["import", "--file", path],
    ["get", another, "--kind", "generic/offline", "--credentials", `@${path}`],
  ]) {
    expectError(await machine.vault(...args, "--json"), 3, "invalid-input", /not UTF-8/);
  }
  expect(service.asked).toEqual([]);
});
