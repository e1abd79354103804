import { once } from "node:events";
import fs from "node:fs";
import http from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { text } from "node:stream/consumers";
import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { removeLeftovers, replaceFile } from "../files/durable-file.ts";
import { releaseLockFile, tryLockFile } from "../files/lock-file.ts";
import { createFolder } from "../files/private-directory.ts";
import { isLoopback } from "../protocol/address.ts";
import { defaults } from "../protocol/limits.ts";
import { control, removeReadyFile, writeReadyFile, type RunningDocument } from "./control.ts";
import { refusal, trying, type Outcome, type SandboxRequest } from "./outcome.ts";
import { newToken, type State } from "./model.ts";
import { Sandbox, type SandboxOptions } from "./sandbox.ts";

/** `seed`: an existing data folder keeps its own vaults. */
export interface SandboxSettings extends Omit<SandboxOptions, "state" | "save"> {
  /** Default 0: any free port. */
  port?: number | undefined;
  /** `--data`: keeps everything except faults, policy and the request log. */
  dataFolder?: string | undefined;
  readyFile?: string;
}

/** A sandbox with a socket; `vaults` are those at the start. */
export interface RunningSandbox extends RunningDocument, Pick<Sandbox, "faults"> {
  sandbox: Sandbox;
  /** Resolves when somebody has asked for its end (`vault sandbox stop`). */
  stopped: Promise<void>;
  /** Closes every connection at once, releases the data folder and removes the ready file. */
  close(): Promise<void>;
}

/**
 * Opens a sandbox without a socket. The folder of `--data` is made if needed and locked: only one sandbox uses it at a time, until `close`,
 * or until the operating system releases it when the process dies. A save is durable; if it throws, the file keeps its former contents.
 * @throws `invalid-input` for a bad seed or policy, `busy` or `state` for an unusable data folder
 */
export function openSandbox(settings: SandboxSettings): { sandbox: Sandbox; close: () => void } {
  const { dataFolder } = settings;
  if (dataFolder === undefined) return { sandbox: new Sandbox(settings), close: () => undefined };
  const file = path.join(dataFolder, "sandbox.json");
  const unusable = `--data ${dataFolder}: cannot be used`;
  const lock = trying(() => {
    if (!fs.existsSync(dataFolder)) createFolder(path.resolve(dataFolder));
    return tryLockFile(path.join(dataFolder, "sandbox.lock"));
  }, unusable);
  if (lock === null)
    throw new VaultError("busy", `--data ${dataFolder}: another sandbox is using it`, {
      hint: "stop it, or choose another directory",
    });
  const close = (): void => releaseLockFile(lock);
  try {
    removeLeftovers(file);
    const read = () => (fs.existsSync(file) ? fs.readFileSync(file, "utf8") : undefined);
    const saved = trying(read, unusable);
    const state = saved === undefined ? undefined : stateIn(file, saved);
    const save = (changed: State): void => {
      const text = `${JSON.stringify({ version: 1, state: changed })}\n`;
      trying(() => replaceFile(file, text), unusable);
    };
    return { sandbox: new Sandbox({ ...settings, state, save }), close };
  } catch (error) {
    close();
    throw error;
  }
}

/**
 * Starts a sandbox on 127.0.0.1 and writes the ready file. If it throws, nothing is left running.
 * @throws as `openSandbox`, `usage` for an unusable port, `state` for an unwritable ready file
 */
