import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join, relative } from "node:path";
import { describe, expect, test } from "vitest";
import { parseSync } from "rolldown/utils";

/** Imports point one way. What is not listed is not allowed. */
const table: Record<string, Allowance> = {
  main: {
    parts: ["commands/program", "app", "host", "terminal", "errors", "way"],
  },
  app: {
    parts: ["parts", "store", "settings", "documents", "defined"],
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
      "at-a-time",
      "protocol",
      "errors",
      "way",
    ],
    types: ["host"],
  },
  host: { parts: ["terminal", "errors", "way", "actor", "attempt"], types: ["exchange/ports"] },
  errors: { parts: ["defined", "error-kinds"], types: ["documents/exchange"] },
  "error-kinds": { parts: [] },
  actor: { parts: ["attempt"], types: ["documents/exchange"] },
  attempt: { parts: [] },
  defined: { parts: [] },
  duration: { parts: ["errors"] },
  "at-a-time": { parts: [] },
  way: { parts: [] },
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
      "duration",
      "error-kinds",
      "errors",
      "way",
      "actor",
      "attempt",
      "defined",
      "at-a-time",
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
      "duration",
      "errors",
      "way",
      "defined",
      "at-a-time",
    ],
    types: ["app", "parts", "host"],
  },
  // What a command line gives, what its files hold, and what a person is asked.
  input: {
    parts: ["cli", "exchange", "terminal", "settings", "secrets", "protocol", "errors", "way"],
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
      "duration",
      "errors",
      "way",
      "attempt",
      "defined",
    ],
    types: ["documents", "parts", "host"],
    packages: ["zod"],
  },
  // What commands print as JSON.
  documents: {
    parts: ["exchange/states", "audit", "protocol", "error-kinds", "errors"],
    packages: ["zod"],
  },
  cli: {
    parts: [
      "completion",
      "settings/definitions",
      "settings/settings",
      "terminal",
      "protocol",
      "errors",
      "way",
      "defined",
    ],
    types: ["actor", "app", "parts", "host", "exchange"],
    packages: ["commander", "zod", "@inquirer/prompts"],
  },
  protocol: { parts: ["errors", "way"], packages: ["zod"] },
  exchange: {
    parts: ["protocol", "duration", "errors", "way", "defined"],
    types: ["actor"],
    packages: ["zod"],
  },
  service: {
    parts: ["protocol", "duration", "errors", "way", "attempt", "defined"],
    types: ["exchange/ports"],
    packages: ["undici"],
  },
  store: {
    parts: [
      "files",
      "secrets",
      "protocol",
      "exchange/breaker",
      "exchange/counting",
      // In which order a backup would try its credentials.
      "exchange/next-action",
      // The order of lists, and of exchanges.
      "exchange/records",
      "exchange/states",
      "errors",
      "way",
      "actor",
      "attempt",
      "defined",
      "at-a-time",
    ],
    types: ["exchange/ports", "exchange/records", "documents/state"],
    packages: ["node:sqlite", "pg"],
  },
  secrets: { parts: ["files", "protocol", "errors", "way"] },
  files: {
    parts: ["errors", "way", "attempt"],
    types: ["exchange/ports"],
    packages: ["node:sqlite"],
  },
  settings: {
    parts: ["secrets", "files", "protocol", "duration", "errors", "way", "attempt", "defined"],
    types: ["exchange/ports"],
    packages: ["conf", "zod"],
  },
  audit: {
    parts: ["sandbox", "terminal", "protocol", "exchange", "errors", "way", "attempt", "defined"],
    types: ["documents/audit", "store/sqlite/history"],
    packages: ["zod", "chalk", "string-width"],
  },
  // Never exchange or service: client and sandbox must not be able to agree on the same mistake.
  sandbox: {
    parts: ["files", "protocol", "duration", "errors", "attempt", "defined"],
    types: ["documents/sandbox"],
    packages: ["zod"],
  },
  terminal: {
    parts: ["protocol", "duration", "errors", "way", "actor", "attempt"],
    types: ["exchange"],
    packages: ["chalk", "cli-table3", "string-width"],
  },
  completion: {
    parts: ["settings", "terminal", "protocol", "errors", "way", "defined"],
    types: ["cli"],
    packages: ["commander"],
  },
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
  const imports = /from "[./]+(?:src|conformance)\//;
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

/** What a part of the program (a folder of src, or a file directly in it) may import. */
interface Allowance {
  /** Other parts, or single files of them (`exchange/ports`). */
  parts: readonly string[];
  /** The same, but only for types. */
  types?: readonly string[];
  /** Packages, and modules of Node that are kept to few places. */
  packages?: readonly string[];
}

/** Modules of Node that are treated like packages; all others may be used anywhere. */
const keptModules = new Set(["node:sqlite", "node:process", "node:console"]);

interface Import {
  from: string;
  typeOnly: boolean;
}

interface SourceFile {
  imports: Import[];
  /** Rules that the file breaks by itself. */
  broken: string[];
}

/**
 * All that breaks the rules of the layout, one line each: imports that the table does not list, cycles, `process` and
 * `console` outside the host, long files, default exports, barrels, names. Keys of `files` are paths below src.
 */
