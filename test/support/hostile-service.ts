import type { IncomingHttpHeaders } from "node:http";
import type { Socket } from "node:net";
import type { Pair } from "../../src/protocol/answers.ts";
import type { Kind } from "../../src/protocol/endpoints.ts";
import { application, uuid } from "./examples.ts";
import { card } from "./lab.ts";
import { machineFor, type Machine } from "./machine.ts";
import { spellings } from "./secret-search.ts";
import { httpServer } from "./servers.ts";

type Json = Record<string, unknown>;

/** A request as it came. */
interface Asked {
  method: string;
  path: string;
  headers: IncomingHttpHeaders;
  body: string;
  /** The last word of the path: `get-start`, `get-end`, `update-start`, `info`, …; `offline` and `online` of a create. */
  what: string;
}

export interface Answered {
  /** What a service without malice would answer. */
  good: Json;
  /** The connection, to write raw bytes to. */
  socket: Socket;
  /** Answers with this body (an object is written as JSON), 200 and JSON unless it is said otherwise. */
  send(body: Json | string | Buffer, status?: number, headers?: Record<string, string>): void;
}

export type Malice = (asked: Asked, answered: Answered) => void;

export interface HostileService {
  baseUrl: string;
  application: { uuid: string; apiKey: string };
  asked: Asked[];
  /** What is done from now on. */
  be(malice: Malice): void;
}

export const kind: Malice = (_, { good, send }) => send(good);

/** Refuses everything and repeats all that it was sent: values of the body and headers, in every spelling. */
export const echoing =
  (status: number, property: string): Malice =>
  ({ body, headers }, { send }) => {
    const errorReasons = [
      body,
      ...stringsIn(JSON.parse(body)),
      ...Object.values(headers).map(String),
    ];
    const message = Object.values(spellings)
      .flatMap((spell) => errorReasons.map(spell))
      .join(" | ");
    const detailedErrors = [{ property, message, errorReasons }];
    const responseStatus = { status: "ERROR", code: "ECHO", detailedErrors };
    send({ responseStatus, errorUuid: "123e4567-e89b-42d3-a456-426614174000" }, status);
  };

function stringsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(stringsIn) : [];
}

/**
 * A service that takes every request and answers as it is told: well (at first), or with malice. It knows no credentials:
 * each start hands out the next pair. Stopped when the test file has ended.
 */
export async function startHostileService(malice: Malice = kind): Promise<HostileService> {
  let current = malice;
  let pairs = 0;
  const service: HostileService = {
    baseUrl: "",
    application,
    asked: [],
    be: (next) => {
      current = next;
    },
  };
  const { url } = await httpServer((received, response, { socket }) => {
    const { method = "", url: path = "", headers, body } = received;
    const asked = { method, path, headers, body, what: path.split("/").at(-1) ?? "" };
    service.asked.push(asked);
    pairs += 1;
    current(asked, {
      good: goodAnswer(asked, pairs),
      socket,
      send: (content, status = 200, more = {}) => {
        const isBytes = typeof content === "string" || Buffer.isBuffer(content);
        response.writeHead(status, { "content-type": "application/json", ...more });
        response.end(isBytes ? content : JSON.stringify(content));
      },
    });
  });
  return Object.assign(service, { baseUrl: url });
}

function goodAnswer({ path, what }: Pick<Asked, "path" | "what">, n: number): Json {
  const responseStatus = { status: "SUCCESS" };
  if (what.endsWith("-end")) return { responseStatus };
  const uuid = /[0-9a-fA-F-]{36}/.exec(path)?.[0] ?? "5a4b3c2d-1e0f-4a1b-8c2d-3e4f5a6b7c8d";
  const dates = { dateCreated: "2026-01-01T00:00:00Z", autoLockDate: "2099-01-01T00:00:00Z" };
  if (what === "info") return { responseStatus, ...dates };
  const contents =
    what === "update-start"
      ? {}
      : path.includes("credit-card")
        ? { creditCard: card }
        : { content: "the text" };
  const credentials = {
    encryptedData: `data-${n}+of/the-hostile-service=`,
    payload: `payload-${n}+of/the-hostile-service=`,
  };
  const vault = { credentials, uuid, ...contents, ...dates };
  const transactionToken = {
    expiry: new Date(Date.now() + 300_000).toISOString(),
    timeToExpire: 300,
    token: `token-${n}+of/the-service=`,
  };
  return what.endsWith("-start")
    ? { responseStatus, transactionToken, vault }
    : { responseStatus, vault };
}

/** The vault of a good answer with other fields. */
export const withVault = (good: Json, change: Json): Json => ({
  ...good,
  vault: { ...(good["vault"] as Json), ...change },
});

export const oldPair: Pair = { encryptedData: "the-old-data", payload: "the-old-payload" };

/** The machine comes to know a vault by `oldPair`. */
export async function importOld(machine: Machine, uuid: string, vaultKind: Kind): Promise<void> {
  await machine.ok("import", uuid, ...machine.given(oldPair, vaultKind));
}

/** A hostile service, and a machine that knows one of its vaults by `oldPair`. Nothing is waited for. */
export async function hostileWorld(): Promise<{
  service: HostileService;
  machine: Machine;
  uuid: string;
}> {
  const service = await startHostileService();
  const machine = machineFor(service, {
    env: { PAIR: JSON.stringify(oldPair), CARD: JSON.stringify(card), VAULTSVC_MAX_WAIT: "0s" },
  });
  await importOld(machine, uuid, "generic/offline");
  return { service, machine, uuid };
}
