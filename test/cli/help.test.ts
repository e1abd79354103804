import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, test } from "vitest";
import { topics } from "../../src/cli/topics.ts";
import { documentNames } from "../../src/documents/schemas.ts";
import { pathOf, type CliCommand } from "../../src/cli/commander.ts";
import { main } from "../../src/main.ts";
import { checkDocument } from "../support/documents.ts";
import { fakeHost } from "../support/fake-host.ts";
import { topicText, topicTexts } from "../support/markdown.ts";
import { below, program } from "../support/program.ts";

async function run(
  line: string,
  columns = 80,
): Promise<{ code: number; out: string; err: string }> {
  const host = fakeHost({ columns });
  const code = await main(
    line.split(" ").filter((word) => word !== ""),
    host,
  );
  await host.flush();
  return { code, out: host.out, err: host.err };
}

async function shown(line: string, columns = 80): Promise<string> {
  const { code, out, err } = await run(line, columns);
  expect({ code, err }).toEqual({ code: 0, err: "" });
  return out;
}

const lines = (text: string): string[] => text.trimEnd().split("\n");
const tooWide = (text: string, columns = 80): string[] =>
  lines(text).filter((line) => line.length > columns || line.endsWith(" "));

describe("the first screen", () => {
  test("is the same by --help, by help, and where a command's name is a value", async () => {
    const screen = await shown("--help");
    expect(await shown("help")).toBe(screen);
    expect(await shown("--profile get --help")).toBe(screen);
  });

  test("has at most 46 lines of 80 columns, and a group for every command", async () => {
    const screen = await shown("--help");
    expect(lines(screen).length).toBeLessThanOrEqual(46);
    expect(tooWide(screen)).toEqual([]);
    expect(screen).not.toContain("\nCommands:");
    const names = program.commands.map((command) => command.name());
    expect(names.filter((name) => !new RegExp(`^ {2}${name} +\\S`, "m").test(screen))).toEqual([]);
  });

  test("no summary is too long for a line of it", () => {
    const summaries = program.commands.map((command) => command.summary());
    expect(summaries.filter(({ length }) => length > 63 || length === 0)).toEqual([]);
  });
});

describe("help json", () => {
  const schema = async (words: string) =>
    JSON.parse(await shown(`help json${words}`)) as Record<string, unknown>;

  test("is one schema with a definition for each command that prints a document, and for errors, events and recovery documents", async () => {
    const { $schema, $defs } = (await schema("")) as {
      $schema: string;
      $defs: Record<string, object>;
    };
    expect($schema).toBe("https://json-schema.org/draft/2020-12/schema");
    const named = below(program)
      .filter(({ commands }) => commands.length === 0)
      .map((command) => pathOf(command).slice(1).join(" "));
    const documented = named.filter((name) => name !== "sandbox exec");
    const wanted = [...documented, "error", "event", "recovery"];
    expect(Object.keys($defs).toSorted()).toEqual(wanted.toSorted());
  });

  const names: readonly string[] = documentNames;

  test.each(names)("%s: a schema of the dialect, the same as in the whole", async (name) => {
    const { title, ...whole } = await schema(` ${name}`);
    const { $schema, ...body } = whole;
    expect([$schema, new Ajv2020().validateSchema(whole)]).toEqual([
      "https://json-schema.org/draft/2020-12/schema",
      true,
    ]);
    expect(title).toBe(name);
    const { $defs } = (await schema("")) as { $defs: Record<string, object> };
    expect($defs[name]).toEqual(body);
  });

  test("refuses a name that it does not know", async () => {
    expect(await run("help json lss --json")).toMatchObject({
      code: 2,
      err: expect.stringContaining("one of: get, update") as string,
    });
  });
});

