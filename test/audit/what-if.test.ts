import { expect, test } from "vitest";
import { parseWhatIf } from "../../src/audit/flags.ts";
import { printed } from "../support/audit-reports.ts";
import { failure, line, replayText, vaultUuid } from "./support.ts";

const created = line(0, "CREATE_VAULT");
const starts = [1, 2, 3, 4].map((at) => line(at, "READ_VAULT"));
const failures = [1, 2].map((at) => failure(at));
const lockedOut = (at: number): string => failure(at, { description: "the vault is locked" });

test.each(["lock-after=5", "lock-after-failed=0", "lock-after-unacked"])(
  "%s is refused, with the forms",
  (change) => {
    const message = `--what-if: "${change}" is not lock-after-failed=N or lock-after-unacked=N`;
    const code = "invalid-input";
    expect(() => parseWhatIf(change)).toThrow(expect.objectContaining({ code, message }));
  },
);

test.each<[string, string, string[], string]>([
  [
    "ignores what items say of locks",
    "lock-after-failed=5",
    [...failures, failure(3, { description: "bad credentials, vault locked" })],
    "locked ok 0 3",
  ],
  [
    "a start that locked was one",
    "lock-after-unacked=6",
    [...starts, failure(5, { description: "too many starts without acknowledgement" })],
    "locked at-risk 5 0",
  ],
  [
    "knows nothing of calls that only the lock refused",
    "lock-after-failed=5",
    [...failures, failure(3), ...[4, 5, 6].map(lockedOut)],
    "locked unknown 0 3",
  ],
])("what if %s", async (_what, change, lines, expected) => {
  const whatIf = parseWhatIf(change);
  const { result } = await replayText([created, ...lines].join("\n"), { whatIf });
  const changed = result.whatIf?.vaults.map(({ before, after }) =>
    [before.verdict, after.verdict, after.unackedStarts, after.failedAttempts].join(" "),
  );
  expect(changed).toEqual([expected]);
});

test("the answer is what each report begins with", async () => {
  const others = Array.from({ length: 30 }, (_, at) =>
    line(at, "CREATE_VAULT", { vaultUuid: vaultUuid(at + 2) }),
  );
  const whatIf = parseWhatIf("lock-after-failed=5");
  const log = [...others, ...[40, 41, 42].map((at) => failure(at))].join("\n");
  const { result, reports } = await replayText(log, { whatIf });
  const answer = "What if lock-after-failed=5: 1 vault would differ, 30 would not";
  const { summary } = result;
  const { terminal, markdown, page } = printed({ summary, vaults: reports, whatIf: result.whatIf });
  expect(terminal).toMatch(new RegExp(`^${answer}\n1 vault probably locked`));
  expect(terminal).toMatch(new RegExp(`\n  ${vaultUuid(1)}  locked since .*  ok; 3 failed`));
  expect(markdown).toMatch(new RegExp(`^\\*\\*${answer}\\*\\*\n`));
  expect(page).toContain(`<h1><bdi>${answer}</bdi></h1>`);
});
