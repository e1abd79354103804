import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import { gzipSync } from "node:zlib";
import * as z from "zod/mini";
import type { AuditItem, SandboxDocument, StartDocument } from "../documents/sandbox.ts";
import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { removeLeftovers, replaceFile } from "../files/durable-file.ts";
import { createFolder } from "../files/private-directory.ts";
import { parseGivenJson, parseJson } from "../protocol/json.ts";
import { checkGiven } from "../protocol/validate.ts";
import { parseFault } from "./faults.ts";
import { trying, type Outcome, type SandboxRequest } from "./outcome.ts";
import { sameSecret, type VaultState } from "./model.ts";
import type { Sandbox } from "./sandbox.ts";

/** A running sandbox, as in the ready file: `vaults` have the credentials that are valid now. */
export interface RunningDocument extends StartDocument {
  apiPrefix: string;
  /** For the control routes: only the owner may read the file. */
  controlToken: string;
}

/**
 * Writes the ready file atomically, with mode 0600, in a folder that is made if needed.
 * @throws `state` if it cannot be written
 */
export function writeReadyFile(file: string, ready: RunningDocument): void {
  trying(() => {
    const folder = path.dirname(path.resolve(file));
    if (!fs.existsSync(folder)) createFolder(folder);
    removeLeftovers(file);
    replaceFile(file, `${JSON.stringify(ready, null, 2)}\n`);
  }, `--ready-file ${file}: cannot be written`);
}

/** Removes the ready file of a sandbox that stops, unless another one has written its own since. */
export function removeReadyFile(file: string, controlToken: string): void {
  if (readReadyFile(file)?.controlToken === controlToken) fs.rmSync(file, { force: true });
}

/** Reads how to reach a running sandbox; undefined if the file is missing or not a ready file. */
function readReadyFile(
  file: string,
): Pick<RunningDocument, "baseUrl" | "controlToken"> | undefined {
  const ready = attempt(() => parseJson(fs.readFileSync(file, "utf8")) as RunningDocument);
  // The token is sent to this machine only.
  const isHere = /^http:\/\/127\.0\.0\.1:\d+$/.test(String(ready?.baseUrl));
  return isHere && typeof ready?.controlToken === "string" ? ready : undefined;
}

/**
 * Calls a control route of the sandbox of a ready file, and returns its document; null if none
 * runs: nothing or something else listens there, or the file is missing or not a ready file.
 * @throws `invalid-input` if it refuses, `network` if it does not answer, `service` if it fails
 */
export async function callSandbox<T>(
  readyFile: string,
  route: `${"GET" | "POST"} ${string}`,
  given: object = {},
): Promise<T | null> {
  const ready = readReadyFile(readyFile);
  if (ready === undefined) return null;
  const [method = "", name = ""] = route.split(" ");
  try {
    const request = http.request(`${ready.baseUrl}/sandbox/${name}`, {
      method,
      headers: { authorization: `Bearer ${ready.controlToken}` },
      // One of its own: no proxy of the environment gets the token.
      agent: new http.Agent(),
      signal: AbortSignal.timeout(answerMs),
    });
    request.end(method === "GET" ? undefined : JSON.stringify(given));
    const [response] = (await once(request, "response")) as [http.IncomingMessage];
    const body = (await json(response)) as { error?: { message: string; hint?: string } };
    if (response.statusCode === 200) return body as T;
    const { message = "", hint } = body.error ?? {};
    if (response.statusCode === 400) throw new VaultError("invalid-input", message, { hint });
    if (response.statusCode === 500) throw new VaultError("service", message);
    return null;
  } catch (error) {
    if (error instanceof VaultError) throw error;
    if ((error as Error).name !== "AbortError") return null;
    const message = `the sandbox at ${ready.baseUrl} does not answer`;
    throw new VaultError("network", message, { cause: error });
  }
}

const answerMs = 30_000;

/** The process that serves a sandbox. What these throw, the route reports. */
interface Controlled {
  sandbox: Sandbox;
  ready: () => RunningDocument;
  /** Called after a reset, when the vaults have new credentials. */
  renewReadyFile: () => void;
  stop: () => void;
}

