import { Ajv2020 } from "ajv/dist/2020.js";
import { Help } from "commander";
import { describe, expect, test } from "vitest";
import { helpScreen, tasks } from "../../src/cli/help-screen.ts";
import { codeLines, parseMarkdown, plainText } from "../../src/cli/markdown.ts";
import type { Span } from "../../src/cli/markdown.ts";
import { topics } from "../../src/cli/topics.ts";
import { locate } from "../../src/completion/tree.ts";
import type { CommandNode } from "../../src/completion/tree.ts";
import { describeCommand } from "../../src/cli/describe.ts";
import { documentNames } from "../../src/documents/schemas.ts";
import { main } from "../../src/main.ts";
import { vault } from "../../src/commands/program.ts";
import { checkDocument } from "../support/documents.ts";
import { fakeHost } from "../support/fake-host.ts";
import { topicText, topicTexts } from "../support/markdown.ts";

const tree = describeCommand(vault);

async function run(
  line: string,
  columns = 80,
): Promise<{ code: number; out: string; err: string }> {
  const host = fakeHost({ columns });
  const code = await main(
    line.split(" ").filter((word) => word !== ""),
    host,
  );
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

  test("has at most 40 lines of 80 columns, and a task for every command", async () => {
    const screen = await shown("--help");
    expect(lines(screen).length).toBeLessThanOrEqual(40);
    expect(tooWide(screen)).toEqual([]);
    expect(screen).not.toContain("More:");
    const names = tree.commands.map(({ name }) => name).filter((name) => name !== "help");
    expect(names.filter((name) => !new RegExp(`^ {2}${name} +\\S`, "m").test(screen))).toEqual([]);
  });

  test("keeps to that when all of these commands are there, and names one that is not among them", () => {
    const named = (name: string, summary: string) => ({ name, summary, examples: [] });
    const commands = Object.values(tasks).flatMap((names) =>
      names.map((name) => named(name, "x".repeat(63))),
    );
    const helper = new Help();
    helper.prepareContext({ helpWidth: 80 });
    const screen = helpScreen({ ...vault, commands }, helper);
    // With the examples that stand below.
    expect(lines(screen).length + 4).toBeLessThanOrEqual(40);
    expect(tooWide(screen)).toEqual([]);
    const more = [...commands, named("dance", "of a later version")];
    expect(helpScreen({ ...vault, commands: more }, helper)).toMatch(
      /^More:\n {2}dance +of a later version$/m,
    );
  });

  test("no summary is too long for a line of it", () => {
    expect(
      tree.commands
        .filter(({ summary }) => summary.length > 63 || summary === "")
        .map(({ name }) => name),
    ).toEqual([]);
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
    const named = tree.commands.flatMap(({ name, commands }) =>
      commands.length === 0 ? [name] : commands.map((each) => `${name} ${each.name}`),
    );
    const printsNone = ["completion", "sandbox exec"];
    const wanted = [
      ...named.filter((name) => !printsNone.includes(name)),
      "error",
      "event",
      "recovery",
    ];
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
    "%s fits 60, 80 and 120 columns, but for its code, and lacks no word",
    async (topic) => {
      const blocks = parseMarkdown(topicText(topic));
      const code = blocks.flatMap((block) =>
        block.type === "code" ? codeLines(block).map((line) => `    ${line}`) : [],
      );
      const words = blocks.flatMap((block): Span[][] => {
        if (block.type === "code") return [];
        if (block.type === "list") return block.items;
        return block.type === "table" ? [block.heading, ...block.rows].flat() : [block.spans];
      });
      for (const columns of [60, 80, 120]) {
        const text = await shown(`help ${topic}`, columns);
        expect(tooWide(text, columns).filter((line) => !code.includes(line))).toEqual([]);
        const letters = text.replaceAll(/\s/g, "");
        const missing = words
          .flatMap((spans) => plainText(spans).split(" "))
          .filter((word) => !letters.includes(word));
        expect(missing).toEqual([]);
        expect(code.filter((line) => !text.includes(line.trimEnd()))).toEqual([]);
      }
      const document = JSON.parse(await shown(`help ${topic} --json`)) as unknown;
      checkDocument("help", document);
      if (topic !== "exit-codes")
        expect(document).toMatchObject({ topic, text: await shown(`help ${topic}`) });
    },
  );

  test("exit-codes --json is a list, in which signals stand too", async () => {
    const { exitCodes } = JSON.parse(await shown("help exit-codes --json")) as {
      exitCodes: { exit: number; code: string | null }[];
    };
    expect(
      exitCodes.filter(({ exit }) => exit > 100).map(({ exit, code }) => [exit, code]),
    ).toEqual([
      [129, "interrupted"],
      [130, "interrupted"],
      [130, "canceled"],
      [143, "interrupted"],
    ]);
    expect(exitCodes.find(({ exit }) => exit === 5)).toMatchObject({
      code: "unauthorized",
      retry: "after-fix",
    });
  });

  test.each(["environment", "keys", "lockout", "output"])(
    "%s, as it was when it was looked at",
    async (topic) => {
      expect(await shown(`help ${topic}`)).toMatchSnapshot("80 columns");
      expect(await shown(`help ${topic}`, 120)).toMatchSnapshot("120 columns");
    },
  );

  test("code can be pasted from the screen, where it is indented, and is told from what it prints", async () => {
    expect(Object.values(topicTexts).join("\n")).not.toContain("<<");
    const tour = await shown("help tour");
    expect(tour).toContain(
      "\n    vault get $note --field vault.content --quiet\n\n    │ The treasure",
    );
  });

  test("none names a flag for a command that does not have it", () => {
    const text = Object.values(topicTexts).join("\n");
    for (const [, words = ""] of text.matchAll(
      /vault ((?:get|ack|status|guard|import|export|forget|sandbox|help)\b[a-z -]*--[a-z-]+)/g,
    )) {
      const { path, given } = locate(tree, words.split(" "));
      const known = path.flatMap(({ options }) => options.map(({ long }) => long));
      expect([...given.keys()].filter((flag) => !known.includes(flag))).toEqual([]);
    }
  });
});

