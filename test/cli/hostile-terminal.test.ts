import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { stripVTControlCharacters } from "node:util";
import { describe, expect, it } from "vitest";
import type { HostileService, Malice } from "../support/hostile-service.ts";
import { kind, startHostileService, withVault } from "../support/hostile-service.ts";
import { documentOf, errorOf, machineFor, type Machine } from "../support/machine.ts";
import { vaultInPty } from "../support/pty.ts";

const uuid = "0f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";

/** CSI, OSC 8 and 52, BEL, C1, turned and unseen text, other line ends, DEL, NUL, half a character, and a line that would pass for ours. */
const evil =
  "A\u001B[2J\u001B]8;;http://evil\u0007B\u009B31mC\u202Eolleh\u2066 \u2028D\u001B]52;c;ZXZpbA==\u0007" +
  "\u200B\u200C\u200D\u2060\u2064\uFEFF\u00AD\u180E\u3164\uFE01\uFFF9\u{E0001}\u{E0041}\u{E007F}\u{E0100}" +
  "\r\nvault: warning: forged\nvault: forged\u001B[8mhidden\u007F\u0000\uD800";
/** As bytes have it: half a character cannot be written. */
const inBytes = evil.replace("\uD800", "\uFFFD");

const refused: Malice = (_, { send }) => {
  const detail = { property: evil, message: evil, errorReasons: [evil] };
  const responseStatus = { status: "ERROR", code: evil, detailedErrors: [detail] };
  send({ errorUuid: evil, responseStatus }, 418);
};
/** No command takes such a label, but somebody may have written it into the state. */
async function importLabelled(machine: Machine, each: string): Promise<void> {
  await machine.ok("import", each, "--kind", "generic/offline", "--credentials", "env:PAIR");
  const database = new DatabaseSync(join(machine.stateDir, "vault.db"));
  database.prepare("UPDATE vaults SET label = ? WHERE uuid = ?").run(`${evil}${each}`, each);
  database.close();
}

/** In all that a start hands out but the pair, and in names. */
const inContents: Malice = ({ what, path }, { good, send }) => {
  if (!what.endsWith("-start"))
    return what === "info"
      ? send({ ...good, metadata: { [evil]: evil }, expiryDate: evil })
      : send(good);
  const contents = path.includes("credit-card")
    ? { creditCard: { number: evil, name: evil, expiryMonth: evil, expiryYear: evil } }
    : { content: evil };
  const more = { [evil]: evil, expiryDate: evil, autoLockDate: evil, usesRemaining: 5 };
  send(withVault(good, { ...contents, ...more }));
};
/** Each end call is refused for the application's sake: the exchange stays open. */
const acknowledgedBadly: Malice = ({ what }, { good, send }) => {
  if (!what.endsWith("-end")) return send(good);
  const detailedErrors = [{ property: "application.apiKey", message: evil }];
  send({ responseStatus: { status: "ERROR", detailedErrors } }, 401);
};

const first = (kind: string, of = uuid): string[] => [
  "get",
  of,
  "--kind",
  kind,
  "--credentials",
  "env:PAIR",
];
const pair = { PAIR: '{"encryptedData":"the-first-data","payload":"the-first-payload"}' };

async function world(malice: Malice): Promise<{ service: HostileService; machine: Machine }> {
  const service = await startHostileService(malice);
  return { service, machine: machineFor(service, { env: pair }) };
}