/**
 * Handles routes under `/sandbox` for `vault sandbox …` in another process, which prints answers.
 * Each requires the control token. Only `GET ready` answers with credentials, none with contents.
 */
export function control(running: Controlled, request: SandboxRequest): Outcome {
  const [, , name = "", ...words] = request.path.split("/");
  const failure = (status: number, message: string, hint?: string): Outcome => ({
    status,
    headers: {},
    body: { error: { message, hint } },
  });
  const given = /^Bearer (.+)$/i.exec(request.headers["authorization"] ?? "")?.[1];
  if (given === undefined || !sameSecret(given, running.ready().controlToken))
    return failure(401, "the control token is missing or wrong");
  const action = actions[`${request.method} ${name}`];
  if (action === undefined || words.length > 1) return failure(404, "no such control route");
  try {
    const body = { ...action(running, decodeURIComponent(words[0] ?? ""), request.body) };
    return { status: 200, headers: {}, body, ...(name === "stop" && { afterwards: running.stop }) };
  } catch (error) {
    if (!(error instanceof VaultError)) return failure(500, "internal failure of the sandbox");
    return failure(error.code === "invalid-input" ? 400 : 500, error.message, error.facts.hint);
  }
}

const wantedFaults = z.object({ faults: z.array(z.string()), clear: z.optional(z.boolean()) });

const actions: Record<string, (running: Controlled, vault: string, body: string) => object> = {
  "GET ready": ({ ready }) => ready(),
  "GET audit": ({ sandbox }) => ({ items: [...sandbox.audit()] satisfies AuditItem[] }),
  "POST stop": ({ ready }) =>
    ({ stopped: ready().baseUrl }) satisfies SandboxDocument<"sandbox stop">,
  "POST reset": ({ sandbox, renewReadyFile }) => {
    sandbox.faults.clear();
    sandbox.reset();
    renewReadyFile();
    return { vaults: sandbox.vaults().length } satisfies SandboxDocument<"sandbox reset">;
  },
  "POST lock": ({ sandbox }, vault) => shown(sandbox.lock(vault)),
  "POST unlock": ({ sandbox }, vault) => shown(sandbox.unlock(vault)),
  // All are checked before anything is cleared.
  "POST fault": ({ sandbox: { faults } }, _, body) => {
    const given = checkGiven(wantedFaults, parseGivenJson(body, "body", "it must be JSON"), "body");
    const rules = given.faults.map(parseFault);
    if (given.clear === true) faults.clear();
    faults.add(rules);
    return { armed: faults.armed } satisfies SandboxDocument<"sandbox fault">;
  },
};

const shown = (vault: VaultState): SandboxDocument<"sandbox lock"> => ({
  uuid: vault.uuid,
  label: vault.label ?? null,
  kind: vault.kind,
  status: vault.state,
});

/** Returns what formats an export of this name, which asks for a form in either case; else undefined. */
export function auditExport(file: string) {
  const [, form, gz] = /\.(ndjson|csv)(\.gz)?$/.exec(file.toLowerCase()) ?? [];
  if (form === undefined) return undefined;
  const asLines = (items: readonly AuditItem[]): string =>
    items.map((item) => `${JSON.stringify(item)}\n`).join("");
  const format = form === "csv" ? asCsv : asLines;
  return (items: readonly AuditItem[]) =>
    gz === undefined ? format(items) : gzipSync(format(items));
}

/** RFC 4180 with a header line; null is an empty cell. */
function asCsv(items: readonly AuditItem[]): string {
  const columns = Object.keys(items[0] ?? {}) as (keyof AuditItem)[];
  const rows = [columns, ...items.map((item) => columns.map((column) => item[column] ?? ""))];
  return rows.map((row) => `${row.map(cell).join(",")}\r\n`).join("");
}

/** Quotes a cell, and defuses a formula: external references are any text from a client. */
function cell(text: string): string {
  const defused = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(defused) ? `"${defused.replaceAll('"', '""')}"` : defused;
}
