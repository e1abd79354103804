import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { printed } from "../support/audit-prints.ts";
import { tempDir } from "../support/cleanup.ts";
import {
  failure,
  line,
  moment,
  replayText,
  replayWith,
  reportOfOne,
  vaultUuid,
} from "./support.ts";
import type { Refused } from "../../src/documents/audit.ts";

type Client = Record<string, unknown>;

const cron = { externalRef: "cron", ipAddress: "10.0.0.7" };
const billing = { externalRef: "billing-2", ipAddress: "10.0.0.7" };
const web = { externalRef: "web", ipAddress: "10.0.0.8" };

const start = (at: number, client: Client = {}): string => line(at, "READ_VAULT", client);
const ack = (at: number, client: Client = {}): string => line(at, "ACKNOWLEDGE_READ_VAULT", client);
const exchange = (at: number, client: Client): string[] => [start(at, client), ack(at + 1, client)];
const refusals = (at: number, client: Client): string[] =>
  [1, 2, 3].map((n) => failure(at + n, client));

const refusedIn = async (lines: readonly string[], options = {}): Promise<Refused | undefined> =>
  (await reportOfOne(lines, options)).cause?.refused;

const replacedByWeb = `Exchange with reference web from 10.0.0.8, acknowledged at ${moment(21)}, replaced the refused credentials.`;

describe("credentials that were refused until the vault was locked", () => {
  test.each<[string, string[], string]>([
    [
      "replaced by another client",
      [...exchange(10, cron), ...exchange(20, web), ...exchange(30, web), ...refusals(40, cron)],
      `${replacedByWeb} The last accepted start with reference cron was at ${moment(10)}.`,
    ],
    [
      "replaced by the client's own exchange",
      [...exchange(10, web), ...exchange(20, cron), ...refusals(40, cron)],
      `The client's own exchange with reference cron from 10.0.0.7, acknowledged at ${moment(21)}, replaced the refused credentials.`,
    ],
    [
      "of a client that was never accepted",
      [...exchange(10, web), ...exchange(20, web), ...refusals(40, cron)],
      `${replacedByWeb} No start with reference cron or from 10.0.0.7 was accepted before.`,
    ],
    [
      "of a client with a reference for each exchange",
      [
        ...exchange(10, { ...cron, externalRef: "order-1" }),
        ...exchange(20, web),
        ...refusals(40, { ...cron, externalRef: "order-2" }),
      ],
      `${replacedByWeb} No start with reference order-2 was accepted before. Address 10.0.0.7 is shared: reference order-1 used it too, last accepted at ${moment(10)}.`,
    ],
    [
      "replaced by another reference from the same address",
      [...exchange(10, billing), ...exchange(20, billing), ...refusals(40, cron)],
      `Exchange with reference billing-2 from 10.0.0.7, acknowledged at ${moment(21)}, replaced the refused credentials. No start with reference cron was accepted before. Address 10.0.0.7 is shared: reference billing-2 used it too, last accepted at ${moment(20)}.`,
    ],
    [
      "that were its own, replaced by another reference from the same address",
      [...exchange(10, cron), ...exchange(20, billing), ...refusals(40, cron)],
      `Exchange with reference billing-2 from 10.0.0.7, acknowledged at ${moment(21)}, replaced the refused credentials. The last accepted start with reference cron was at ${moment(10)}. Address 10.0.0.7 is shared: reference billing-2 used it too.`,
    ],
    [
      "of a client without a reference, replaced by one with a reference from its address",
      [...exchange(20, billing), ...refusals(40, { ipAddress: cron.ipAddress })],
      `Exchange with reference billing-2 from 10.0.0.7, acknowledged at ${moment(21)}, replaced the refused credentials. Address 10.0.0.7 is shared: reference billing-2 used it too, last accepted at ${moment(20)}.`,
    ],
    [
      "of a client without a reference, replaced by its own exchange",
      [...exchange(20, { ipAddress: "10.0.0.7" }), ...refusals(40, { ipAddress: "10.0.0.7" })],
      `The client's own exchange from 10.0.0.7, acknowledged at ${moment(21)}, replaced the refused credentials.`,
    ],
    [
      "of a start that was not acknowledged",
      [...exchange(10, cron), start(20, cron), ...refusals(40, cron)],
      `The client's last accepted start, at ${moment(20)}, was not acknowledged: its new credentials never became valid.`,
    ],
    [
      "replaced after a start that was not acknowledged",
      [start(10, cron), ...exchange(20, web), ...refusals(40, cron)],
      `${replacedByWeb} The last accepted start with reference cron was at ${moment(10)}.`,
    ],
    ["of an unknown client", [...exchange(20, web), ...refusals(40, {})], replacedByWeb],
    [
      "replaced before the log begins",
      refusals(40, cron),
      "The log does not show which exchange replaced the refused credentials. No start with reference cron or from 10.0.0.7 was accepted before.",
    ],
    [
      "replaced by an exchange whose start is missing",
      [ack(21, web), ...refusals(40, {})],
      replacedByWeb,
    ],
  ])("%s", async (_what, lines, text) => {
    expect((await refusedIn([line(0, "CREATE_VAULT"), ...lines]))?.text).toBe(text);
  });

  test("name who acted, in the page and its drawing", async () => {
    const { result, reports } = await replayText(
      [...exchange(10, billing), ...refusals(40, cron)].join("\n"),
      { timeline: "vault" },
    );
    expect(reports[0]?.cause?.refused).toMatchObject({ sharedWith: ["billing-2"] });
    const { page } = printed({ summary: result.summary, vaults: reports });
    const drawn = [...page.matchAll(/<th scope="row"><bdi>([^<]*)<\/bdi><\/th><td><svg/g)];
    expect(drawn.map(([, name]) => name)).toEqual([
      "billing-2 from 10.0.0.7",
      "cron from 10.0.0.7",
    ]);
  });

  test("name the items", async () => {
    const refused = await refusedIn([
      ...exchange(10, cron),
      ...exchange(20, web),
      ...refusals(40, cron),
    ]);
    expect(refused).toMatchObject({
      replacedBy: {
        start: { line: 3, externalRef: "web" },
        acknowledgement: { line: 4, at: moment(21) },
      },
      lastAccepted: { line: 1, event: "read", address: "10.0.0.7" },
    });
  });

  test("are not traced beyond the first refusal, before --since, or for other locks", async () => {
    const log = [
      ...exchange(10, web),
      ...refusals(20, cron),
      line(30, "UNLOCK_VAULT"),
      ...exchange(40, web),
      ...refusals(50, cron),
    ];
    const until = { until: Date.parse(moment(25)) };
    expect((await refusedIn(log, until))?.replacedBy?.acknowledgement.at).toBe(moment(11));
    expect((await refusedIn(log))?.replacedBy?.acknowledgement.at).toBe(moment(41));
    expect((await refusedIn(log, { since: Date.parse(moment(45)) }))?.replacedBy).toBeUndefined();
    expect(
      (await reportOfOne([...exchange(10, web), line(20, "LOCK_VAULT")])).cause,
    ).not.toHaveProperty("refused");
  });

  test("are traced in items that are out of order or repeated", async () => {
    const log = [...exchange(10, cron), ...exchange(20, web), ...refusals(40, cron)];
    const expected = `${replacedByWeb} The last accepted start with reference cron was at ${moment(10)}.`;
    expect((await refusedIn(log.toReversed()))?.text).toBe(expected);
    expect((await refusedIn(log.flatMap((each) => [each, each])))?.text).toBe(expected);
  });
});

