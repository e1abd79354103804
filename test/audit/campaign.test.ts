import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Replay } from "../../src/audit/replay.ts";
import type { VaultReport } from "../../src/documents/audit.ts";
import { VaultError } from "../../src/errors.ts";
import { AuditWorld, type Item, type VaultTruth } from "../support/audit-log.ts";
import { shapeOf, type Shape } from "../support/audit-shapes.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { tempDir } from "../support/cleanup.ts";
import { byteChanges, changeBytes, Dice } from "../support/dice.ts";
import { replayWith, runAudit } from "./support.ts";

// Random logs, exported in random shapes. Each failure begins with the seed of its log.

const folder = tempDir("campaign");

/** How often the campaign tries what the suite tries so many times. */
const runs = (suite: number): number => (isWhole ? suite * 100 : suite);

interface Replayed {
  summary: Replay["summary"];
  vaults: Map<string, VaultReport>;
}

/** Reports, or why the inputs were refused. */
async function replayed(files: readonly Uint8Array[]): Promise<Replayed | string> {
  const inputs = files.map((bytes, index) => {
    const path = join(folder, `${index}`);
    writeFileSync(path, bytes);
    return { name: `input ${index}`, path };
  });
  try {
    const result = await replayWith({ inputs });
    const vaults = [...result.vaults({ problems: false })].map((one) => [one.uuid, one] as const);
    result.close();
    return { summary: result.summary, vaults: new Map(vaults) };
  } catch (error) {
    if (error instanceof VaultError) return `${error.code}: ${error.message}`;
    throw error;
  }
}

interface Log {
  dice: Dice;
  items: Item[];
  truths: VaultTruth[];
  shape: Shape;
}

function logOf(seed: number): Log {
  const world = new AuditWorld({ seed: `campaign ${seed}`, items: 150, vaults: 10, problems: 0.7 });
  const items = [...world.items()];
  const dice = new Dice(`shape ${seed}`);
  return { dice, items, truths: world.truths, shape: shapeOf(dice) };
}

/** Checks so many logs; `wrong` returns what is wrong with one. */
async function expectRight(
  what: string,
  suite: number,
  wrong: (log: Log) => Promise<string[]>,
): Promise<void> {
  const problems: string[] = [];
  for (let seed = 0; seed < runs(suite); seed += 1) {
    const log = logOf(seed);
    const [first, ...more] = await wrong(log);
    if (first !== undefined)
      problems.push(`${seed}: ${first.slice(0, 600)} (${more.length} more; ${log.shape.name})`);
  }
  expect(problems.slice(0, 20)).toEqual([]);
  tried(what, runs(suite));
}

const iso = (time: number): string => new Date(time).toISOString();

const isCertain = ({ verdict, certainty, cause }: VaultReport): boolean =>
  verdict === "locked" && certainty === "certain" && (cause?.certainty ?? certainty) === "certain";

/** What the truth and a report share, each as a text. */
function comparable(
  shape: Shape,
  truth: VaultTruth,
  report: VaultReport | undefined,
): [string, string] {
  const { uuid, verdict, items, unackedStarts, failedAttempts } = truth;
  const isLocked = verdict === "locked";
  const right = {
    uuid,
    verdict,
    items,
    counters: verdict === "deleted" ? "" : `${unackedStarts} ${failedAttempts}`,
    certainty: isLocked && !truth.isUnlockedUnseen && shape.isExact ? "certain" : "",
    rule: truth.rule,
    lockedAt: truth.lockedAt === undefined ? undefined : iso(truth.lockedAt),
    chain: isLocked ? truth.chain.map(iso) : undefined,
  };
  const came: Record<keyof typeof right, unknown> | undefined = report && {
    uuid: report.uuid,
    verdict: report.verdict,
    items: report.items,
    counters: right.counters && `${report.unackedStarts} ${report.failedAttempts}`,
    certainty: right.certainty && (isCertain(report) ? "certain" : "likely"),
    rule: report.cause?.rule,
    lockedAt: report.lockedAt,
    chain: isLocked ? report.cause?.chain.map(({ at }) => at) : undefined,
  };
  return [JSON.stringify(right), JSON.stringify(came ?? null)];
}

test("every vault as it is, in whatever shape the log was exported", async () => {
  await expectRight("audit logs in random shapes", 50, async ({ items, truths, shape }) => {
    const result = await replayed(shape.write(items));
    if (typeof result === "string") return [result];
    return truths.flatMap((truth) => {
      const [right, came] = comparable(shape, truth, result.vaults.get(truth.uuid));
      return right === came ? [] : [`${truth.ending}: ${came} in place of ${right}`];
    });
  });
});

/** An unknown word for each value; the same value, the same word. */
function unknownWords(dice: Dice): (value: unknown) => string {
  const words = new Map<unknown, string>();
  return (value) => {
    if (!words.has(value)) words.set(value, `qw${dice.pick(["a", "e", "i", "o"])}x-${words.size}`);
    return words.get(value) ?? "";
  };
}

