import { describe, expect, test } from "vitest";
import type { VaultReport } from "../../src/documents/audit.ts";
import { failure, line, moment, replayText, reportOfOne } from "./support.ts";

type Client = Record<string, unknown>;

const cron = { externalRef: "cron", ipAddress: "10.0.0.7" };
const billing = { externalRef: "billing", ipAddress: "10.0.0.7" };
const web = { externalRef: "web", ipAddress: "10.0.0.8" };
const nobody = { ipAddress: "10.0.0.7" };

const created = line(0, "CREATE_VAULT");
const start = (at: number, client: Client = {}): string => line(at, "READ_VAULT", client);
const ack = (at: number, client: Client = {}): string => line(at, "ACKNOWLEDGE_READ_VAULT", client);
const refusedAck = (at: number, client: Client = {}): string =>
  ack(at, { outcome: "FAILURE", description: "the token is unknown or has expired", ...client });
const lockedOut = (at: number, client: Client = {}): string =>
  failure(at, { description: "vault is locked", ...client });
const exchange = (at: number, client: Client): string[] => [start(at, client), ack(at + 1, client)];
const unauthorized = (at: number): string =>
  failure(at, { outcome: "401 Unauthorized", description: undefined });
const refusals = (at: number, client: Client): string[] =>
  [1, 2, 3].map((n) => failure(at + n, client));
const order = (number: number): Client => ({ ...nobody, externalRef: `order-${number}` });

const wordsOf = ({ cause, explanation, advice }: VaultReport): string =>
  [cause?.text, cause?.refused?.text, ...explanation, advice.support, advice.developer].join(" ");

const byWeb = `An exchange (reference web from 10.0.0.8), acknowledged at ${moment(21)}, replaced the refused credentials.`;

