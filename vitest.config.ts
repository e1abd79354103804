import { defineConfig } from "vitest/config";
import type { Reporter, TestModule, TestRunEndReason, TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";
import { isLikeDisk, memoryFolder } from "./test/support/campaign.ts";

/** `whole` or `short` with `npm run torture` and `npm run torture:short`; else the suite, which has nothing of the campaign. */
const torture = process.env["TORTURE"];
/** Set with `npm run stories`, which plays whole sessions as a person or a script has them: not part of the suite. */
const stories = process.env["STORIES"] !== undefined;
if (isLikeDisk()) process.env["TMPDIR"] ??= memoryFolder;

/** The tests of the suite that have more cases in the whole campaign: test/support/campaign.ts. */
const deepened = [
  "test/crash/**/*.test.ts",
  "test/audit/campaign.test.ts",
  "test/audit/emulated.test.ts",
  "test/audit/records.test.ts",
  "test/terminal/redactor.test.ts",
  "test/cli/hostile-answers.test.ts",
  "test/cli/shared-state.test.ts",
  "test/store/postgres/move.test.ts",
  "test/store/postgres/restore.test.ts",
];
/** Only against a test that hangs: the machine may be slow, and the whole campaign has tests of many minutes. */
const timeout = torture === "whole" ? 4_000_000 : 180_000;

/** The campaign's files of many minutes, longest first, so that none of them is left alone at the end. */
const longest = [
  "long-run",
  "crash-points",
  "team",
  "team-steps",
  "power-loss",
  "model",
  "model-engine",
  "faults-get",
  "faults-update",
  "interleavings",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification): number => {
      const at = longest.findIndex((name) => moduleId.endsWith(`torture/${name}.test.ts`));
      return at < 0 ? longest.length : at;
    };
    return (await super.sort(files)).toSorted((a, b) => rank(a) - rank(b));
  }
}

/** Ends a run with a line that programs read: `12 passed, 0 failed` (and how many were skipped, if any). */
class SummaryReporter implements Reporter {
  onTestRunEnd(
    modules: readonly TestModule[],
    unhandledErrors: readonly unknown[],
    reason: TestRunEndReason,
  ): void {
    const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 };
    for (const module of modules) {
      const before = count.passed + count.failed + count.skipped;
      for (const test of module.children.allTests()) count[test.result().state] += 1;
      const ran = count.passed + count.failed + count.skipped > before;
      // A file that cannot be loaded has no tests to fail.
      if (!module.ok() && (!ran || module.errors().length > 0)) count.failed += 1;
    }
    if (reason === "failed" && count.failed === 0) count.failed = 1;
    const skipped = count.skipped === 0 ? "" : `, ${count.skipped} skipped`;
    process.stdout.write(`\n${count.passed} passed, ${count.failed} failed${skipped}\n`);
  }
}

export default defineConfig({
  test: {
    include:
      torture === undefined
        ? [stories ? "test/stories/**/*.test.ts" : "test/**/*.test.ts"]
        : [
            "test/torture/**/*.test.ts",
            "test/contract/*.test.ts",
            ...(torture === "whole" ? deepened : []),
          ],
    exclude: [
      "node_modules/**",
      ...(torture === undefined ? ["test/torture/**"] : []),
      ...(stories ? [] : ["test/stories/**"]),
    ],
    globalSetup: "test/support/global-setup.ts",
    reporters: ["default", new SummaryReporter()],
    setupFiles: "test/support/setup.ts",
    /** Loading the program anew for each file took as long as the tests; of the campaign's, some open thousands of states, until their process ends. */
    isolate: torture !== undefined,
    /** Most tests wait for child processes: two cores take a few files more than that at a time. */
    maxWorkers: 3,
    expect: { poll: { timeout: 30_000 } },
    testTimeout: timeout,
    hookTimeout: timeout,
    sequence: { sequencer: LongestFirst },
    /** As programs that tests start have it: times are written in the zone of the machine. */
    env: { TZ: "UTC" },
    watch: false,
  },
});
