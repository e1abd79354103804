import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import type { Allowance } from "./support/architecture.ts";
import { layoutViolations } from "./support/architecture.ts";

/** STYLE, Layout: imports point one way. What is not listed is not allowed. */
const table: Record<string, Allowance> = {
  main: { parts: ["commands/program", "commands/version", "app", "host", "terminal", "errors"] },
  app: {
    parts: ["parts", "store", "settings", "completion"],
    types: ["host"],
  },
  // Makes the adapters: service is in no other row.
  parts: {
    parts: [
      "service",
      "store",
      "secrets",
      "files",
      "settings",
      "exchange",
      "cli",
      "terminal",
      "defined",
    ],
    types: ["host", "protocol", "errors"],
  },
  host: { parts: ["terminal", "errors"], types: ["exchange/ports"] },
  errors: { parts: ["defined"], types: ["exchange/states"] },
  defined: { parts: [] },
  suggest: { parts: [] },
  // Each reads as the help does: the file or folder of a command has its name.
  commands: {
    parts: [
      "runs",
      "input",
      "handover",
      "documents",
      "cli",
      "exchange",
      "audit",
      "completion",
      "sandbox",
      "terminal",
      "settings",
      "secrets",
      "files",
      "protocol",
      "errors",
      "defined",
      "suggest",
    ],
    types: ["app", "parts", "host"],
    packages: ["commander", "zod"],
  },
  // The exchange of one vault, and of many.
  runs: {
    parts: [
      "input",
      "handover",
      "documents",
      "cli",
      "exchange",
      "terminal",
      "settings",
      "protocol",
      "errors",
      "defined",
    ],
    types: ["app", "parts", "host"],
  },
  // What a command line gives, what its files hold, and what a person is asked.
  input: {
    parts: ["cli", "exchange", "terminal", "settings", "secrets", "protocol", "errors"],
    types: ["parts"],
    packages: ["zod"],
  },
  // Where contents and credentials go before they are acknowledged.
  handover: {
    parts: [
      "input",
      "cli",
      "exchange",
      "terminal",
      "settings",
      "files",
      "protocol",
      "errors",
      "defined",
    ],
    types: ["documents", "parts", "host"],
    packages: ["zod"],
  },
  // What commands print as JSON.
  documents: {
    parts: ["exchange/states", "audit", "protocol", "errors", "suggest"],
    packages: ["zod"],
  },
  cli: {
    parts: [
      "completion",
      "settings/definitions",
      "terminal",
      "protocol",
      "errors",
      "defined",
      "suggest",
    ],
    types: ["app", "parts", "host", "exchange"],
    packages: ["commander", "zod", "@inquirer/prompts", "marked"],
  },
  protocol: { parts: ["errors"], packages: ["zod"] },
  exchange: { parts: ["protocol", "errors", "defined"], packages: ["zod"] },
  service: {
    parts: ["protocol", "errors", "defined"],
    types: ["exchange/ports"],
    packages: ["undici"],
  },
  store: {
    parts: [
      "files",
      "secrets",
      "protocol",
      "exchange/breaker",
      "exchange/states",
      "errors",
      "defined",
    ],
    types: ["exchange/ports", "exchange/records"],
    packages: ["node:sqlite", "pg"],
  },
  secrets: { parts: ["files", "protocol", "errors"], packages: ["@napi-rs/keyring"] },
  files: { parts: ["errors"], types: ["exchange/ports"], packages: ["node:sqlite"] },
  settings: {
    parts: ["secrets", "files", "protocol", "errors", "defined", "suggest"],
    types: ["exchange/ports", "store/keys/rekey"],
    packages: ["conf", "zod"],
  },
  audit: {
    parts: ["sandbox", "terminal", "protocol", "exchange", "errors", "defined"],
    types: ["documents/audit", "store/journal/items"],
    packages: ["zod", "csv-parse", "stream-json", "stream-chain", "chalk", "string-width"],
  },
  // Never exchange or service: client and sandbox must not be able to agree on the same mistake.
  sandbox: {
    parts: ["files", "protocol", "errors", "defined"],
    packages: ["zod", "node:sqlite", "undici"],
  },
  terminal: {
    parts: ["protocol", "errors"],
    types: ["exchange"],
    packages: ["chalk", "cli-table3", "string-width"],
  },
  completion: { parts: ["settings", "protocol", "errors", "defined"] },
};

const src = join(import.meta.dirname, "..", "src");

function readTree(): Record<string, string> {
  const entries = readdirSync(src, { recursive: true, withFileTypes: true }).filter(
    (entry) => entry.isFile() && !entry.name.endsWith(".md"),
  );
  const paths = entries.map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(paths.map((path) => [relative(src, path), readFileSync(path, "utf8")]));
}

test("the layout of src", () => {
  expect(layoutViolations(readTree(), table)).toEqual([]);
});

