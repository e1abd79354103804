import type { Socket } from "node:net";
import { beforeAll, describe, expect, test } from "vitest";
import type { HostileServer } from "../support/hostile-postgres.ts";
import {
  endlessly,
  hostilePostgres,
  int32,
  message,
  ready,
  report,
} from "../support/hostile-postgres.ts";
import type { Lab } from "../support/lab.ts";
import { expectError, firstGetArgs, offlineNote, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import { memoryReport } from "../support/peak-memory.ts";

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
const endless = /sends more than it may|no answer in time/;
const long = "x".repeat(50_000_000);

type Command = (machine: Machine) => string[];
const first: Command = (machine) => [...firstGetArgs(machine, lab.vault), "--max-wait", "1s"];
const status: Command = () => ["status"];

const cases: [string, HostileServer, RegExp, Command?][] = [
  ["a login by Kerberos", login(2), /asks for a login that this program does not offer/],
  ["a login by GSSAPI", login(7), /asks for a login that this program does not offer/],
  ["a login by SSPI", login(9), /asks for a login that this program does not offer/],
  ["a login that nobody knows", login(99), /asks for a login that this program does not offer/],
  [
    "a login by OAuth",
    login(10, "OAUTHBEARER\0\0"),
    /asks for a login that this program does not offer/,
  ],
  ["a login that goes on before it began", login(11, "r=x,s=y,i=1"), /is no PostgreSQL/],
  [
    "an answer of another protocol",
    says(Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n")),
    /is no PostgreSQL/,
  ],
  ["a message of no length", says(Buffer.from([0x45, 0, 0, 0, 0])), /is no PostgreSQL/],
  ["an error without an end", says(message("E", "SFATAL\0C28000\0Mwrong")), /is no PostgreSQL/],
  [
    "an error of 50 MB, instead of a login",
    says(report("E", "28000", long)),
    /sends more than it may/,
  ],
  [
    "a refusal of many lines",
    says(report("E", "28000", "no\n".repeat(100_000))),
    /refused the login \(no no no [no ]*…\)$/,
  ],
  [
    "notices without end, instead of a login",
    { login: (socket) => endlessly(socket, report("N", "00000", "hello")) },
    /sends more/,
  ],
  ["an error of 50 MB", to(report("E", "XX000", long)), /sends more than it may/],
  [
    "an error of 900 kB",
    to(report("E", "XX000", "y".repeat(900_000))),
    /the server says y{300}… \(XX000\)$/,
  ],
  [
    "notices without end",
    { answer: (socket) => endlessly(socket, report("N", "01000", "z".repeat(1000))) },
    /sends more than it may/,
  ],
  ["rows without end", { answer: (socket) => endlessly(socket, row("z".repeat(60_000))) }, /./],
  ["rows of an answer without end", rowsWithoutEnd("z".repeat(60_000)), endless, status],
  ["small rows of an answer without end", rowsWithoutEnd(""), endless, status],
  ["a row of 65 MB", to(column, row(long + long)), /sends more than it may/],
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
  ["no rows", to(message("C", "SELECT 0\0")), /the transaction was rolled back/],
  ["no rows of a query", to(message("C", "SELECT 0\0")), /it holds no state/, status],
  ["a message of an unknown type", to(message("!", "what")), /./],
];

function rowsWithoutEnd(text: string): HostileServer {
  return {
    answer: (socket) => {
      socket.write(Buffer.concat([message("1"), message("2"), column]));
      endlessly(socket, row(text));
    },
  };
}

describe.concurrent(
  "a server that sends what it may not is exit 14, with one line, and little memory",
  () => {
    test.each(cases)("%s", { timeout: 60_000 }, async (_, server, why, command = first) => {
      const machine = lab.machine({ stateDir: await hostilePostgres(server) });
      const memory = memoryReport();
      const result = await machine.start({ env: memory.env }, ...command(machine), "--json").exit;
      expectError(result, 14, "state", why);
      expect(errorOf(result).message.length).toBeLessThan(600);
      expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
      expect(result.stdout).toBe("");
      expect(memory.kilobytes()).toBeLessThan(1_800_000);
      expect(lab.service.sandbox.requests()).toEqual([]);
    });
  },
);
