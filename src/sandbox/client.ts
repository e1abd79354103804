import fs from "node:fs";
import http from "node:http";
import path from "node:path";
import { once } from "node:events";
import { json } from "node:stream/consumers";
import { VaultError } from "../errors.ts";
import type { StartDocument } from "../documents/sandbox.ts";
import { removeLeftovers, replaceFile } from "../files/durable-file.ts";
import { parseJson } from "../protocol/json.ts";

/** Contents of the ready file, which only its owner may read: it has the token for the control routes. */
export interface ReadyFile extends StartDocument {
  controlToken: string;
}

/**
 * Writes the ready file atomically, with mode 0600, in a folder that is made if needed.
 * @throws `state` if it cannot be written
 */
export function writeReadyFile(file: string, ready: ReadyFile): void {
  try {
    fs.mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    removeLeftovers(file);
    replaceFile(file, `${JSON.stringify(ready, null, 2)}\n`);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const message = `--ready-file ${file}: cannot be written (${code})`;
    throw new VaultError("state", message, { cause });
  }
}

/** Removes the ready file of a sandbox that stops, unless another one has written its own since. */
export function removeReadyFile(file: string, controlToken: string): void {
  if (readReadyFile(file)?.controlToken === controlToken) fs.rmSync(file, { force: true });
}

/** Reads what is needed to reach a running sandbox; undefined where the file is missing or not a ready file. */
function readReadyFile(file: string): Pick<ReadyFile, "baseUrl" | "controlToken"> | undefined {
  try {
    const { baseUrl, controlToken } = parseJson(fs.readFileSync(file, "utf8")) as ReadyFile;
    // The token is sent to this machine only.
    const isOurs = /^http:\/\/127\.0\.0\.1:\d+$/.test(baseUrl) && typeof controlToken === "string";
    return isOurs ? { baseUrl, controlToken } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Calls a control route of the sandbox of a ready file, and returns the document that it answers with. Returns null where none runs (any
 * more): nothing listens there, what has the port now is something else, or the file is not a ready file.
 * @throws `invalid-input` for what the sandbox refuses, `network` where it does not answer, `service` where it fails
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
