import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { isWhole, sample, tried } from "../support/campaign.ts";
import type { Case, Operation, Row } from "./fault-rows.ts";
import { cases, nameOf, tryCase } from "./fault-rows.ts";
import { line, linesOf, render } from "./fault-table.ts";

/** The table of one operation: the whole campaign writes or compares all of it, the short one some of its rows. */
export function faultSuite(operation: Operation, most: number): void {
  const file = join(import.meta.dirname, `faults-${operation}.md`);
  const all = cases(operation);
  const found = new Map<string, Row>();

  describe.concurrent(`every fault at every call of ${operation}`, () => {
    it.each(sample(all, most).map((one) => [nameOf(one), one] as const))(
      "%s",
      async (name, one: Case) => {
        const row = await tryCase(one);
        found.set(name, row);
        if (isWhole) return;
        const index = all
          .filter(({ step }) => step === one.step)
          .findIndex((other) => nameOf(other) === name);
        expect(line(row).replaceAll(/ +(?=\|)/g, " ")).toBe(linesOf(file, one.step)[index]);
        tried("faults at a call", 1);
      },
    );
  });

  describe.runIf(isWhole)(`the table of ${operation}`, () => {
    it("is the one in the repository", async () => {
      const rows = (step: Case["step"]): Row[] =>
        all.filter((one) => one.step === step).flatMap((one) => found.get(nameOf(one)) ?? []);
      expect(found.size).toBe(all.length);
      await expect(
        render(operation, { start: rows("start"), end: rows("end") }),
      ).toMatchFileSnapshot(file);
      tried("faults at a call", found.size);
    });
  });

  afterAll(() => found.clear());
}