function layoutViolations(
  files: Readonly<Record<string, string>>,
  table: Readonly<Record<string, Allowance>>,
): string[] {
  const sources = new Map(
    Object.entries(files).map(([path, text]) => [path, readSource(path, text)]),
  );
  const found: string[] = [];
  for (const [path, { imports, broken }] of sources) {
    found.push(...broken.map((rule) => `${path} ${rule}`));
    const allowance = table[partOf(path)];
    if (allowance === undefined) found.push(`${path} is in a part that the table does not know`);
    else for (const each of imports) found.push(...checkImport(path, each, allowance));
  }
  return [...found, ...cycles(sources)];
}

/** `exchange` for exchange/ports.ts, `main` for main.ts. */
function partOf(path: string): string {
  return path.includes("/") ? (path.split("/")[0] ?? "") : basename(path, ".ts");
}

function checkImport(path: string, { from, typeOnly }: Import, allowance: Allowance): string[] {
  if (!from.startsWith(".")) {
    if (from.startsWith("node:") && !keptModules.has(from)) return [];
    const name = from.split("/", from.startsWith("@") ? 2 : 1).join("/");
    return (allowance.packages ?? []).includes(name) ? [] : [`${path} must not import ${name}`];
  }
  if (from === "../package.json" && path === "main.ts") return [];
  if (!from.endsWith(".ts")) return [`${path} imports ${from} without .ts`];
  const target = join(dirname(path), from);
  const part = partOf(target);
  if (part === partOf(path)) return [];
  const names = [part, target.replace(/\.ts$/, "")];
  const allowed = typeOnly ? [...allowance.parts, ...(allowance.types ?? [])] : allowance.parts;
  return names.some((name) => allowed.includes(name))
    ? []
    : [`${path} must not import ${target}${typeOnly ? " (types)" : ""}`];
}

type Node = { type: string } & Record<string, unknown>;

function readSource(path: string, text: string): SourceFile {
  const { program, errors } = parseSync(path, text);
  const file: SourceFile = {
    imports: [],
    broken: errors.map((error) => `does not parse: ${error.message}`),
  };
  const statements = program.body as unknown as Node[];
  visit(program as unknown as Node, undefined, "", (node, parent, key) => {
    const imported = importOf(node);
    if (imported !== undefined) file.imports.push(imported);
    if (node.type === "ImportExpression" && imported === undefined)
      file.broken.push("imports something that is not a plain string");
    // A declaration file describes what others export.
    if (node.type === "ExportDefaultDeclaration" && !path.endsWith(".d.ts"))
      file.broken.push("has a default export");
    if (path !== "host.ts" && isGlobal(node, parent, key))
      file.broken.push(`uses ${String(node["name"])}`);
  });
  if (statements.length > 0 && statements.every(passesOn))
    file.broken.push("only passes on what others export");
  if (!path.split("/").every((name) => /^[a-z0-9]+(-[a-z0-9]+)*(\.d)?(\.ts)?$/.test(name)))
    file.broken.push("has a name that is not kebab-case");
  return file;
}

function visit(
  node: Node,
  parent: Node | undefined,
  key: string,
  see: (node: Node, parent: Node | undefined, key: string) => void,
): void {
  see(node, parent, key);
  for (const [name, value] of Object.entries(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === "object" && child !== null && "type" in child)
        visit(child as Node, node, name, see);
    }
  }
}

/** Static and dynamic imports, re-exports, and `import("…")` in types. */
function importOf(node: Node): Import | undefined {
  const from = (node["source"] as { value?: unknown } | null | undefined)?.value;
  if (typeof from !== "string") return undefined;
  if (node.type === "TSImportType") return { from, typeOnly: true };
  if (node.type === "ImportExpression") return { from, typeOnly: false };
  return { from, typeOnly: node["importKind"] === "type" || node["exportKind"] === "type" };
}

/** A reference to the global itself, also as globalThis.process; not a property or key of that name. */
function isGlobal(node: Node, parent: Node | undefined, key: string): boolean {
  if (node.type !== "Identifier" || !["process", "console"].includes(String(node["name"])))
    return false;
  if (parent?.type === "MemberExpression" && key === "property" && parent["computed"] !== true) {
    return (parent["object"] as Node)["name"] === "globalThis";
  }
  const isKey = key === "key" && parent?.["computed"] !== true && parent?.["shorthand"] !== true;
  return !isKey && parent?.type !== "TSQualifiedName";
}

function passesOn(statement: Node): boolean {
  if (statement.type === "ImportDeclaration" || statement.type === "ExportAllDeclaration")
    return true;
  return statement.type === "ExportNamedDeclaration" && (statement["declaration"] ?? null) === null;
}

/** Each cycle of files once, as `a.ts → b.ts → a.ts`; types count, because a reader follows them too. */
function cycles(sources: ReadonlyMap<string, SourceFile>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const walk = (path: string, trail: readonly string[]): void => {
    if (trail.includes(path))
      found.push(`cycle: ${[...trail.slice(trail.indexOf(path)), path].join(" → ")}`);
    if (trail.includes(path) || done.has(path)) return;
    for (const { from } of sources.get(path)?.imports ?? [])
      if (from.startsWith(".")) walk(join(dirname(path), from), [...trail, path]);
    done.add(path);
  };
  for (const path of sources.keys()) walk(path, []);
  return found;
}