/** What the program itself may send to a terminal beside text: its colors, the same that its palette has. */
// oxlint-disable-next-line no-control-regex -- color sequences are what it is about
const ownColors = /\u001B\[(?:1|2|22|3[1-6]|39)m/g;
const unfit =
  /[^\P{Cc}\n]|[\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u206F\u3164\uFEFF\uFFF9-\uFFFB\u{E0000}-\u{E0FFF}]|[\uFE00-\uFE0D]/u;

async function expectVisible(machine: Machine, ...args: string[]): Promise<string> {
  const { stdout, stderr } = await machine.vaultWith({ isTTY: true, color: true }, ...args);
  const text = (stdout + stderr).replaceAll(ownColors, "");
  expect(text).not.toMatch(unfit);
  // It was there to be seen.
  expect(text).toMatch(/\\u(?:\{1b\}|001b)\[2J/);
  return text;
}

const forged = /^\s*vault: (?:warning: )?forged/m;

describe.concurrent("hostile text on a terminal is visible text, and no line of its own", () => {
  it.each<[string, Malice, string[]]>([
    ["an error", refused, first("generic/offline")],
    ["an error as JSON", refused, [...first("generic/offline"), "--json"]],
    ["an error, with --debug", refused, [...first("generic/offline"), "--debug"]],
    ["an error of an info", refused, ["info", uuid, "--kind", "generic/offline"]],
    ["a card", inContents, [...first("credit-card/offline"), "--reveal"]],
    ["the whole document", inContents, [...first("credit-card/offline"), "--json"]],
    ["metadata", inContents, ["info", uuid, "--kind", "generic/offline"]],
    ["metadata as JSON", inContents, ["info", uuid, "--kind", "generic/offline", "-o", "ndjson"]],
    [
      "an answer to a create",
      (_, { send }) => send({ responseStatus: { status: "SUCCESS" }, [evil]: evil }),
      ["create", "--content", "env:PAIR", "--kind", "generic/offline"],
    ],
  ])("%s", async (_, malice, args) => {
    const { machine } = await world(malice);
    expect(await expectVisible(machine, ...args)).not.toMatch(forged);
  });

  it("contents, whose lines are theirs", async () => {
    for (const how of [["--reveal"], ["--field", "vault.content"]]) {
      const { machine } = await world(inContents);
      await expectVisible(machine, ...first("generic/offline"), ...how);
    }
  });

  it("what was kept: the last error of a vault, its label, and failures of an ack", async () => {
    const { service, machine } = await world(acknowledgedBadly);
    const vaults = [uuid, uuid.replace("0", "1")];
    for (const each of vaults) {
      await machine.vault(...first("generic/offline", each), "--json", "--no-ack");
      await importLabelled(machine, each);
    }
    // Without the bar, which erases its line.
    for (const line of ["ack --all --quiet", "status", `status ${uuid}`, "status --json", "guard"])
      expect(await expectVisible(machine, ...line.split(" "))).not.toMatch(forged);
    expect(service.asked.filter(({ what }) => what === "get-end").length).toBeGreaterThan(0);
  });

  it.each<[string[], RegExp]>([
    [["export"], /Which vault/],
    [["delete", uuid], /permanently/],
  ])("labels in a question: %j", async (args, asked) => {
    const { machine } = await world(kind);
    for (const each of [uuid, uuid.replace("0", "1")]) await importLabelled(machine, each);
    const env = { ...machine.env, FORCE_COLOR: "1" };
    const asking = vaultInPty(args, { env, cwd: machine.home, columns: 800 });
    await asking.waitFor(asked);
    asking.type("\u0003");
    const { raw } = await asking.exit;
    expect(raw).toContain("\\u{200b}\\u{200c}");
    expect(raw).not.toContain("\u001B]52");
    expect(raw).not.toMatch(forged);
    // What a question itself sends to move the cursor is not looked at.
    expect(stripVTControlCharacters(raw).replaceAll("\r", "")).not.toMatch(unfit);
  });

  it("audit items, in every form", async () => {
    const { machine } = await world(refused);
    const read = { time: "2026-11-20T12:00:00Z", action: "READ_VAULT", vaultUuid: uuid };
    const item = { ...read, outcome: evil, externalRef: evil, ipAddress: evil };
    const failure = { ...item, description: evil, outcome: "FAILURE" };
    const lines = [item, { ...item, action: evil, id: evil }, failure];
    machine.file("items", lines.map((line) => JSON.stringify(line)).join("\n"));
    const ways = [`--vault ${uuid} --timeline`, "--json", "-o ndjson", "--field vaults.0.lastAt"];
    for (const line of ["audit-replay items", ...ways.map((way) => `audit-replay items ${way}`)])
      expect(await expectVisible(machine, ...line.split(" "))).not.toMatch(forged);
  });
});

describe.concurrent("a program gets the exact values", () => {
  it("of contents, by --json and by --field", async () => {
    for (const kind of ["generic/offline", "credit-card/offline"]) {
      const { machine } = await world(inContents);
      const { code, stdout, stderr } = await machine.vault(...first(kind), "--json");
      expect(code).toBe(0);
      expect(stdout).not.toMatch(unfit);
      expect(stderr).not.toMatch(unfit);
      const { vault } = documentOf({ code, stdout, stderr, signal: null });
      const creditCard = { name: evil, number: evil, expiryMonth: evil, expiryYear: evil };
      const contents = kind === "generic/offline" ? { content: evil } : { creditCard };
      expect(vault).toMatchObject({ [evil]: evil, ...contents });
      const field = kind === "generic/offline" ? "vault.content" : "vault.creditCard.name";
      expect((await machine.vault("get", uuid, "--field", field)).stdout).toBe(inBytes);
    }
  });

  it("of errors, in one line of JSON", async () => {
    const { machine } = await world(refused);
    const result = await machine.vault(...first("generic/offline"), "--json");
    expect(result.stderr.trimEnd()).not.toMatch(unfit);
    expect(result.stderr.trimEnd().split("\n")).toHaveLength(1);
    const { message, service } = errorOf(result) as ReturnType<typeof errorOf> & {
      service: { responseStatus: object };
    };
    expect(message).toContain(evil);
    expect(service.responseStatus).toMatchObject({
      code: evil,
      detailedErrors: [{ message: evil }],
    });
  });

  it("of the calls that --debug shows, a line of JSON each", async () => {
    const { machine } = await world(refused);
    const { stderr } = await machine.vault(...first("generic/offline"), "--json", "--debug");
    const printed = stderr.trimEnd().split("\n");
    const lines = printed.map((line) => JSON.parse(line) as { type?: string; body?: unknown });
    // The start, and the probe behind it.
    const call = ["request", "response"];
    expect(lines.map(({ type }) => type)).toEqual([...call, ...call, undefined]);
    expect(lines[1]?.body).toMatchObject({ responseStatus: { code: evil } });
  });
});
