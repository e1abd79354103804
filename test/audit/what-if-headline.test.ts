import { expect, test } from "vitest";
import { parseWhatIf } from "../../src/audit/fold/rules.ts";
import { printed } from "../support/audit-prints.ts";
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
  const { terminal, markdown, page } = printed({ summary, vaults: reports, whatIf: result.whatIf });
  expect(terminal).toMatch(new RegExp(`^${answer}\n1 vault probably locked`));
  expect(terminal).toMatch(new RegExp(`\n  ${vaultUuid(1)}  locked since .*  ok; 3 failed`));
  expect(markdown).toMatch(new RegExp(`^\\*\\*${answer}\\*\\*\n`));
  expect(page).toContain(`<h1><bdi>${answer}</bdi></h1>`);
});
