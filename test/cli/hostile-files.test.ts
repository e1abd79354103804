import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectError } from "../support/lab.ts";
import { documentOf } from "../support/machine.ts";
import { hostileWorld } from "../support/hostile-service.ts";

const another = "99999999-8888-4777-8666-555555555555";
const deep = "[".repeat(100_000) + "]".repeat(100_000);

describe.concurrent("what is nested without end", () => {
  it.each([
    ["import ANOTHER --kind generic/offline --credentials @f", `{"format":2,"x":${deep}}`],
    ["import --file f", `[{"uuid":"${another}","credentials":{"a":${deep}}}]`],
    [
      "import --file f",
      `{"uuid":"${another}","kind":"generic/offline","credentials":{"a":${deep}}}`,
    ],
    ["get ANOTHER --kind generic/online --credentials env:PAIR --device @f", deep],
    ["update UUID --card @f", deep],
    ["config set jwt.claims @f", `{"a":${deep}}`],
    ["sandbox start --policy f", `{"jwt":${deep}}`],
    ["sandbox start --seed f", deep],
  ])("in a file of the user is refused: %s", async (line, text) => {
    const { service, machine, uuid } = await hostileWorld();
    machine.file("f", text);
    const words = line.replace("UUID", uuid).replace("ANOTHER", another).split(" ");
    const result = await machine.vault(...words, "--json");
    expectError(result, "invalid-input");
    expect(service.asked).toEqual([]);
  });

  it("in the configuration is refused, and the file stays as it is", async () => {
    const { machine, uuid } = await hostileWorld();
    const config = `{"profiles":{"default":{"jwt":{"claims":{"a":${deep}}}}}}`;
    writeFileSync(join(machine.configDir, "config.json"), config);
    for (const line of [`get ${uuid}`, "config list", "config set rateLimit 5", "status"]) {
      const result = await machine.vault(...line.split(" "), "--json");
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
    expectError(await machine.vault(...args, "--json"), "invalid-input", /must be UTF-8/);
  }
  expect(service.asked).toEqual([]);
});

describe.concurrent("files as editors, shells and other programs leave them", () => {
  const pretty = (n: number, more = {}): string =>
    JSON.stringify(
      {
        uuid: `${n}${another.slice(1)}`,
        kind: "generic/offline",
        credentials: { encryptedData: `e${n}`, payload: "p" },
        ...more,
      },
      null,
      2,
    );
  const pair = JSON.stringify({ encryptedData: "a", payload: "b" });

  it.each([
    ["two exports, one after the other", `${pretty(1)}\n${pretty(2)}\n`],
    ["with byte order marks", `\uFEFF${pretty(1)}\r\n\uFEFF${pretty(2)}\r\n`],
    ["an array, with one", `\uFEFF[${pretty(1)},\n${pretty(2)}]\r\n\r\n`],
  ])("are lists to import: %s", async (_, text) => {
    const { machine } = await hostileWorld();
    const result = await machine.ok("import", "--file", machine.file("list", text), "--json");
    expect(documentOf(result)).toMatchObject({ imported: [{ generation: 1 }, { generation: 1 }] });
  });

  it("are one document where one is expected", async () => {
    const { machine } = await hostileWorld();
    const args = ["import", another, "--kind", "generic/offline", "--credentials"];
    const marked = machine.file("marked", `\uFEFF${pair}\r\n\n`);
    await machine.ok(...args, `@${marked}`, "--json");
    const two = await machine.vault(
      ...args,
      `@${machine.file("two", `${pair}\n${pair}`)}`,
      "--json",
    );
    expectError(two, "invalid-input", /^--credentials: 2 documents, where one is expected$/);
  });

  it("name what came and cannot be seen", async () => {
    const { machine } = await hostileWorld();
    const file = machine.file("list", pretty(1, { uuid: `${another}\r` }));
    expectError(
      await machine.vault("import", "--file", file, "--json"),
      "invalid-input",
      /^--file line 1: uuid must be 36 .* \(an invisible character at the end\)$/,
    );
    for (const [name, where] of [
      [`${another}\r`, "an invisible character at the end"],
      [` ${another} `, "a space at the end"],
      [` ${another}`, "a space at the beginning"],
      [`\u200B${another}`, "an invisible character at the beginning"],
      [`${another}\u3164`, "an invisible character at the end"],
    ] as const)
      for (const command of ["get", "status", "forget"])
        expectError(
          await machine.vault(command, name, "--json"),
          "invalid-input",
          new RegExp(`must be 36 .* \\(${where}\\); nothing was sent$`),
        );
    const card = JSON.stringify({
      number: 4_111_111_111_111_111,
      name: "A",
      expiryMonth: 1,
      expiryYear: 2031,
    });
    expectError(
      await machine.vaultWith(
        { env: { CARD: card } },
        "update",
        another,
        "--kind",
        "credit-card/offline",
        "--credentials",
        "env:PAIR",
        "--card",
        "env:CARD",
        "--json",
      ),
      "invalid-input",
      /^--card.number: .* \(is a number, not a string\)$/,
    );
  });

  it("are a configuration that can be changed", async () => {
    const { machine } = await hostileWorld();
    writeFileSync(
      join(machine.configDir, "config.json"),
      '\uFEFF{"profiles":{"default":{"rateLimit":5}}}\r\n',
    );
    await machine.ok("config", "set", "timeout", "9s");
    await machine.ok("config", "get", "rateLimit");
  });
});
