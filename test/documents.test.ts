import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { settingDefinitions, type SettingDefinition } from "../src/settings/definitions.ts";
import { topics } from "../src/cli/topics.ts";
import { defaults } from "../src/protocol/limits.ts";
import {
  codeBlocks,
  docTexts,
  headings,
  readme,
  section,
  tableRows,
  topicBlocks,
  topicText,
  topicTexts,
} from "./support/markdown.ts";
import { below, program } from "./support/program.ts";
import { parseFault } from "../src/sandbox/faults.ts";
import { plainActions } from "../src/sandbox/faults.ts";
import { completePolicy } from "../src/sandbox/policy.ts";

const root = join(import.meta.dirname, "..");
const names = Object.keys(topicTexts);
const [contributing = "", security = ""] = ["CONTRIBUTING.md", "SECURITY.md"].map((file) =>
  readFileSync(join(root, file), "utf8"),
);
const documents = { README: readme, ...docTexts, ...topicTexts };
const manifest = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as {
  version: string;
  scripts: Record<string, string>;
  engines: { node: string };
  dependencies?: Record<string, string>;
  optionalDependencies?: Record<string, string>;
  devDependencies: Record<string, string>;
};

describe("the README and the topics say what the program does", () => {
  test("the README fits a newcomer's patience: 160 lines", () => {
    expect(readme.trimEnd().split("\n").length).toBeLessThanOrEqual(160);
  });

  test("each topic has a text with a title, and a link in the README", () => {
    expect(names.toSorted()).toEqual(Object.keys(topics).toSorted());
    // vault help NAME would have two answers.
    expect(program.commands.filter((each) => names.includes(each.name()))).toEqual([]);
    for (const name of names) {
      expect(topicText(name)).toMatch(/^# .+\n\n/);
      expect(readme).toContain(`(src/cli/topics/${name}.md)`);
    }
  });

  test("each topic that a document or a message names exists", () => {
    const sources = readdirSync(join(root, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts"))
      .map((file) => readFileSync(join(root, "src", file), "utf8"));
    const texts = [...Object.values(documents), contributing, security, ...sources];
    const named = texts.flatMap((text) =>
      [...text.matchAll(/vault help\s+([a-z][a-z-]*)/g)].map(([, name]) => name),
    );
    expect(named.length).toBeGreaterThan(20);
    const commands = [...program.commands.map((each) => each.name()), "json"];
    expect(named.filter((name = "") => !names.includes(name) && !commands.includes(name))).toEqual(
      [],
    );
  });

  test("the limits that lock a vault", () => {
    const { failedAttempts, unackedStarts } = defaults;
    expect(topicText("recovery")).toContain(
      `after ${failedAttempts} failed attempts in a row, or ${unackedStarts} starts`,
    );
  });

  test("dependencies", () => {
    const rows = [
      ...tableRows(section(readme, "Dependencies")),
      ...tableRows(section(contributing, "Development dependencies")),
    ];
    const installed = Object.keys({
      ...manifest.dependencies,
      ...manifest.optionalDependencies,
      ...manifest.devDependencies,
    });
    expect(new Set(rows.map(([name]) => name))).toEqual(
      new Set(installed.map((name) => `\`${name}\``)),
    );
    expect(rows.filter((cells) => cells.length !== 3 || cells.includes(""))).toEqual([]);
    expect(rows).toHaveLength(installed.length);
  });

  test("every flag and every variable that they name exists", () => {
    const text = Object.values(documents).join("\n");
    const commands = [
      program,
      ...program.commands,
      ...program.commands.flatMap((command) => command.commands),
    ];
    const flags = commands.flatMap((command) => command.options.flatMap(({ long }) => long ?? []));
    const ofNpm = ["--global"];
    const named = text.match(/(?<![\w-])--[a-z][a-z-]+/g) ?? [];
    expect(named.filter((flag) => ![...flags, ...ofNpm, "--help"].includes(flag))).toEqual([]);
    const variables = Object.values<SettingDefinition>(settingDefinitions).map(({ env }) => env);
    const namedVariables = text.match(/VAULTSVC_[A-Z_0-9]+/g) ?? [];
    const ofSaveCommand = ["VAULTSVC_EXCHANGE_ID", "VAULTSVC_GIVEN_SHA256"];
    const ofExec = ["VAULTSVC_VAULT_UUID", "VAULTSVC_VAULT_LABEL", "VAULTSVC_DELIVERY_ID"];
    expect(
      namedVariables.filter(
        (variable) =>
          ![...variables, ...ofSaveCommand, ...ofExec, "VAULTSVC_SANDBOX"].includes(variable),
      ),
    ).toEqual([]);
  });

  test("targets, actions and rules of the sandbox stand in its help", () => {
    const [start, fault] = ["start", "fault"].map((name) =>
      below(program)
        .find((each) => each.name() === name)
        ?.description(),
    );
    const words = (text = ""): string[] => text.match(/[a-z]+(?:-[a-z]+)+|\b[a-z]+\b/g) ?? [];
    const [, targets = "", actions = ""] = (fault ?? "").split("\n\n");
    const known = words(targets.replace(/;.*/s, "")).filter((word) => !["is", "or"].includes(word));
    expect(known).toHaveLength(12);
    for (const target of known) parseFault(`${target}:hang`);
    expect(words(actions)).toEqual(expect.arrayContaining([...plainActions]));
    for (const action of ["status=503,retry-after=1", "error-after=503", "delay=2s"]) {
      expect(words(actions)).toContain(action.split("=")[0]);
      parseFault(`any:${action}`);
    }
    for (const key of Object.keys(completePolicy({}))) expect(start).toContain(`"${key}"`);
  });

  test("documents of JSON are JSON", () => {
    const blocks = [
      ...Object.values(topicTexts).flatMap(topicBlocks),
      ...Object.values({ readme, ...docTexts }).flatMap(codeBlocks),
    ].filter(({ info }) => info === "json");
    expect(blocks.length).toBeGreaterThan(1);
    for (const { code } of blocks) expect(() => JSON.parse(code) as unknown, code).not.toThrow();
  });

  test("scripts, and the Node that is needed", () => {
    const text = Object.values(documents).join("\n");
    for (const [, script = ""] of text.matchAll(/npm (?:run )?(test|(?<=run )[a-z:]+)/g))
      expect(manifest.scripts).toHaveProperty([script]);
    const versions = [...section(readme, "Install").matchAll(/Node (\d+\.\d+)/g)].map(
      ([, version]) => version,
    );
    expect(readme).toContain(`npm install --global ./vault-${manifest.version}.tgz`);
    expect(
      [...manifest.engines.node.matchAll(/(\d+\.\d+)/g)].map(([, version]) => version),
    ).toEqual(versions);
  });
});

describe("the map of the tests", () => {
  const map = readFileSync(join(root, "test", "README.md"), "utf8");

  test("names files that exist, and helpers that they offer", () => {
    const rows = [...map.matchAll(/^\|.*\]\(.*\|$/gm)].map(([row]) => row);
    expect(rows.length).toBeGreaterThan(35);
    const missing = rows.flatMap((row) => {
      const [, helpers = "", files = ""] = row.slice(1, -1).split("|");
      const paths = [...files.matchAll(/\]\(([^)]+)\)/g)].map(([, path = ""]) => path);
      const text = paths.map((path) => readFileSync(join(root, "test", path), "utf8")).join();
      const names = [...helpers.matchAll(/`(?:machine\.)?(\w+)`/g)].map(([, name = ""]) => name);
      return names.filter((name) => !new RegExp(`\\b${name}\\b`).test(text));
    });
    expect(missing).toEqual([]);
    for (const [path] of map.matchAll(/test\/[\w./-]+\w/g))
      expect(existsSync(join(root, path)), path).toBe(true);
  });

  test("names what npm run calls, and every variable that a run of tests reads", () => {
    for (const [, script = ""] of map.matchAll(/npm (?:run )?(test|(?<=run )[a-z:]+)/g))
      expect(manifest.scripts).toHaveProperty([script]);
    const run = ["vitest.config.ts", "test/support/run-vault.ts", "test/support/campaign.ts"];
    const text = run.map((file) => readFileSync(join(root, file), "utf8")).join();
    const read = [...text.matchAll(/process\.env\["(\w+)"\]/g)].map(([, name]) => name);
    expect(read.length).toBeGreaterThan(4);
    for (const name of read.filter((name) => name !== "PATH")) expect(map).toContain(`\`${name}\``);
  });
});

test("the files that CONTRIBUTING.md names exist", () => {
  const sources = ["src", "bin"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" }).map(
      (file) => `/${folder}/${file}`,
    ),
  );
  const named = [...contributing.matchAll(/`([\w./-]+\.(?:ts|js|md))`/g)].map(
    ([, file = ""]) => file,
  );
  expect(named.length).toBeGreaterThan(30);
  const missing = named.filter(
    (file) => !existsSync(join(root, file)) && !sources.some((each) => each.endsWith(`/${file}`)),
  );
  expect(missing).toEqual(["src/cli/topics/NAME.md"]);
});

