import { basename, dirname, join } from "node:path/posix";
import { parseSync } from "rolldown/utils";

/** What a part of the program (a folder of src, or a file directly in it) may import. */
export interface Allowance {
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
export function layoutViolations(
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
    for (const { from } of sources.get(path)?.imports ?? []) {
      if (from.startsWith(".")) walk(join(dirname(path), from), [...trail, path]);
    }
    done.add(path);
  };
  for (const path of sources.keys()) walk(path, []);
  return found;
}