describe("the help of a command", () => {
  test.each(["get", "sandbox", "sandbox start", "help", "completion"])(
    "%s: by help and by --help, with where the rest is",
    async (command) => {
      const text = await shown(`help ${command}`);
      expect(text).toBe(await shown(`${command} --help`));
      expect(text).toContain(
        "Flags of every command: vault help output. Settings: vault help environment.",
      );
      expect(text).not.toContain("--base-url");
    },
  );

  test("as data: the tree that completion reads", async () => {
    const whole = JSON.parse(await shown("help --json")) as CommandNode & {
      topics: { name: string }[];
    };
    const { topics: listed, ...node } = whole;
    expect(node).toEqual(tree);
    expect(listed.map(({ name }) => name)).toEqual(Object.keys(topics));
    const start = JSON.parse(await shown("help sandbox start -o json")) as CommandNode;
    expect(start).toMatchObject({
      name: "start",
      options: expect.arrayContaining([expect.objectContaining({ long: "--port" })]) as unknown,
    });
  });
});

describe("what was probably meant", () => {
  test.each<[string, string, RegExp]>([
    ["gett", "unknown command 'gett'", / {2}next: vault get\n/],
    ["ls", "unknown command 'ls'", / {2}next: vault status\n/],
    ["show x", "unknown command 'show'", / {2}next: vault get\n {2}next: vault status\n/],
    ["rm x", "unknown command 'rm'", / {2}next: vault forget\n {2}next: vault delete\n/],
    ["version", "unknown command 'version'", / {2}next: vault --version\n/],
    [
      "backup b.db --restore",
      "unknown command 'backup'",
      / {2}next: vault state backup\n {2}next: vault state restore\n/,
    ],
    ["restore b.db", "unknown command 'restore'", / {2}next: vault state restore\n/],
    ["rekey", "unknown command 'rekey'", / {2}next: vault state rekey\n/],
    ["sandbox ls", "unknown command 'ls'", / {2}next: vault sandbox --help\n/],
    ["stauts", "unknown command 'stauts'", / {2}next: vault status\n {2}next: vault state\n/],
    ["sttus --profile get", "unknown command 'sttus'", / {2}next: vault status\n/],
    ["sandbox strat", "unknown command 'strat'", / {2}next: vault sandbox start\n/],
    ["comp bash", "unknown command 'comp'", / {2}next: vault completion\n/],
    ["get --jsn", "unknown option '--jsn'", /hint: did you mean --json\?\n/],
    ["--jsn status", "unknown option '--jsn'", /hint: did you mean --json\?\n/],
    ["get x --dry-rnu", "unknown option '--dry-rnu'", /hint: did you mean --dry-run\?\n/],
    [
      "get x --bas-url=http://x",
      "unknown option '--bas-url=…'",
      /hint: did you mean --base-url\?\n/,
    ],
    [
      "sandbox start --prot 1",
      "unknown option '--prot'",
      /hint: did you mean --port or --proxy\?\n/,
    ],
    ["update x --number 4", "unknown option '--number'", /hint: did you mean --card-number\?\n/],
    ["get x --wait 3s", "unknown option '--wait'", /hint: did you mean --max-wait\?\n/],
    ["get x —json", "—json begins with a dash that is no hyphen", /hint: write --json\n/],
    ["get x –-field=y", "–-field begins with a dash that is no hyphen", /hint: write --field\n/],
    ["status x −json", "−json begins with a dash", /hint: write --json\n/],
    ["status -- --json", "--json stands after --", /hint: write options before --\n/],
    [
      "sandbox exec sh -c true",
      "the program to run comes after --",
      /next: vault sandbox exec -- CMD\n/,
    ],
    ["sandbox exec vault status -v", "the program to run comes after --", / exec -- CMD\n/],
    ["sandbox rehearse --check x sh", "the program to run comes after --", / rehearse -- CMD\n/],
    [
      "run x --env N=label env -i",
      "the program to run comes after --",
      /next: vault run VAULT -- CMD\n/,
    ],
    ["run x --stdin cat", "the program to run comes after --", /next: vault run VAULT -- CMD\n/],
    [
      "help enviroment",
      "there is no command or topic 'enviroment'",
      / {2}next: vault help environment\n/,
    ],
    [
      "help exitcodes",
      "there is no command or topic 'exitcodes'",
      / {2}next: vault help exit-codes\n/,
    ],
    ["help gte", "there is no command or topic 'gte'", / {2}next: vault help get\n/],
    [
      "help sandbox restart",
      "vault sandbox has no command 'restart'",
      / {2}next: vault help sandbox start\n/,
    ],
  ])("%s", async (line, message, meant) => {
    const { code, out, err } = await run(line);
    expect({ code, out }).toEqual({ code: 2, out: "" });
    expect(err).toContain(`vault: ${message}`);
    expect(err).toMatch(meant);
  });

  test.each([
    ["dance"],
    ["constructor"],
    ["get --wxyz"],
    ["help wxyz"],
    ["sandbox wxyz"],
    ["get -x"],
  ])("%s: nothing is near", async (line) => {
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
      const { code, out, err } = await run(group);
      expect({ code, err, out }).toEqual({
        code: 0,
        err: "",
        out: (await run(`${group} --help`)).out,
      });
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