test.each(["reason", "outcome"])(
  "an unknown word for each %s makes nothing certain, and nothing ok",
  async (what) => {
    const rule = what === "reason" ? "failed-attempts" : "unacknowledged-starts";
    await expectRight(
      `audit logs with unknown ${what}s`,
      25,
      async ({ items, truths, shape, dice }) => {
        const word = unknownWords(dice);
        // The text of calls that were accepted tells the outcome, too.
        const silent = (text: string): string => (text === "Completed" ? "" : text);
        const words = what === "reason" ? { reason: word } : { outcome: word, reason: silent };
        const result = await replayed(shape.write(items, words));
        if (typeof result === "string") return [];
        return truths.flatMap((truth) => {
          const report = result.vaults.get(truth.uuid);
          const isWrong =
            report === undefined ||
            (isCertain(report) && report.cause?.rule === rule) ||
            (report.verdict === "ok" && truth.verdict !== "ok") ||
            (report.verdict === "open-exchange" && truth.verdict === "locked");
          return isWrong ? [`${truth.ending}: ${truth.verdict} became ${report?.verdict}`] : [];
        });
      },
    );
  },
);

/** What happens to lines on their way: in the middle of one, or to its quotes, or by another program. */
const spoiled: readonly ((line: string, dice: Dice) => string)[] = [
  (line, dice) => line.slice(0, Math.floor(line.length * (0.3 + 0.6 * dice.fraction()))),
  (line, dice) => line.slice(Math.floor(line.length * 0.3 * dice.fraction()) + 1),
  (line) => line.replaceAll('"', "'"),
  (line) => line.replace(/"[^"]*"\}$|[^,;\t]*$/, "NaN}"),
  (line) => line.replace(/[,;\t]/, "$&$&"),
  (line, dice) => {
    const at = Math.floor(line.length * dice.fraction());
    return `${line.slice(0, at)}${"\0".repeat(30)}${line.slice(at)}`;
  },
  (line) => `2026-11-20 14:00:00 INFO ${line}`,
];

/** Spoils three lines of a log, and returns what is wrong. A vault that a line named until it was spoiled cannot be known. */
async function wrongSpoiled({ items, truths, shape, dice }: Log): Promise<string[]> {
  const [file, ...others] = shape.write(items);
  if (file === undefined || others.length > 0 || shape.isGzip) return [];
  const lines = file.toString().split("\n");
  // Whose items are on lines of their own.
  if (lines.length < items.length) return [];
  const naming = [...lines.keys()].filter((at) =>
    truths.some(({ uuid }) => lines[at]?.includes(uuid) === true),
  );
  const chosen = [1, 2, 3].map(() => dice.pick(naming));
  const before = chosen.map((at) => lines[at] ?? "");
  for (const at of chosen) lines[at] = dice.pick(spoiled)(lines[at] ?? "", dice);
  const result = await replayed([Buffer.from(lines.join("\n"))]);
  if (typeof result === "string") return [];
  return truths.flatMap((truth) => {
    const report = result.vaults.get(truth.uuid);
    const [right, came] = comparable(shape, truth, report);
    const isLess = came.replace("likely", "certain") === right;
    const isSure =
      report?.verdict === "locked" ? isCertain(report) : report?.certainty === "certain";
    const isUnsure = report?.verdict !== "ok" && !isSure;
    const isSameLock =
      report?.lockedAt !== undefined && right.includes(`"lockedAt":"${report.lockedAt}"`);
    const named = chosen.filter((_, index) => before[index]?.includes(truth.uuid));
    const isLost = named.some((at) => lines[at]?.includes(truth.uuid) !== true);
    const isEnded = report?.verdict === "deleted" || report?.cause?.rule === "unseen";
    const isRight =
      named.length > 0
        ? isUnsure || isSameLock || isLess || isEnded || isLost
        : isLess || (isUnsure && (isSameLock || report?.verdict === "unknown"));
    return isRight ? [] : [`${truth.ending}: ${came} in place of ${right}`];
  });
}

test("a line that was spoiled leaves its vault as it is, or not certain and not ok", async () => {
  await expectRight("audit logs with spoiled lines", 25, wrongSpoiled);
});

test("whatever bytes there are, they are counted right or refused, and can be printed", async () => {
  let seed = 0;
  await fc.assert(
    fc.asyncProperty(byteChanges, async (changes) => {
      seed += 1;
      const { items, shape } = logOf(seed);
      const bytes = changeBytes(shape.write(items.slice(0, 60))[0] ?? Buffer.of(), changes);
      const result = await replayed([bytes]);
      if (seed % 20 === 0)
        for (const form of [[], ["--markdown", "-"], ["--html", "-"], ["--json"]]) {
          const { exit, out, err } = await runAudit([join(folder, "0"), ...form], folder);
          expect(exit).toBe(typeof result === "string" ? 3 : 0);
          // oxlint-disable-next-line no-control-regex -- what must not be there
          expect(out + err).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/);
        }
      if (typeof result === "string") return;
      const { summary, vaults } = result;
      const ofVaults = [...vaults.values()].reduce((sum, one) => sum + one.items, 0);
      const { applicationItems, withoutVault, duplicates } = summary;
      expect(ofVaults + applicationItems + withoutVault + duplicates).toBe(summary.items);
      expect(vaults.size).toBe(summary.vaultCount);
    }),
    { seed: 20261121, numRuns: runs(100), endOnFailure: false },
  );
  tried("audit logs of spoiled bytes", runs(100));
});
