import * as z from "zod/mini";
import { auditReplay, auditSummary } from "./audit.ts";
import { count, error, exchange, manyEvent, maybeText, next, recovery, text } from "./exchange.ts";
import { sandbox } from "./sandbox.ts";
import { pathsOf, refuseOther } from "./field-paths.ts";
import { state } from "./state.ts";

const value = z.union([text, z.number(), z.boolean(), z.record(text, z.unknown())]);

/** `value` is null if the setting is not set; a secret is masked. */
const setting = z.object({ key: text, value: z.nullable(value), origin: maybeText });

/** `info`: no problem is known, but it could not be verified. */
const finding = z.object({
  check: text,
  level: z.enum(["ok", "info", "warn", "error"]),
  message: text,
  hint: z.optional(text),
  next,
});

const setup = {
  "config list": z.object({
    settings: z.array(setting),
    profile: text,
    profiles: z.array(text),
    path: text,
  }),
  "config get": z.object({ key: text, value, origin: maybeText }),
  "config set": z.object({ profile: text, key: text, value }),
  "config unset": z.object({ profile: text, key: text, value: z.null() }),
  "config path": z.object({ config: text, keys: text, state: text }),
  "config use": z.object({ profile: text }),
  init: z.object({ profile: text, path: text, current: z.boolean() }),
  doctor: z.object({ checks: z.array(finding) }),
  completion: z.object({ shell: z.enum(["bash", "zsh", "fish"]), script: text }),
  /** A command, a topic, the exit codes, or a schema. */
  help: z.union([
    z.object({ command: text, summary: text, text }),
    z.object({ topic: text, summary: text, text }),
    z.object({
      exitCodes: z.array(
        z.object({ exit: count, code: maybeText, meaning: text, retry: maybeText }),
      ),
    }),
    z.looseObject({ $schema: text }),
  ]),
};

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

export type Finding = z.infer<typeof finding>;
export type DocumentName = keyof typeof documents;

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

export const allSchemas = (): object => ({
  $schema: dialect,
  title: "documents of vault",
  $defs: Object.fromEntries(documentNames.map((name) => [name, body(name)])),
});