describe("a topic", () => {
  test.each(Object.keys(topics))(
    "%s is printed as it is, at most 78 columns wide",
    async (topic) => {
      for (const columns of [60, 120])
        expect(await shown(`help ${topic}`, columns)).toBe(topicText(topic));
      expect(tooWide(topicText(topic), 78)).toEqual([]);
      const document = JSON.parse(await shown(`help ${topic} --json`)) as unknown;
      checkDocument("help", document);
      if (topic !== "exit-codes") expect(document).toMatchObject({ topic, text: topicText(topic) });
    },
  );

  test("all of them have at most 1,000 lines", () => {
    expect(Object.values(topicTexts).flatMap(lines).length).toBeLessThanOrEqual(1000);
  });

  test("exit-codes --json is a list, in which signals stand too", async () => {
    const { exitCodes } = JSON.parse(await shown("help exit-codes --json")) as {
      exitCodes: { exit: number; code: string | null }[];
    };
    const signals = exitCodes.filter(({ exit }) => exit > 100);
    expect(signals.map(({ exit, code }) => `${exit} ${code}`).join(", ")).toBe(
      "129 interrupted, 130 interrupted, 130 canceled, 143 interrupted",
    );
    const unauthorized = exitCodes.find(({ exit }) => exit === 5);
    expect(unauthorized).toMatchObject({ code: "unauthorized", retry: "after-fix" });
  });

  test("none names a flag for a command that does not have it", () => {
    const text = Object.values(topicTexts).join("\n");
    const flagsOf = (command: CliCommand): (string | undefined)[] =>
      [...command.options, ...program.options].map(({ long }) => long);
    for (const [, name = "", words = "", flag] of text.matchAll(
      /vault ((?:get|ack|status|guard|import|export|forget|sandbox|help)\b)([a-z -]*)(--[a-z-]+)/g,
    )) {
      const commands = below(program).filter((each) =>
        [name, ...words.split(" ")].includes(each.name()),
      );
      expect(commands.flatMap(flagsOf)).toContain(flag);
    }
  });
});

describe("the help of a command", () => {
  test.each(["get", "sandbox", "sandbox start", "help", "completion"])(
    "%s: by help and by --help, with where the rest is",
    async (command) => {
      const text = await shown(`help ${command}`);
      expect(text).toBe(await shown(`${command} --help`));
      expect(text).toContain("All flags, variables and configuration keys: vault help settings.");
      expect(text).not.toContain("--base-url");
    },
  );

  test("shows of the flags of every command those that matter most", async () => {
    const shared = ["--json", "--field", "--reveal", "--profile", "--state", "--max-wait"];
    const text = await shown("get --help");
    for (const flag of [...shared, "--no-input"])
      expect(text).toMatch(new RegExp(`^ {2}${flag}\\b`, "m"));
    expect(await shown("help completion")).not.toContain("--json");
  });

  test("as data", async () => {
    const document = JSON.parse(await shown("help sandbox start -o json")) as unknown;
    checkDocument("help", document);
    expect(document).toEqual({
      command: "sandbox start",
      summary: "start a sandbox that serves until interrupted",
      text: await shown("sandbox start --help"),
    });
  });
});