export async function startSandbox(settings: SandboxSettings): Promise<RunningSandbox> {
  const { readyFile, prefix: apiPrefix = defaults.apiPrefix } = settings;
  const { promise: stopped, resolve: stop } = Promise.withResolvers<void>();
  const { sandbox, close: release } = openSandbox(settings);
  const controlToken = newToken();
  let server: http.Server | undefined;
  const ready = (): RunningDocument => ({
    baseUrl: `http://127.0.0.1:${(server?.address() as AddressInfo | undefined)?.port}`,
    application: sandbox.application,
    vaults: sandbox.vaults(),
    apiPrefix,
    controlToken,
  });
  const renewReadyFile = (): void => {
    if (readyFile !== undefined) writeReadyFile(readyFile, ready());
  };
  const running = { sandbox, ready, renewReadyFile, stop };
  const handle = (request: SandboxRequest): Outcome =>
    request.path.startsWith("/sandbox/") ? control(running, request) : sandbox.handle(request);
  const close = async (): Promise<void> => {
    if (readyFile !== undefined) removeReadyFile(readyFile, controlToken);
    server?.closeAllConnections();
    // Calls back, too, if it is closed already.
    await new Promise((resolve) => server?.close(resolve) ?? resolve(undefined));
    release();
  };
  try {
    server = await listen(handle, settings.port ?? 0);
    renewReadyFile();
    return { sandbox, faults: sandbox.faults, ...ready(), stopped, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** @throws `usage` if the port cannot be used */
export async function listen(handle: Sandbox["handle"], port: number): Promise<http.Server> {
  const server = http.createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
    const foreign = refuseForeign(request.headers);
    if (foreign !== undefined) {
      send(request, response, refusal(403, "FOREIGN", [{ message: foreign }]));
      request.resume();
      return;
    }
    const answered = (body: string): void => {
      const answer = handle({
        method: request.method ?? "",
        path: request.url ?? "",
        // Node makes repeated headers one value, except Set-Cookie, which no request here has.
        headers: request.headers as Record<string, string | undefined>,
        body,
        remoteAddress: request.socket.remoteAddress ?? "",
      });
      const { delayMs = 0 } = answer;
      if (delayMs === 0) return send(request, response, answer);
      // Keeps no process alive: a sandbox that is closed answers nobody.
      setTimeout(send, delayMs, request, response, answer).unref();
    };
    // An incomplete request gets no answer.
    void text(request).then(answered, () => request.destroy());
  });
  try {
    await once(server.listen(port, "127.0.0.1"), "listening");
    return server;
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code === "EADDRINUSE" ? "is taken by another program" : `cannot be used (${code})`;
    const hint = "choose another --port, or 0 for any free one";
    throw new VaultError("usage", `--port ${port}: the port ${why}`, { hint, cause });
  }
}

function send(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  { status, headers, body, transport, afterwards }: Outcome,
): void {
  if (transport === "hang") return;
  if (transport === "drop") {
    request.socket.destroy();
    return;
  }
  const [type, text] =
    typeof body === "string"
      ? ["text/html", body]
      : ["application/json; charset=utf-8", JSON.stringify(body)];
  const bytes = Buffer.from(text);
  const length = String(bytes.length);
  response.writeHead(status, { "content-type": type, ...headers, "content-length": length });
  if (transport === "cut")
    response.write(bytes.subarray(0, bytes.length >> 1), () => request.socket.destroy());
  else response.end(bytes, afterwards);
}

/**
 * Returns why a request is refused, if it is. Web pages could reach loopback through a browser:
 * directly (with an `Origin`) or by a host name that resolves to loopback (`Host` is not loopback).
 */
export function refuseForeign(
  headers: Record<string, string | string[] | undefined>,
): string | undefined {
  if (headers["origin"] !== undefined) return "requests with an Origin are refused";
  const name = /^(.+?)(?::\d{1,5})?$/.exec(String(headers["host"]))?.[1] ?? "";
  return isLoopback(name.toLowerCase()) ? undefined : "the Host must be a loopback address";
}

/** What a vault need not have: 0.2.0 writes null for it. */
const described = new Set(["label", "hashedPin", "device", "creditCard", "content"]);

/** @throws `state` for a file that this version of the program has not written */
function stateIn(file: string, text: string): State {
  const withoutNulls = (name: string, value: unknown): unknown =>
    value === null && described.has(name) ? undefined : value;
  type Saved = { version?: number; state?: State } | null;
  const saved = attempt(() => JSON.parse(text, withoutNulls) as Saved);
  if (saved?.version === 1 && saved.state !== undefined) return saved.state;
  const message = `${file}: damaged, or written by another version of this program; it was not changed`;
  const hint = "restore it from a copy, update this program, or choose another directory";
  throw new VaultError("state", message, { hint });
}
