import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Replay, ReplayOptions } from "../../src/audit/replay.ts";
import { parseWhere } from "../../src/audit/flags.ts";
import { jsonDocument, ndjsonDocument } from "../../src/commands/audit-replay/document.ts";
import { tempDir } from "../support/cleanup.ts";
import { printed, viewOf } from "../support/audit-reports.ts";
import { failure, line, replayWith, vaultUuid } from "./support.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

const originals = [
  "203.0.113.7",
  "203.0.113.8",
  "198.51.100.9",
  "2001:db8::7",
  "nightly-cron",
  "web-shop",
  "vault-X7Q9",
  "X7Q9",
  "tenant-a",
  "card of Ada",
];

const talk = (client: Record<string, unknown>) => ({
  ...client,
  description: `bad credentials of nightly-cron and web-shop from 203.0.113.7 (198.51.100.9)`,
  endpoint: `POST /vault/get-start/${String(client["ipAddress"])}?by=${String(client["externalRef"])}`,
  application: "tenant-a",
});
const cron = talk({ externalRef: "nightly-cron", ipAddress: "203.0.113.7" });
const web = talk({ externalRef: "web-shop", ipAddress: "203.0.113.8" });
const own = talk({ externalRef: "vault-X7Q9", ipAddress: "2001:db8::7" });

const log = [
  line(0, "READ_VAULT", { ...web, description: "ok" }),
  line(1, "ACKNOWLEDGE_READ_VAULT", { ...web, description: "ok" }),
  line(2, "ACKNOWLEDGE_READ_VAULT", { ...web, description: "ok" }),
  failure(3, cron),
  failure(4, cron),
  failure(5, own),
  line(6, "READ_VAULT", {
    ...cron,
    outcome: "accepted for web-shop",
    description: "ok",
    vaultUuid: vaultUuid(2),
  }),
  line(7, "LOGIN of nightly-cron", { ...web, vaultUuid: vaultUuid(2) }),
  line(8, "LOCK_VAULT", { ipAddress: "198.51.100.9", vaultUuid: vaultUuid(3) }),
  JSON.stringify({
    time: "203.0.113.7 nightly-cron",
    action: "READ_VAULT",
    vaultUuid: vaultUuid(1),
  }),
].join("\n");

async function replayed(more: Partial<ReplayOptions>): Promise<Replay> {
  const path = join(tempDir("redact"), "items.ndjson");
  writeFileSync(path, log);
  return await replayWith({
    inputs: [{ name: "items", path }],
    labels: new Map([[vaultUuid(1), "card of Ada"]]),
    own: (ref) => {
      if (ref !== "vault-X7Q9") return undefined;
      return {
        id: "X7Q9",
        operation: "get",
        generation: 3,
        state: "rejected",
        startedAt: "2026-11-20T12:00:05.000Z",
      };
    },
    timeline: "problems",
    redact: true,
    ...more,
  });
}

/** Everything that a run can print or write. */
function outputsOf({ summary, whatIf, ...replay }: Replay): Record<string, string> {
  const vaults = [...replay.vaults({ problems: false })];
  const whole = { summary, ...replay, ...(whatIf && { whatIf }) };
  return {
    ...printed({ summary, vaults, whatIf }, viewOf(120)),
    json: [...jsonDocument(whole, vaults)].join(""),
    ndjson: [...ndjsonDocument(whole, vaults)].join(""),
  };
}

const wheres: string[][] = [
  [],
  ["ref=nightly-cron"],
  ["ip=203.0.113.*", "app=tenant-a"],
  ["ref=nobody at all"],
];

describe("with --redact", () => {
  test.each(wheres.map((where) => ({ where })))(
    "no original value is in any output, selected by $where",
    async ({ where }) => {
      const whatIf = { text: "lock-after-failed=9", limits: { failedAttempts: 9 } };
      const result = await replayed({
        whatIf,
        ...(where.length > 0 && { where: parseWhere(where) }),
      });
      for (const [name, text] of Object.entries(outputsOf(result))) {
        for (const original of [...originals, "nobody at all", "203.0.113"])
          expect(text.includes(original), `${original} in the ${name}`).toBe(false);
      }
      await result.close();
    },
  );

  test("the same value is the same word everywhere, counted from its first appearance; verdicts stay", async () => {
    const [plain, redacted] = [await replayed({ redact: false }), await replayed({})];
    expect(redacted.summary.found.text).toBe(
      "2 vaults locked, 1 of them probably; 1 by an administrator (address ip-1), 1 by reference ref-1 from ip-2. Also 1 without a verdict.",
    );
    const outputs = outputsOf(redacted);
    const words: Record<string, string> = {
      "198.51.100.9": "ip-1",
      "nightly-cron": "ref-1",
      "203.0.113.7": "ip-2",
      "card of Ada": "label-1",
    };
    for (const name of ["page", "markdown", "terminal", "json"])
      for (const word of Object.values(words)) expect(outputs[name]).toContain(word);
    const reports = (replay: Replay): VaultReport[] => [...replay.vaults({ problems: false })];
    const [before, after] = [reports(plain), reports(redacted)];
    for (const [index, { uuid, verdict, since, who, cause, label }] of after.entries()) {
      const one = before[index];
      expect({ uuid, verdict, since, rule: cause?.rule }).toEqual({
        uuid: one?.uuid,
        verdict: one?.verdict,
        since: one?.since,
        rule: one?.cause?.rule,
      });
      for (const [at, { value, count }] of who.addresses.entries()) {
        expect(count).toBe(one?.who.addresses[at]?.count);
        expect(words[one?.who.addresses[at]?.value ?? ""] ?? value).toBe(value);
      }
      if (typeof one?.label === "string") expect(label).toBe(words[one.label]);
    }
    expect(after[1]?.cause?.chain.at(-1)?.own?.id).toBe(after[1]?.cause?.chain.at(-1)?.externalRef);
    await plain.close();
    await redacted.close();
  });

  test("what it finds without: the values of the log", async () => {
    const plain = await replayed({ redact: false });
    const { json = "" } = outputsOf(plain);
    expect(originals.filter((value) => !json.includes(value))).toEqual([]);
    await plain.close();
  });
});
