import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { completeCommand } from "../../src/cli/program.ts";
import { documentNames, schemaOf, type DocumentName } from "../../src/documents/schemas.ts";

// Holds what the program prints against the schemas that `vault help json` prints, with another validator than made them.

const ajv = new Ajv2020({ allErrors: true });
const validators = new Map<string, ValidateFunction>();

/** The schema without room for more: a property that it does not name has drifted. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const copy = Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [key, closed(value)]),
  );
  return "properties" in copy && copy["type"] === "object"
    ? { additionalProperties: false, ...copy }
    : copy;
}

interface Schema {
  anyOf?: Schema[];
  properties?: Record<string, { type?: string; items?: object }>;
}

/** What a line of NDJSON may be: an entry of a document that begins with a list, or another document. */
function entryOf(name: DocumentName): object {
  const whole = schemaOf(name) as Schema;
  const anyOf = (whole.anyOf ?? [whole]).flatMap((schema): object[] => {
    const properties = Object.values(schema.properties ?? {});
    const items = properties.flatMap(({ type, items: of }) => (type === "array" && of ? [of] : []));
    return properties[0]?.type === "array" ? items : [schema];
  });
  return { anyOf };
}

/** @throws for a document that is not as its schema says */
export const checkDocument = (name: DocumentName, document: unknown): void =>
  check(name, () => schemaOf(name), name, document);

const checkEntry = (name: DocumentName, entry: unknown): void =>
  check(`an entry of ${name}`, () => entryOf(name), name, entry);

function check(what: string, schema: () => unknown, name: DocumentName, document: unknown): void {
  const validate = validators.get(what) ?? ajv.compile(closed(schema()) as object);
  validators.set(what, validate);
  if (validate(document)) return;
  const errors = (validate.errors ?? []).map(
    ({ instancePath, message, params }) => `${instancePath} ${message} ${JSON.stringify(params)}`,
  );
  throw new Error(
    `not ${what === name ? "a document of " : ""}${what}:\n${errors.join("\n")}\n${JSON.stringify(document).slice(0, 2000)}`,
  );
}

interface Printed {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * Checks every JSON document that a command line has printed. What is not a whole document is left alone where the command failed.
 * @throws as `checkDocument`
 */
export function checkPrinted(words: readonly string[], { code, stdout, stderr }: Printed): void {
  if (words[0] === completeCommand) return;
  const args = words.includes("--") ? words.slice(0, words.indexOf("--")) : words;
  const name = nameOf(args);
  const format = formatOf(args) ?? (impliesLines(name, args) ? "ndjson" : undefined);
  if (format === undefined && name !== "export") return;
  if (code !== 0) checkError(stderr);
  const isOther = args.some((word) => /^(-h|--help|-V|--version|--field|--html)(=|$)/.test(word));
  if (name === undefined || isOther || code === null || stdout === "") return;
  const isLines = format === "ndjson" || (args.includes("--all") && format === undefined);
  for (const text of isLines ? stdout.trimEnd().split("\n") : [stdout]) {
    const document = code === 0 ? (JSON.parse(text) as unknown) : parsed(text);
    if (document === undefined) continue;
    const isEvent = typeof document === "object" && document !== null && "event" in document;
    if (isLines && !isEvent) checkEntry(name, document);
    else checkDocument(isEvent ? "event" : name, document);
  }
}

function checkError(stderr: string): void {
  const document = parsed(stderr.trimEnd().split("\n").at(-1) ?? "");
  if (typeof document === "object" && document !== null && "error" in document)
    checkDocument("error", document);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

/** The last one wins, as for the program. */
function formatOf(args: readonly string[]): "json" | "ndjson" | undefined {
  if (args.includes("--json")) return "json";
  const given = args.flatMap((word, index) => {
    if (word === "-o" || word === "--output") return [args[index + 1] ?? ""];
    return [...word.matchAll(/^(?:--output=|-o=?)(.+)$/g)].map(([, value = ""]) => value);
  });
  const format = given.at(-1);
  return format === "json" || format === "ndjson" ? format : undefined;
}

/** Whether a command with many vaults prints lines without being told to. */
const impliesLines = (name: DocumentName | undefined, args: readonly string[]): boolean =>
  ["get", "update", "ack"].includes(name ?? "") &&
  !args.includes("--dry-run") &&
  args.some((word) => /^--(from|all|exec|out-dir)(=|$)/.test(word));

/** The command that the words name, options before it included. */
function nameOf(args: readonly string[]): DocumentName | undefined {
  const names = documentNames.filter((name) => !["error", "event", "recovery"].includes(name));
  for (const [index, word] of args.entries()) {
    const both = `${word} ${args[index + 1] ?? ""}`;
    const found = names.find((name) => name === both) ?? names.find((name) => name === word);
    if (found !== undefined) return found;
    if (["sandbox", "config", "state"].includes(word)) return undefined;
  }
  return undefined;
}
