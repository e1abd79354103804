import { expect, test } from "vitest";
import type { VaultReport } from "../../src/documents/audit.ts";
import { log, moment, replayText, reportOfOne, rows } from "./support.ts";

/** Puts moments in the place of `{21}`. */
const written = (text: string): string =>
  text.replaceAll(/\{(\d+)\}/g, (_, at: string) => moment(Number(at)));

test.each(
  rows(`
S10c A11c S20w A21w S30w A31w F41c F42c F43c | {21} | The client \\(reference cron from 10\\.0\\.0\\.7\\) sent .* another exchange \\(reference web from 10\\.0\\.0\\.8\\), acknowledged at {21}, had replaced: two clients share the vault
S10w A11w S20c A21c F41c F42c F43c | {21} | its own exchange, acknowledged at {21}, had replaced
S20c A21c A23c F41c F42c F43c | {21} | its own exchange, acknowledged at {21}, had replaced
F9c S10w A11w S20w A21w F41c F42c F43c | {21} | another exchange \\(reference web .* two clients share
S10x A11x S20y A21y F41z F42z F43z | {21} | probably sent .* its own exchange \\(reference order-y from 10\\.0\\.0\\.7\\), acknowledged at {21}
S10b A11b S15c A16c S20b A21b F41c F42c F43c | {21} | another exchange \\(reference billing .* two clients share
S20n A21n F41n F42n F43n | {21} | The client \\(address 10\\.0\\.0\\.7\\) probably sent .* its own exchange \\(address
C0 S20c F41c F42c F43c | | start at {20} that was never acknowledged.* Start again with the credentials before them
C0 F41 F42 F43 | | ^The client sent credentials that were never valid: nothing in this log has replaced those of the vault's creation\\.
F41 F42 F43 | | ^The client probably sent credentials that are not current\\.
S10c A11c Q41 Q42 Q43 | | ^The client was refused for a reason`),
)(
  "who replaced credentials that were refused until the vault was locked: %s",
  async (letters = "", at = "", fault = "") => {
    const { cause, advice } = await reportOfOne(log(letters));
    expect(cause?.replacedBy?.at ?? "").toBe(written(at));
    expect(advice.steps.join("\n")).toMatch(new RegExp(written(fault), "m"));
  },
);

test("what replaced them is found among the last 24 items, also from a stream", async () => {
  const before = Array.from({ length: 100 }, (_, at) => `S${3 * at}c A${3 * at + 1}c`).join(" ");
  const lines = log(`${before} S400w A401w F501c F502c F503c`).join("\n");
  for (const by of ["path", "stream"] as const)
    expect((await replayText(lines, {}, by)).reports[0]?.cause?.replacedBy).toMatchObject({
      at: moment(401),
      externalRef: "web",
    });
});

const wordsOf = ({ cause, explanation, advice }: VaultReport): string =>
  [cause?.text, ...explanation, ...advice.steps].join(" ");

