import * as z from "zod/mini";
import { auditReplay, auditSummary } from "./audit.ts";
import { error } from "./parts.ts";
import * as exchange from "./exchange.ts";
import * as sandbox from "./sandbox.ts";
import { pathsOf, refuseOther } from "./field-paths.ts";
import * as setup from "./setup.ts";
import * as state from "./state.ts";

/** What commands print as JSON, by the words that name the command; then errors, events and recovery documents. */
const documents = {
  get: exchange.get,
  update: exchange.update,
  run: exchange.dryRun,
  ack: exchange.ack,
  status: state.status,
  guard: state.guard,
  "audit-replay": auditReplay,
  import: state.importing,
  export: state.exporting,
  forget: state.forget,
  label: state.label,
  info: exchange.info,
  create: exchange.create,
  delete: exchange.deletion,
  "state init": state.init,
  "state backup": state.backup,
  "state restore": state.restore,
  "state rekey": state.rekey,
  "state move": state.move,
  "state claim": state.claim,
  "state locks": state.locks,
  doctor: setup.doctor,
  init: setup.init,
  "config list": setup.configList,
  "config get": setup.configGet,
  "config set": setup.configSet,
  "config unset": setup.configUnset,
  "config path": setup.configPath,
  "config use": setup.configUse,
  "sandbox rehearse": sandbox.rehearse,
  "sandbox start": sandbox.start,
  "sandbox env": sandbox.env,
  "sandbox status": sandbox.status,
  "sandbox stop": sandbox.stop,
  "sandbox reset": sandbox.reset,
  "sandbox audit": sandbox.audit,
  "sandbox lock": sandbox.lock,
  "sandbox unlock": sandbox.lock,
  "sandbox fault": sandbox.fault,
  help: setup.help,
  error,
  event: z.union([auditSummary, exchange.manyEvent]),
  recovery: exchange.recovery,
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

/** The JSON Schema of one document. It allows further properties, because adding one breaks no script. */
export const schemaOf = (name: DocumentName): object => ({
  $schema: dialect,
  title: name,
  ...body(name),
});

const byKind: readonly string[] = ["get", "update", "run"];

/**
 * Refuses a --field that no document of a command can have, before anything is done; of an exchange that is done if its kind is known.
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