describe("an input", () => {
  const other = line(100, "READ_VAULT", { vaultUuid: vaultUuid(2) });
  const log = [...exchange(20, web), ...refusals(40, cron)].join("\n");

  test("that is a stream or a pipe is not read again", async () => {
    const { reports } = await replayText(log, {}, "stream");
    expect(reports[0]?.cause).toMatchObject({ rule: "failed-attempts" });
    expect(reports[0]?.cause).not.toHaveProperty("refused");
    const path = join(tempDir("pipe"), "items");
    execFileSync("mkfifo", [path]);
    const writing = import("node:fs/promises").then(
      async ({ writeFile }) => await writeFile(path, log),
    );
    const result = await replayWith({ inputs: [{ name: "pipe", path }] });
    await writing;
    expect([...result.vaults({ problems: true })][0]?.cause).not.toHaveProperty("refused");
    await result.close();
  });

  test("of very many items is read again for one vault only", async () => {
    const many = Array.from({ length: 250_000 }, (_, at) =>
      other
        .replace("id-100-READ_VAULT", String(at))
        .replace(moment(100), new Date(Date.parse(moment(100)) + at).toISOString()),
    );
    const text = [log, ...many].join("\n");
    const { reports, result } = await replayText(text);
    expect(reports.find(({ uuid }) => uuid === vaultUuid(1))?.cause).not.toHaveProperty("refused");
    expect(result.summary.items).toBe(250_005);
    const one = await replayText(text, { vault: vaultUuid(1) });
    expect(one.reports[0]?.cause?.refused?.replacedBy?.start?.externalRef).toBe("web");
    expect(one.result.summary).toEqual(
      expect.objectContaining({ items: 250_005, skippedLines: 0 }),
    );
  });
});
