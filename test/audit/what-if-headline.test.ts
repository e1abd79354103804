import { expect, test } from "vitest";
import { parseWhatIf } from "../../src/audit/fold/rules.ts";
import { writeHtml } from "../../src/audit/render/html/page.ts";
import { writeMarkdown } from "../../src/audit/render/markdown.ts";
import { auditSummary } from "../../src/audit/render/text/view.ts";
import { plain } from "../../src/terminal/palette.ts";
import { failure, line, replayText, vaultUuid } from "./support.ts";

const log = [
  ...Array.from({ length: 30 }, (_, at) =>
    line(at, "CREATE_VAULT", { vaultUuid: vaultUuid(at + 2) }),
  ),
  ...[40, 41, 42].map((at) => failure(at)),
].join("\n");

test("the answer to --what-if is what each report begins with", async () => {
  const whatIf = parseWhatIf("lock-after-failed=5");
  const { result, reports } = await replayText(log, { whatIf });
  const { summary } = result;
  const answer = "What if lock-after-failed=5: 1 vault would differ, 30 would not";
  const view = { isTTY: true, columns: 1000, palette: plain, now: 0 };
  const text = auditSummary(summary, reports, view, result.whatIf);
  expect(text.split("\n", 3).map((each) => each.trim())).toEqual([answer, "", vaultUuid(1)]);
  expect([...writeMarkdown(summary, reports, result.whatIf)].join("")).toMatch(
    new RegExp(`^\\*\\*${answer}\\.\\*\\*\n\n- ${vaultUuid(1)}: locked since .* → ok; 3 failed`),
  );
  const whole = { title: "", generatedAt: "", summary, vaults: reports, whatIf: result.whatIf };
  const page = [...writeHtml(whole as Parameters<typeof writeHtml>[0])].join("");
  const [first = -1, second = -1] = ["What if", "Summary"].map((each) => page.indexOf(`>${each}`));
  expect([first > 0, first < second, page.includes("1 vault would differ")]).toEqual([
    true,
    true,
    true,
  ]);
});