describe("what was probably meant", () => {
  test.each<[string, string, RegExp]>([
    ["gett", "unknown command 'gett'", /'gett' \(Did you mean get\?\)\n/],
    ["sandbox ls", "unknown command 'ls'", / {2}next: vault sandbox --help\n/],
    ["stauts", "unknown command 'stauts'", / \(Did you mean status\?\)\n/],
    ["sttus --profile get", "unknown command 'sttus'", / \(Did you mean status\?\)\n/],
    ["sandbox strat", "unknown command 'strat'", / \(Did you mean start\?\)\n/],
    ["get --jsn", "unknown option '--jsn'", / \(Did you mean --json\?\)\n/],
    ["--jsn status", "unknown option '--jsn'", / \(Did you mean --json\?\)\n/],
    ["get x --dry-rnu", "unknown option '--dry-rnu'", / \(Did you mean --dry-run\?\)\n/],
    ["sandbox start --prot 1", "unknown option '--prot'", / \(Did you mean --port\?\)\n/],
    ["sandbox exec sh -c true", "unknown option '-c'", /next: vault sandbox exec -- CMD\n/],
    ["sandbox exec vault status -v", "the program to run comes after --", / exec -- CMD\n/],
    ["sandbox rehearse --check x sh", "the program to run comes after --", / rehearse -- CMD\n/],
    ["run x --env N=label env -i", "unknown option '-i'", /next: vault run VAULT -- CMD\n/],
    ["run x --stdin cat", "the program to run comes after --", /next: vault run VAULT -- CMD\n/],
    ["run x true -- cat", "the program to run comes after --", / vault run VAULT -- CMD\n/],
    ["run -- cat x", "missing required argument 'vault'", / vault run VAULT -- CMD\n/],
    ["sandbox exec sh -- -c true", "the program to run comes after --", / exec -- CMD\n/],
    ["get --json=true", "--json takes no value\n", /next: vault get --help\n/],
    ["get x --out --dry-run", "--out argument missing\n", /next: vault get --help\n/],
    ["get x --credentials-out --no-ack", "--credentials-out argument missing\n", / get --help\n/],
    ["get x --jwt --dry-run", "--jwt argument missing\n", /next: vault get --help\n/],
    ["get x --out -h", "--out argument missing\n", /next: vault get --help\n/],
    ["get x --exec --help", "--exec argument missing\n", /next: vault get --help\n/],
    ["run x --stdin --save-cmd -- true", "--save-cmd argument missing\n", / run --help\n/],
    ["run x --save-cmd --stdin -- true", "--save-cmd argument missing\n", / run --help\n/],
    ["get --no-ack=1", "--no-ack takes no value\n", /next: vault get --help\n/],
    ["help gte", "there is no command or topic 'gte'", / {2}next: vault --help\n/],
    ["help sandbox ls", "there is no command or topic 'sandbox ls'", / {2}next: vault --help\n/],
  ])("%s", async (line, message, meant) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`vault: ${message}`);
    expect(err).toMatch(meant);
  });

  test.each([
    ["completion s3cret", "the value is invalid for argument 'shell'. Allowed choices are bash,"],
    [
      "completion s3cret'is",
      "the value is invalid for argument 'shell'. Allowed choices are bash,",
    ],
    ["get --api-kee=s3cret", "unknown option '--api-kee'"],
  ])("%s: the value may be a secret", async (line, message) => {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toContain(`vault: ${message}`);
    expect(err).not.toContain("s3cret");
  });

  const far = ["dance", "constructor", "get --wxyz", "help wxyz", "sandbox wxyz", "get -x"];
  test.each(far)("%s: nothing is near", async (line) => {
    const { code, err } = await run(line);
    expect(code).toBe(2);
    expect(err).toMatch(/\n {2}next: vault.* --help\n/);
    expect(err.match(/(?:next|hint): /g)).toHaveLength(1);
  });

  test("the name alone prints the help, which begins with the way in", async () => {
    const { code, out, err } = await run("");
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toMatch(
      /^Usage: .*\n\n.*\n\nBegin with: vault init, .* vault sandbox exec -- sh\n/,
    );
    expect((await run("--help")).out).toBe(out);
  });

  test("so does the name of a group alone", async () => {
    for (const group of ["state", "sandbox", "config"]) {
      const { out } = await run(`${group} --help`);
      expect(await run(group)).toEqual({ code: 0, err: "", out });
    }
  });

  test.each([
    ["--quiet", "vault --help"],
    ["sandbox --quiet", "vault sandbox --help"],
    ["sandbox start --port", "vault sandbox start --help"],
    ["completion tcsh", "vault completion --help"],
  ])("'%s' names the help to read: %s", async (line, hint) => {
    expect((await run(line)).err).toContain(`next: ${hint}\n`);
    const { err } = await run(`${line} --json`);
    expect(JSON.parse(err)).toMatchObject({
      error: { code: "usage", next: [{ argv: hint.split(" ") }] },
    });
  });
});
