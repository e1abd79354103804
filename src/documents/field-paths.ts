import * as z from "zod/mini";
import { VaultError } from "../errors.ts";
import { findEndpoint, type Kind, type Operation } from "../protocol/endpoints.ts";
import { responseVault } from "../protocol/answers.ts";
import { dryRun, got, receipt } from "./exchange.ts";

const mostNamed = 3;

/**
 * Refuses, before anything is sent, a --field that no exchange with such a vault can print. Messages say that `flag` gave it.
 * @throws `usage`, naming contents and nearest paths, never credentials: a program would get them
 */
export function checkFieldPath(
  field: string,
  of: { flag: string; operation: Operation; kind: Kind; dryRun: boolean },
): void {
  const { flag, operation, kind } = of;
  const endpoint = findEndpoint(kind, operation, "start");
  if (endpoint === undefined) return;
  const vault = responseVault(endpoint);
  const document = of.dryRun ? dryRun : z.extend(operation === "get" ? got : receipt, { vault });
  const schema = z.toJSONSchema(document, { io: "input", unrepresentable: "any" });
  refuseOther(field, pathsOf(schema), `${flag} ${field}: ${operation} of a ${kind} vault`);
}

/** @throws `usage` for a field that is none of the paths; `of` says what would have it */
export function refuseOther(field: string, paths: readonly string[], of: string): void {
  // Of an array, every place has the same fields.
  const path = field.replaceAll(/\.\d+(?=\.|$)/g, ".0");
  if (
    paths.some(
      (known) => known === path || (known.endsWith(".*") && path.startsWith(known.slice(0, -1))),
    )
  )
    return;
  const near = paths
    .filter((known) => !known.endsWith("*") && !/^vault(?:$|\.credentials)/.test(known))
    .toSorted((a, b) => likeness(path, b) - likeness(path, a))
    .slice(0, mostNamed);
  const contents = paths.filter((known) => /^vault\.(?:content$|creditCard\.)/.test(known));
  const listed = contents.length === 0 ? "" : `contents of the vault: ${contents.join(", ")}; `;
  throw new VaultError("usage", `${of} prints no such field; nothing was sent`, {
    hint: `${listed}the nearest: ${near.join(", ")}; --json shows the document`,
  });
}

interface Schema {
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | false;
  items?: Schema;
  anyOf?: Schema[];
  $ref?: string;
}

/** All paths of a document; `.*` at the end stands for whatever is there, as from the service. */
export function pathsOf(schema: object, prefix = ""): string[] {
  const { properties, additionalProperties, items, anyOf = [], $ref } = schema as Schema;
  const at = (name: string): string => (prefix === "" ? name : `${prefix}.${name}`);
  const inner = Object.entries({ ...properties, ...(items === undefined ? {} : { 0: items }) });
  const isObject = properties !== undefined || typeof additionalProperties === "object";
  const isOpen =
    (isObject && inner.length === 0) || $ref !== undefined || Object.keys(schema).length === 0;
  const open = isOpen ? [at("*")] : [];
  return [
    ...open,
    ...inner.flatMap(([name, value]) => [at(name), ...pathsOf(value, at(name))]),
    ...anyOf.flatMap((one) => pathsOf(one, prefix)),
  ];
}

/** How much two texts are alike, from 0 to 1: the share of their pairs of letters that both have. */
function likeness(a: string, b: string): number {
  const pairs = Array.from({ length: a.length - 1 }, (_, at) => a.slice(at, at + 2));
  const both = pairs.filter((pair) => b.includes(pair));
  return (2 * both.length) / (a.length + b.length);
}
