import type { Socket } from "node:net";
import { createServer } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import type { Lab } from "../support/lab.ts";
import { expectError, firstGetArgs, offlineNote, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import { memoryReport } from "../support/run-vault.ts";
import { onLoopback } from "../support/servers.ts";

/** A message of the protocol: its type, and its body. */
function message(type: string, ...body: (Buffer | string)[]): Buffer {
  const whole = Buffer.concat(
    body.map((part) => (typeof part === "string" ? Buffer.from(part) : part)),
  );
  const header = Buffer.alloc(5);
  header.write(type);
  header.writeUInt32BE(whole.length + 4, 1);
  return Buffer.concat([header, whole]);
}

const int32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};

/** An error (`E`) or a notice (`N`) with a SQLSTATE. */
const report = (type: "E" | "N", code: string, text: string): Buffer =>
  message(type, `SERROR\0VERROR\0C${code}\0M${text}\0`, "\0");

const ready = message("Z", "I");

const welcome = Buffer.concat([message("R", int32(0)), ready]);

/** What it does with a client. */
interface HostileServer {
  /** In place of letting a client in. */
  login?: (socket: Socket) => void;
  /** In answer to each request, once it is whole; `syncs` are the ends of transactions in it. */
  answer?: (socket: Socket, syncs: number) => void;
}

/** A server on loopback that speaks the protocol of PostgreSQL as far as it likes. Ended with the test file. Returns the location of a state. */
async function hostilePostgres({ login, answer }: HostileServer): Promise<string> {
  const server = createServer((socket) => {
    let isIn = false;
    socket.on("data", (chunk: Buffer) => {
      if (isIn) answer?.(socket, syncsIn(chunk));
      else if (login === undefined) socket.write(welcome);
      else login(socket);
      isIn = true;
    });
  });
  return `postgres://team@127.0.0.1:${await onLoopback(server)}/vaults`;
}

/** The program writes a request in one piece. */
function syncsIn(chunk: Buffer): number {
  let syncs = 0;
  for (let at = 0; at + 5 <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1))
    syncs += [0x51, 0x53].includes(chunk[at] ?? 0) ? 1 : 0;
  return syncs;
}

/** Writes the same again and again, as fast as it is read. */
function endlessly(socket: Socket, bytes: Buffer): void {
  const many = Buffer.concat(Array.from({ length: Math.ceil(65_536 / bytes.length) }, () => bytes));
  const more = (): void => {
    while (!socket.destroyed && socket.write(many));
    if (!socket.destroyed) socket.once("drain", more);
  };
  more();
}

let lab: Lab;
beforeAll(async () => {
  lab = await openLab(offlineNote);
});

const login = (code: number, more = ""): HostileServer => ({
  login: (socket) => socket.write(message("R", int32(code), more)),
});
const says = (bytes: Buffer): HostileServer => ({ login: (socket) => socket.write(bytes) });

/** To each statement the same. */
const to = (...bytes: Buffer[]): HostileServer => ({
  answer: (socket: Socket, syncs: number) => {
    for (let n = 0; n < syncs; n += 1) socket.write(Buffer.concat([...bytes, ready]));
  },
});

const column = message("T", Buffer.from([0, 1]), "now\0", Buffer.alloc(18));
const row = (text: string | Buffer): Buffer =>
  message("D", Buffer.from([0, 1]), int32(text.length), text);
/** On a slow machine the time for an answer ends first. */
const endless = /sends too much|no answer in time/;
const long = "x".repeat(50_000_000);

type Command = (machine: Machine) => string[];
const first: Command = (machine) => [...firstGetArgs(machine, lab.vault), "--max-wait", "1s"];
const status: Command = () => ["status"];

type Case = [string, HostileServer, RegExp, Command?];

