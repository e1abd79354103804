import * as z from "zod/mini";
import { auditReplay, auditSummary } from "./audit.ts";
import { error } from "./parts.ts";
import { exchange, manyEvent, recovery } from "./exchange.ts";
import { sandbox } from "./sandbox.ts";
import { pathsOf, refuseOther } from "./field-paths.ts";
import { setup } from "./setup.ts";
import { state } from "./state.ts";

/** What commands print as JSON, by command words; then errors, events and recovery documents. */
const documents = {
  ...exchange,
  ...state,
  "audit-replay": auditReplay,
  ...setup,
  ...sandbox,
  error,
  event: z.union([auditSummary, manyEvent]),
  recovery,
} as const;

export type DocumentName = keyof typeof documents;

/** What a command prints as JSON. */
export type Document<Name extends DocumentName> = z.infer<(typeof documents)[Name]>;

export const documentNames = Object.keys(documents) as DocumentName[];

const dialect = "https://json-schema.org/draft/2020-12/schema";

const body = (name: DocumentName): object => {
  const { $schema: _, ...schema } = z.toJSONSchema(documents[name], { io: "input" });
  return schema;
};

/** JSON Schema of a document. It allows further properties: adding one breaks no script. */
export const schemaOf = (name: DocumentName): object => ({
  $schema: dialect,
  title: name,
  ...body(name),
});

const byKind: readonly string[] = ["get", "update", "run"];

/**
 * Refuses at once a --field that a command cannot print; `checkFieldPath` does so for exchanges.
 * @throws `usage` with the nearest paths
 */
export function checkField(command: string, field: string): void {
  const name = documentNames.find((each) => each === command && !byKind.includes(each));
  if (name !== undefined)
    refuseOther(field, pathsOf(body(name)), `--field ${field}: vault ${name}`);
}

/** One JSON Schema with all documents as `$defs`. */
export const allSchemas = (): object => ({
  $schema: dialect,
  title: "documents of vault",
  $defs: Object.fromEntries(documentNames.map((name) => [name, body(name)])),
});