test.each(
  rows(`
C0 S600 T960 S1200 T1560 S1800 T2160 S2400 T2760 S3000 T3360 | 5 acknowledgements were refused with “the token is unknown or has expired”, too late, 6 minutes after the start: .* 2 minutes\\. .*Send the end call within 2 minutes | without acknowledging any
C0 S600 T601 S1200 T1201 S1800 T1801 S2400 T2401 S3000 T3001 | 5 acknowledgements were refused with “the token | too late
S1b A2b S3c A4c F5b F6c F7b | Address 10\\.0\\.0\\.7 is shared by the references billing, cron\\. | cron is shared
C0 S1c S2c S3c S4c S5c | The client \\(reference cron from 10\\.0\\.0\\.7\\) started exchanges without acknowledging any | late
C0 S600c T960c S1200c T1201c | 2 acknowledgements were refused with “the token .* 1 of them too late, 6 minutes after .*acknowledge\\. The client \\(reference cron from 10\\.0\\.0\\.7\\) sent acknowledgements that were refused\\. Send the end call within | 2 of them
S600c T960c S1200c T1201c | which credentials are current\\. The client \\(reference cron from .* sent acknowledgements that were refused\\. Send the end | 2 of them
C0 S1c S2c T3w S4c S5c S6c | 1 acknowledgement by reference web from 10\\.0\\.0\\.8 was refused with .* The client \\(reference cron from 10\\.0\\.0\\.7\\) started exchanges without acknowledging any | The client \\(.*\\) sent acknowledgements
C0 S1c S2c S3c S4c S5c T6c | 1 acknowledgement was refused | still trying
C0 F1c F2c F3c L5c L6c L7c | 3 more calls came since then, the last at \\S+, mostly by reference cron from 10\\.0\\.0\\.7: a client is still trying\\. | does not show
C0 F1c F2c F3c L5c L6w | 2 more calls came since then, the last at \\S+, by addresses 10\\.0\\.0\\.7, 10\\.0\\.0\\.8: a client | mostly
F1 F2 L3 | or just before, when a call was refused because of the lock, probably after 3 failed attempts in a row \\(2 in the log\\) | does not show
C0 S1 S2 S3 S4 L5 | probably after 5 unacknowledged starts in a row \\(4 in the log\\) | does not show
C0 L3 | the log does not show the cause | probably after
S1 S2 S3 | Not known to be locked, but earlier starts may count: the next one may lock it | not urgent`),
)("what else the log shows: %s", async (letters = "", expected = "", never = "") => {
  const words = wordsOf(await reportOfOne(log(letters)));
  expect(words).toMatch(new RegExp(expected));
  expect(words).not.toMatch(new RegExp(never));
});

/** A vault for each word, of which each letter is a failed attempt, or an item of its own. */
const vaultsOf = (words: string): string[] =>
  words.split(" ").flatMap((word, vault) => {
    const items = word.split("").map((letter, n) => {
      const at = 1000 * (vault + 1) + n;
      return "SDYL".includes(letter)
        ? `${vault + 1}:${letter}${at}w`
        : `${vault + 1}:F${at}${letter}`;
    });
    return log(
      [...(/[SDYL]/.test(word) ? [] : [`${vault + 1}:C${1000 * vault}`]), ...items].join(" "),
    );
  });

test.each(
  rows(`
ccc           | 1 vault locked by reference cron from 10.0.0.7.
ccc ccc       | 2 vaults locked by reference cron from 10.0.0.7.
nnn nnn nnn   | 3 vaults locked by address 10.0.0.7.
ccc ccc ccc nnn nnn xxx yyy | 7 vaults locked; 3 by reference cron from 10.0.0.7, 2 by address 10.0.0.7, 1 by reference order-y from 10.0.0.7 and 1 more.
Y             | 1 vault locked by an administrator (reference web from 10.0.0.8).
L             | 1 vault locked by a cause not in the log.
cxy           | 1 vault locked by address 10.0.0.7.
ccc cc S      | 1 vault locked by reference cron from 10.0.0.7. Also 1 at risk, 1 with an open exchange.
cc            | 1 vault at risk because of reference cron from 10.0.0.7.
c D           | No locks found in 2 vaults, 1 of them deleted. Locks made in the console appear only if the export records them.`),
)("the answer to %s", async (words = "", text) => {
  const { result } = await replayText(vaultsOf(words).join("\n"));
  expect(result.summary.found.text).toBe(text);
});

test("the answer counts the vaults of each origin, and reads the items of at most 500", async () => {
  const { found } = (await replayText(vaultsOf("ccc ccc bbb").join("\n"))).result.summary;
  const address = "10.0.0.7";
  expect(found.by).toEqual([
    { vaults: 2, externalRef: "cron", address },
    { vaults: 1, externalRef: "billing", address },
  ]);
  const many = vaultsOf(Array.from({ length: 501 }, () => "ccc").join(" ")).join("\n");
  expect((await replayText(many)).result.summary.found.text).toBe(
    "501 vaults locked; of the latest 500, 500 by reference cron from 10.0.0.7.",
  );
});

test("a new vault is advised only if the one that a call did not find is gone", async () => {
  const { advice } = await reportOfOne(log("C0 S1 A2 G3"));
  expect(advice.steps.join("\n")).toMatch(/probably gone.*console\. If it is gone, create a new/);
});
