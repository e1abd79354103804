import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";

/** Ends a run with a line that programs read: `12 passed, 0 failed` (and how many were skipped, if any). */
export default class SummaryReporter implements Reporter {
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
