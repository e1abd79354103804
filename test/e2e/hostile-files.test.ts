import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectError } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { hostileWorld } from "../support/hostile-service.ts";

const another = "99999999-8888-4777-8666-555555555555";
const deep = "[".repeat(100_000) + "]".repeat(100_000);

describe.concurrent("what is nested without end", () => {
  it.each<[string, (machine: Machine, uuid: string) => string[], number]>([
    [
      "credentials",
      (m) => [
        "import",
        another,
        "--kind",
        "generic/offline",
        "--credentials",
        `@${m.file("f", `{"format":2,"x":${deep}}`)}`,
      ],
      3,
    ],
    [
      "a list to import",
      (m) => [
        "import",
        "--file",
        m.file("f", `[{"uuid":"${another}","credentials":{"a":${deep}}}]`),
      ],
      3,
    ],
    [
      "a line to import",
      (m) => [
        "import",
        "--file",
        m.file("f", `{"uuid":"${another}","kind":"generic/offline","credentials":{"a":${deep}}}`),
      ],
      3,
    ],
    [
      "a device",
      (m) => [
        "get",
        another,
        "--kind",
        "generic/online",
        "--credentials",
        "env:PAIR",
        "--device",
        `@${m.file("f", deep)}`,
      ],
      3,
    ],
    ["a card", (m, uuid) => ["update", uuid, "--card", `@${m.file("f", deep)}`], 3],
    ["claims", (m) => ["config", "set", "jwt.claims", `@${m.file("f", `{"a":${deep}}`)}`], 3],
    ["a policy", (m) => ["sandbox", "start", "--policy", m.file("f", `{"jwt":${deep}}`)], 3],
    ["a seed", (m) => ["sandbox", "start", "--seed", m.file("f", deep)], 3],
  ])("in a file of the user is refused: %s", async (_, args, code) => {
    const { service, machine, uuid } = await hostileWorld();
    const result = await machine.vault(...args(machine, uuid), "--json");
    expectError(result, code, "invalid-input");
    expect(service.asked).toEqual([]);
  });

  it("in the configuration is refused, and the file stays as it is", async () => {
    const { machine, uuid } = await hostileWorld();
    writeFileSync(
      join(machine.configDir, "config.json"),
      `{"profiles":{"default":{"jwt":{"claims":{"a":${deep}}}}}}`,
    );
    for (const args of [
      ["get", uuid],
      ["config", "list"],
      ["config", "set", "rateLimit", "5"],
      ["status"],
    ]) {
      const result = await machine.vault(...args, "--json");
      expect([0, 14]).toContain(result.code);
      expect(result.stderr).not.toMatch(/call stack/);
    }
  });
});

it("a file of credentials that is not UTF-8 is refused: replaced characters would be sent as the pair", async () => {
  const { service, machine } = await hostileWorld();
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
