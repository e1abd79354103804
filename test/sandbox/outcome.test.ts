import { expect, test } from "vitest";
import { trying } from "../../src/sandbox/outcome.ts";

const failing = (error: Error) => () =>
  trying(
    () => {
      throw error;
    },
    "the report cannot be written",
    "invalid-input",
  );

test("what the system refuses is told with its code; a bug in what is written stays one", () => {
  const full = Object.assign(new Error("no space left"), { code: "ENOSPC" });
  expect(failing(full)).toThrow("the report cannot be written (ENOSPC)");
  const bug = new TypeError("undefined is not a function");
  expect(failing(bug)).toThrow(bug);
});