const cases: Case[] = [
  ["a login by Kerberos", login(2), /asks for a login that this program does not offer/],
  ["a login by GSSAPI", login(7), /asks for a login that this program does not offer/],
  ["a login by SSPI", login(9), /asks for a login that this program does not offer/],
  ["a login that nobody knows", login(99), /asks for a login that this program does not offer/],
  [
    "a login by OAuth",
    login(10, "OAUTHBEARER\0\0"),
    /asks for a login that this program does not offer/,
  ],
  ["a login that goes on before it began", login(11, "r=x,s=y,i=1"), /is not PostgreSQL/],
  [
    "an answer of another protocol",
    says(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")),
    /is not PostgreSQL/,
  ],
  ["a message of no length", says(Buffer.from([0x45, 0, 0, 0, 0])), /is not PostgreSQL/],
  ["an error without an end", says(message("E", "SFATAL\0C28000\0Mwrong")), /is not PostgreSQL/],
  ["an error of 50 MB, instead of a login", says(report("E", "28000", long)), /sends too much/],
  [
    "a refusal of many lines",
    says(report("E", "28000", "no\n".repeat(100_000))),
    /refused the connection \(no no no [no ]*…, 28000\)$/,
  ],
  [
    "notices without end, instead of a login",
    { login: (socket) => endlessly(socket, report("N", "00000", "hello")) },
    /sends too much/,
  ],
  ["an error of 50 MB", to(report("E", "XX000", long)), /sends too much/],
  [
    "an error of 900 kB",
    to(report("E", "XX000", "y".repeat(900_000))),
    /the server says y{300}… \(XX000\)$/,
  ],
  [
    "notices without end",
    { answer: (socket) => endlessly(socket, report("N", "01000", "z".repeat(1000))) },
    /sends too much/,
  ],
  ["a row of 65 MB", to(column, row(long + long)), /sends too much/],
  ["conflicts without end", to(report("E", "40001", "again")), /the server says again \(40001\)/],
  ["a division by zero", to(report("E", "22012", "what")), /the server says what \(22012\)/],
  [
    "a row that is there already",
    to(report("E", "23505", "there")),
    /the server says there \(23505\)/,
  ],
  [
    "a division by zero of a query",
    to(report("E", "22012", "what")),
    /the server says what \(22012\)/,
    status,
  ],
  ["no rows", to(message("C", "SELECT 0\0")), /it holds no state$/],
  ["no rows of a query", to(message("C", "SELECT 0\0")), /it holds no state/, status],
  ["a message of an unknown type", to(message("!", "what")), /./],
];

/** Those of which half a gigabyte is read before it is too much. */
const large: Case[] = [
  ["rows without end", { answer: (socket) => endlessly(socket, row("z".repeat(60_000))) }, /./],
  ["rows of an answer without end", rowsWithoutEnd("z".repeat(60_000)), endless, status],
  ["small rows of an answer without end", rowsWithoutEnd(""), endless, status],
];

function rowsWithoutEnd(text: string): HostileServer {
  return {
    answer: (socket) => {
      socket.write(Buffer.concat([message("1"), message("2"), column]));
      endlessly(socket, row(text));
    },
  };
}

async function expectRefused([, server, why, command = first]: Case): Promise<void> {
  const machine = lab.machine({ stateDir: await hostilePostgres(server) });
  const memory = memoryReport();
  const options = { env: memory.env, timeoutMs: 90_000 };
  const result = await machine.start(options, ...command(machine), "--json").exit;
  expectError(result, 14, "state", why);
  expect(errorOf(result).message.length).toBeLessThan(600);
  expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
  expect(result.stdout).toBe("");
  expect(memory.kilobytes()).toBeLessThan(1_800_000);
  expect(lab.service.sandbox.requests()).toEqual([]);
}

describe("a server that sends what it may not is exit 14, with one line, and little memory", () => {
  describe.concurrent("at once", () => {
    test.each(cases)("%s", { timeout: 100_000 }, async (...given) => await expectRefused(given));
  });

  // At the same time, each would take as long as all of them.
  describe("one at a time", () => {
    test.each(large)("%s", { timeout: 100_000 }, async (...given) => await expectRefused(given));
  });
});
