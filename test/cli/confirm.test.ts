import { expect, test } from "vitest";
import { confirmOrFail, type Prompts } from "../../src/cli/prompts.ts";

const answering = (isPossible: boolean, yes = false): Prompts =>
  ({ isPossible, confirm: async () => await Promise.resolve(yes) }) as Partial<Prompts> as Prompts;

test("a question answered with No is canceled: 130, and the same command may be run again", async () => {
  await expect(confirmOrFail(answering(true), false, "Sure?")).rejects.toMatchObject({
    code: "canceled",
    exitCode: 130,
    retry: "safe",
  });
  await expect(confirmOrFail(answering(true, true), false, "Sure?")).resolves.toBeUndefined();
  await expect(confirmOrFail(answering(false), true, "Sure?")).resolves.toBeUndefined();
});

test("where nobody can be asked, --yes is missing", async () => {
  await expect(confirmOrFail(answering(false), false, "Sure?")).rejects.toMatchObject({
    code: "usage",
  });
});