describe("credentials that were refused until the vault was locked", () => {
  test.each<[string, string[], string, RegExp]>([
    [
      "replaced by another client",
      [...exchange(10, cron), ...exchange(20, web), ...exchange(30, web), ...refusals(40, cron)],
      `${byWeb} The last accepted start with reference cron was at ${moment(10)}.`,
      /The client \(reference cron from 10\.0\.0\.7\) sent .* two clients share the vault/,
    ],
    [
      "replaced by the client's own exchange",
      [...exchange(10, web), ...exchange(20, cron), ...refusals(40, cron)],
      `The client's own exchange (reference cron from 10.0.0.7), acknowledged at ${moment(21)}, replaced the refused credentials.`,
      /its own exchange, acknowledged at .* had replaced/,
    ],
    [
      "of a reference that recurs and was never accepted",
      [failure(9, cron), ...exchange(10, web), ...exchange(20, web), ...refusals(40, cron)],
      `${byWeb} No start with reference cron was accepted before.`,
      /two clients share/,
    ],
    [
      "of a client with a reference for each exchange",
      [...exchange(10, order(1)), ...exchange(20, order(2)), ...refusals(40, order(3))],
      `An exchange from the same address (reference order-2 from 10.0.0.7), acknowledged at ${moment(21)}, replaced the refused credentials.`,
      /its own exchange/,
    ],
    [
      "replaced by another recurring reference from the same address",
      [
        ...exchange(10, billing),
        ...exchange(15, cron),
        ...exchange(20, billing),
        ...refusals(40, cron),
      ],
      `An exchange (reference billing from 10.0.0.7), acknowledged at ${moment(21)}, replaced the refused credentials. The last accepted start with reference cron was at ${moment(15)}. Address 10.0.0.7 is shared: reference billing used it too.`,
      /two clients share/,
    ],
    [
      "of a client without a reference, replaced by its own exchange",
      [...exchange(20, nobody), ...refusals(40, nobody)],
      `An exchange from the same address (address 10.0.0.7), acknowledged at ${moment(21)}, replaced the refused credentials.`,
      /The client \(address 10\.0\.0\.7\)/,
    ],
    [
      "of a start that was not acknowledged",
      [created, start(20, cron), ...refusals(40, cron)],
      `The last accepted start with reference cron, at ${moment(20)}, was never acknowledged: the new credentials in its response never became valid.`,
      /start that was never acknowledged.* Start again with the credentials before them/,
    ],
    [
      "that nothing in the log replaced",
      [created, ...refusals(40, {})],
      "Nothing replaced the credentials of the vault's creation in this log: the refused ones were never valid.",
      /^The client sent credentials that are not current\./,
    ],
  ])("%s", async (_what, lines, text, developer) => {
    const { cause, advice } = await reportOfOne(lines);
    expect(cause?.refused?.text).toBe(text);
    expect(advice.developer).toMatch(developer);
  });

  test("are found among the last 24 items, also from a stream", async () => {
    const before = Array.from({ length: 100 }, (_, at) => exchange(3 * at, cron)).flat();
    const lines = [...before, ...exchange(400, web), ...refusals(500, cron)];
    for (const by of ["path", "stream"] as const) {
      const { reports } = await replayText(lines.join("\n"), {}, by);
      expect(reports[0]?.cause?.refused?.text).toMatch(
        /^An exchange \(reference web .* The last accepted start with reference cron was at /,
      );
    }
  });

  test("nobody says so of a device, a PIN or an unknown reason", async () => {
    const { cause } = await reportOfOne([
      ...exchange(10, cron),
      ...[1, 2, 3].map((at) => unauthorized(20 + at)),
    ]);
    expect(cause?.refused).toBeUndefined();
  });
});

describe("what else the log shows", () => {
  test.each<[string, string[], RegExp, RegExp?]>([
    [
      "acknowledgements that came too late",
      [created, ...[1, 2, 3, 4, 5].flatMap((n) => [start(n * 600), refusedAck(n * 600 + 360)])],
      /5 acknowledgements came too late, 6 minutes after the start: .* 2 minutes\. 5 acknowledgements were refused with “the token is unknown or has expired”\..* Send the end call within 2 minutes/,
      /without acknowledging any/,
    ],
    [
      "acknowledgements that were refused in time",
      [created, ...[1, 2, 3, 4, 5].flatMap((n) => [start(n * 600), refusedAck(n * 600 + 1)])],
      /5 acknowledgements were refused with “the token/,
      /too late/,
    ],
    [
      "starts that nobody acknowledged",
      [created, ...[1, 2, 3, 4, 5].map((n) => start(n, cron))],
      /The client \(reference cron from 10\.0\.0\.7\) started exchanges without acknowledging any/,
    ],
    [
      "failed attempts of another client between them",
      [created, ...[1, 3, 5, 7, 9].flatMap((n) => [start(n, web), failure(n + 1, cron)])],
      /Between these starts 4 failed attempts by reference cron from 10\.0\.0\.7 came: two clients take turns\./,
    ],
    [
      "who is still trying",
      [created, ...refusals(1, cron), ...[5, 6, 7].map((at) => lockedOut(at, cron))],
      /3 more calls came since then, until \S+, mostly by reference cron from 10\.0\.0\.7: a client is still trying\..* which has sent 3 calls since the lock/,
    ],
    [
      "calls just before one that found the vault locked",
      [failure(1), failure(2), lockedOut(3)],
      /or just before, when a call was refused because of the lock, probably after 3 failed attempts in a row \(2 in the log\)/,
      /does not show/,
    ],
    [
      "starts just before one that found the vault locked",
      [created, ...[1, 2, 3, 4].map((at) => start(at)), lockedOut(5)],
      /probably after 5 unacknowledged starts in a row \(4 in the log\)/,
      /does not show/,
    ],
    ["a lock without a cause", [created, lockedOut(3)], /the log does not show the cause/],
    [
      "a log that begins late",
      [start(1), start(2), start(3)],
      /The log begins late: at least 3 of 5 starts and 0 of 3 failed attempts count, and the next may lock/,
      /not urgent/,
    ],
  ])("%s", async (_what, lines, expected, never = /(?!)/) => {
    const words = wordsOf(await reportOfOne(lines));
    expect(words).toMatch(expected);
    expect(words).not.toMatch(never);
  });
});
