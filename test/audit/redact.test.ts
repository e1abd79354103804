import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { parseWhere } from "../../src/audit/flags.ts";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { jsonDocument, ndjsonDocument } from "../../src/commands/audit-replay/output.ts";
import { printed, viewOf } from "../support/audit-reports.ts";
import { tempDir } from "../support/cleanup.ts";
import { failure, line, replayWith, rules, vaultUuid } from "./support.ts";

/** What is not shown, and the word for it. */
const originals: Record<string, string | RegExp> = {
  "203.0.113.7": "ip-2",
  "203.0.113.8": /ip-\d/,
  "198.51.100.9": "ip-1",
  "2001:db8::7": /ip-\d/,
  "nightly-cron": "ref-1",
  "web-shop": /ref-\d/,
  "vault-X7Q9": /ref-\d/,
  X7Q9: /ref-\d/,
  "tenant-a": /app-\d/,
  "card of Ada": "label-1",
};
const client = (externalRef: string, ipAddress: string) => ({
  externalRef,
  ipAddress,
  description: "bad credentials of nightly-cron and web-shop from 203.0.113.7 (198.51.100.9)",
  endpoint: `POST /vault/get-start/${ipAddress}?by=${externalRef}`,
  application: "tenant-a",
});
const cron = client("nightly-cron", "203.0.113.7");
const web = { ...client("web-shop", "203.0.113.8"), description: "ok" };
const second = { vaultUuid: vaultUuid(2) };

const path = join(tempDir("redact"), "items.ndjson");
const log = [
  line(0, "READ_VAULT", web),
  line(1, "ACKNOWLEDGE_READ_VAULT", web),
  line(2, "ACKNOWLEDGE_READ_VAULT", web),
  failure(3, cron),
  failure(4, cron),
  failure(5, client("vault-X7Q9", "2001:db8::7")),
  line(6, "READ_VAULT", { ...cron, ...second, outcome: "accepted for web-shop" }),
  line(7, "LOGIN of nightly-cron", { ...web, ...second }),
  line(8, "LOCK_VAULT", { ipAddress: "198.51.100.9", vaultUuid: vaultUuid(3) }),
  `{"time":"203.0.113.7 nightly-cron","action":"READ_VAULT","vaultUuid":"${vaultUuid(1)}"}`,
];
writeFileSync(path, log.join("\n"));

/** The reports, and everything that a run can print or write. */
async function replayed(more: Partial<ReplayOptions> = {}) {
  const replay = await replayWith({
    inputs: [{ name: "items", path }],
    labels: new Map([[vaultUuid(1), "card of Ada"]]),
    timeline: true,
    redact: true,
    ...more,
  });
  const vaults = [...replay.vaults({ problems: false })];
  const outputs: Record<string, string> = {
    ...printed({ summary: replay.summary, vaults }, viewOf(120)),
    json: [...jsonDocument(replay.summary, vaults)].join(""),
    ndjson: [...ndjsonDocument(replay.summary, vaults)].join(""),
  };
  replay.close();
  return { found: replay.summary.found.text, vaults, outputs };
}

test.each(["", "ref=nightly-cron", "ip=203.0.113.* app=tenant-a", "ref=nobody"])(
  "with --redact no original value is in any output, selected by %j",
  async (words) => {
    const whatIf = { text: "lock-after-failed=9", limits: { failedAttempts: 9 } };
    const where = words === "" ? undefined : words.split(" ").map(parseWhere);
    for (const [name, text] of Object.entries((await replayed({ whatIf, where })).outputs))
      for (const original of [...Object.keys(originals), "nobody", "203.0.113"])
        expect(text.includes(original), `${original} in the ${name}`).toBe(false);
  },
);

test("with --redact the same value is the same word everywhere, counted from its first appearance; verdicts stay", async () => {
  const [plain, redacted] = [await replayed({ redact: false }), await replayed()];
  for (const original of Object.keys(originals)) expect(plain.outputs["json"]).toContain(original);
  expect(redacted.found).toBe(
    "2 vaults locked, 1 of them probably; 1 by an administrator (address ip-1), 1 by reference ref-1 from ip-2. Also 1 without a verdict.",
  );
  const words = Object.values(originals);
  for (const word of words) expect(redacted.outputs["json"]).toMatch(word);
  for (const name of ["page", "markdown", "terminal"])
    for (const word of words.filter((each) => typeof each === "string"))
      expect(redacted.outputs[name]).toContain(word);
  const short = ({ vaults }: typeof plain) =>
    vaults.map(({ uuid, verdict, lockedAt, cause }) => ({
      uuid,
      verdict,
      lockedAt,
      rule: cause?.rule,
    }));
  expect(short(redacted)).toEqual(short(plain));
  expect(redacted.vaults[1]?.label).toBe("label-1");
});

test("with --redact, words and patterns that the user gave are hidden where they may name anybody", async () => {
  const given = {
    actions: { "LOGIN of nightly-cron": "ignore", OPENED: "READ_VAULT" },
    outcomes: { "accepted for web-shop": "success", bounced: "failure" },
    failure: "denied for web-shop",
  } as const;
  const { outputs } = await replayed({ rules: { ...rules, ...given } });
  for (const [name, text] of Object.entries(outputs))
    expect(text, name).not.toMatch(/nightly-cron|web-shop/);
  expect(outputs["json"]).toContain('"OPENED": "READ_VAULT"');
});