test("the model of the protocol takes nothing from the program but to be compared with it", () => {
  const model = join(import.meta.dirname, "torture", "model");
  const files = readdirSync(model, { recursive: true, encoding: "utf8" }).filter(
    (file) => file.endsWith(".ts") && !file.startsWith("conformance"),
  );
  expect(files.length).toBeGreaterThan(15);
  const imports = /from "[./]+src\//;
  expect(files.filter((file) => imports.test(readFileSync(join(model, file), "utf8")))).toEqual([]);
});

describe("the check of the layout", () => {
  const fine = {
    "main.ts":
      'import packageJson from "../package.json" with { type: "json" };\nimport { a } from "./commands/a.ts";\nexport const b = [a, packageJson];\n',
    "host.ts": "export const pid = process.pid;\n",
    "commands/a.ts":
      'import type { D } from "../deps.ts";\nimport { join } from "node:path";\nexport const a = (d: D): string => join(d.process);\n',
    "deps.ts": "export interface D { process: string }\n",
  };
  const rules: Record<string, Allowance> = {
    main: { parts: ["commands"] },
    host: { parts: [] },
    deps: { parts: ["one/ports"], packages: ["zod"] },
    commands: { parts: [], types: ["deps"] },
    one: { parts: [] },
  };

  test("finds nothing where nothing is wrong", () => {
    expect(layoutViolations(fine, rules)).toEqual([]);
  });

  test.each<[string, Record<string, string>, string]>([
    [
      "an import that is not listed",
      { "commands/b.ts": 'import { b } from "../main.ts"; b;' },
      "commands/b.ts must not import main.ts",
    ],
    [
      "a value where types are allowed",
      { "commands/b.ts": 'import { D } from "../deps.ts"; D;' },
      "commands/b.ts must not import deps.ts",
    ],
    [
      "a dynamic import",
      { "commands/b.ts": 'await import("../host.ts");' },
      "commands/b.ts must not import host.ts",
    ],
    [
      "an import in a type",
      { "one/b.ts": 'export type X = import("../deps.ts").D;' },
      "one/b.ts must not import deps.ts (types)",
    ],
    [
      "a re-export",
      { "one/b.ts": 'export const x = 1; export { D } from "../deps.ts";' },
      "one/b.ts must not import deps.ts",
    ],
    [
      "a file beside the one allowed",
      { "deps.ts": 'import "./one/other.ts"; export type D = 1;' },
      "deps.ts must not import one/other.ts",
    ],
    [
      "an import by a computed name",
      { "one/b.ts": "await import(`./${1}.ts`);" },
      "one/b.ts imports something that is not a plain string",
    ],
    [
      "a package",
      { "one/b.ts": 'import * as z from "zod/mini"; z;' },
      "one/b.ts must not import zod",
    ],
    [
      "a package with a scope",
      { "one/b.ts": 'import "@inquirer/prompts";' },
      "one/b.ts must not import @inquirer/prompts",
    ],
    ["SQLite", { "one/b.ts": 'import "node:sqlite";' }, "one/b.ts must not import node:sqlite"],
    [
      "process as a module",
      { "one/b.ts": 'import { env } from "node:process"; env;' },
      "one/b.ts must not import node:process",
    ],
    ["process", { "one/b.ts": "export const x = process.env;" }, "one/b.ts uses process"],
    [
      "process in short form",
      { "one/b.ts": "export const x = { process };" },
      "one/b.ts uses process",
    ],
    [
      "process by way of globalThis",
      { "one/b.ts": "export const x = globalThis.process.env;" },
      "one/b.ts uses process",
    ],
    ["console", { "one/b.ts": "console.log(1);" }, "one/b.ts uses console"],
    ["a missing extension", { "one/b.ts": 'import "./c";' }, "one/b.ts imports ./c without .ts"],
    ["a default export", { "one/b.ts": "export default 1;" }, "one/b.ts has a default export"],
    [
      "a barrel",
      { "one/b.ts": 'export * from "./c.ts";', "one/c.ts": "" },
      "one/b.ts only passes on what others export",
    ],
    [
      "a barrel in two steps",
      { "one/b.ts": 'import { c } from "./c.ts"; export { c };' },
      "one/b.ts only passes on what others export",
    ],
    [
      "another case",
      { "one/fileName.ts": "let x = 1;" },
      "one/fileName.ts has a name that is not kebab-case",
    ],
    [
      "a new folder",
      { "new/b.ts": "let x = 1;" },
      "new/b.ts is in a part that the table does not know",
    ],
    [
      "a cycle",
      {
        "one/a.ts": 'import "./b.ts";',
        "one/b.ts": 'import type { C } from "./c.ts"; export type B = C;',
        "one/c.ts": 'import "./b.ts"; export type C = 1;',
      },
      "cycle: one/b.ts → one/c.ts → one/b.ts",
    ],
    ["what does not parse", { "one/b.ts": "let = ;" }, "one/b.ts does not parse: Unexpected token"],
  ])("finds %s", (_what, files, violation) => {
    expect(layoutViolations({ ...fine, ...files }, rules)).toContain(violation);
  });
});