describe("what comments and documents cite", () => {
  const files = ["bin", "packaging", "src", "test"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
      .filter((file) => /\.(ts|js|cjs|md)$/.test(file))
      .map((file) => join(folder, file)),
  );
  const texts = [...files, "CONTRIBUTING.md", "docs/design.md", "docs/interface.md"].map(
    (file) => ({
      file,
      // A citation may go on in the next line of a comment.
      text: readFileSync(join(root, file), "utf8").replaceAll(/\n\s*(?:\*|\/\/)?\s*/g, " "),
    }),
  );

  test("is a heading of a document in docs", () => {
    const cited = texts.flatMap(({ file, text }) =>
      [...text.matchAll(/docs\/([\w-]+)\.md`?, ([^).,;:"`]+)/g)].map(
        ([, name = "", heading = ""]) => ({ file, name, heading }),
      ),
    );
    expect(cited.length).toBeGreaterThan(40);
    expect(
      cited.filter(({ name, heading }) => !headings(docTexts[name] ?? "").includes(heading)),
    ).toEqual([]);
  });

  test("is no section of a document that is not in the repository", () => {
    // In brackets, so that this line does not match itself.
    const absent =
      /(?<!RFC \d+, )\b[Ss]ections? \d\S*|[Ss]ervice-[f]acts|cli-[c]ontract|\bDESIG[N]\b/g;
    expect(
      texts.flatMap(({ file, text }) => [...text.matchAll(absent)].map(([what]) => [file, what])),
    ).toEqual([]);
  });
});

