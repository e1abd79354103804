import type { Socket } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import { expectError, firstGetArgs, offlineNote, openLab, type Lab } from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";
import { tcpServer } from "../support/servers.ts";

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
  const { host } = await tcpServer((socket) => {
    let isIn = false;
    socket.on("data", (chunk: Buffer) => {
      if (isIn) answer?.(socket, syncsIn(chunk));
      else if (login === undefined) socket.write(welcome);
      else login(socket);
      isIn = true;
    });
  });
  return `postgres://team@${host}/vaults`;
}

/** The program writes a request in one piece. */
function syncsIn(chunk: Buffer): number {
  let syncs = 0;
  for (let at = 0; at + 5 <= chunk.length; at += 1 + chunk.readUInt32BE(at + 1))
    syncs += [0x51, 0x53].includes(chunk[at] ?? 0) ? 1 : 0;
  return syncs;
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

type Command = (machine: Machine) => string[];
const first: Command = (machine) => [...firstGetArgs(machine, lab.vault), "--max-wait", "1s"];
const status: Command = () => ["status"];

type Case = [string, HostileServer, RegExp, Command?];

const cases: Case[] = [
  ["a login by Kerberos", login(2), /cannot be reached \(Unknown authenticationOk message/],
  ["a login by OAuth", login(10, "OAUTHBEARER\0\0"), /cannot be reached \(SASL: Only /],
  ["a login that goes on before it began", login(11, "r=x,s=y,i=1"), /cannot be reached/],
  [
    "a refusal of many lines",
    says(report("E", "28000", "no\n".repeat(100_000))),
    /refused the connection \(no no no [no ]*, 28000\)$/,
  ],
  [
    "an error of 900 kB",
    to(report("E", "XX000", "y".repeat(900_000))),
    /the server says y{300} \(XX000\)$/,
  ],
  ["conflicts without end", to(report("E", "40001", "again")), /the server says again \(40001\)/],
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

describe("a server that answers what is not expected is exit 14, with one short line", () => {
  test.concurrent.each(cases)(
    "%s",
    { timeout: 100_000 },
    async (_, server, why, command = first) => {
      const machine = lab.machine({ stateDir: await hostilePostgres(server) });
      const result = await machine.vault(...command(machine), "--json");
      expectError(result, "state", why);
      expect(errorOf(result).message.length).toBeLessThan(600);
      expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(result.stdout).toBe("");
      expect(lab.service.sandbox.requests()).toEqual([]);
    },
  );
});
