import { describe, expect, it } from "vitest";
import { parseWhatIf, whatIfForms } from "../../src/audit/fold/rules.ts";
import { failure, line, replayText, vaultUuid } from "./support.ts";

const created = line(0, "CREATE_VAULT");
const reads = [1, 2, 3, 4, 5].map((at) => line(at, "READ_VAULT"));

async function changes(change: string, lines: readonly string[]) {
  const whatIf = parseWhatIf(change);
  const { result } = await replayText(`${lines.join("\n")}\n`, { whatIf });
  const short = result.whatIf?.vaults.map(({ uuid, before, after }) => [
    uuid,
    before.verdict,
    after.verdict,
    after.unackedStarts,
    after.failedAttempts,
  ]);
  return { changed: short, unchanged: result.whatIf?.unchanged };
}

it("a change that is none is refused, and the forms are listed once", () => {
  const refused = (): unknown => parseWhatIf("lock-after=5");
  expect(refused).toThrow(
    expect.objectContaining({
      code: "invalid-input",
      message: "--what-if: is not a known change",
      facts: { hint: expect.stringContaining(whatIfForms.join(", ")) as string },
    }) as Error,
  );
});

describe("what if", () => {
  it("the limits were others, whatever the items say of locks", async () => {
    const said = [
      failure(1),
      failure(2),
      failure(3, { description: "bad credentials, vault locked" }),
    ];
    expect(await changes("lock-after-failed=5", [created, ...said])).toEqual({
      changed: [[vaultUuid(1), "locked", "open-exchange", 0, 3]].map(
        ([uuid, before, , ...rest]) => [uuid, before, "ok", ...rest],
      ),
      unchanged: 0,
    });
    const refused = line(5, "READ_VAULT", {
      outcome: "FAILURE",
      description: "too many starts without acknowledgement, vault locked",
    });
    expect(
      await changes("lock-after-unacked=6", [created, ...reads.slice(0, 4), refused]),
    ).toMatchObject({
      changed: [[vaultUuid(1), "locked", "at-risk", 5, 0]],
    });
  });
});