describe("what the documents must not hold", () => {
  const changes = readFileSync(join(root, "CHANGELOG.md"), "utf8");
  const all = Object.entries({ ...documents, CHANGELOG: changes, SECURITY: security });

  test("paths of one machine, addresses of registries, numbers of real cards", () => {
    const text = all.map(([, markdown]) => markdown).join("\n");
    expect(text.match(/(?<![\w$~.])\/(home|root|Users|work|tmp|opt)\b\S*/g) ?? []).toEqual([]);
    expect(text.match(/https?:\/\/(?!127\.0\.0\.1|[\w.-]*example\.com)\S+/g) ?? []).toEqual([]);
    expect([...new Set(text.match(/\b\d{8,19}\b/g))]).toEqual([
      "5555555555554444",
      "4111111111111111",
    ]);
  });

  test("lines too long to read in an editor, but for tables and output", () => {
    const long = all.flatMap(([name, markdown]) =>
      prose(markdown)
        .filter((line) => line.length > 140)
        .map((line) => `${name}: ${line}`),
    );
    expect(long).toEqual([]);
  });

  test("a version without its entry, or a change of no kind", () => {
    const [, ...released] = [...changes.matchAll(/^## (.*)$/gm)].map(([, heading = ""]) => heading);
    expect(changes).toMatch(/^## \[Unreleased\]$/m);
    for (const heading of released)
      expect(heading).toMatch(/^\[\d+\.\d+\.\d+\] - \d{4}-\d{2}-\d{2}$/);
    if (released.length > 0) expect(released[0]).toContain(`[${manifest.version}]`);
    for (const [, kind] of changes.matchAll(/^### (.*)$/gm))
      expect(kind).toMatch(/^(Added|Changed|Deprecated|Removed|Fixed|Security)$/);
  });
});

/** The lines outside of code blocks and tables. */
function prose(markdown: string): string[] {
  return markdown
    .replaceAll(/^```.*?^```$/gms, "")
    .split("\n")
    .filter((line) => !line.startsWith("|"));
}
