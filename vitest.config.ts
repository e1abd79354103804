import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/build-once.ts"],
    reporters: ["default", "./test/support/summary-reporter.ts"],
    /** Most tests wait for child processes: two cores take a few files more than that at a time. */
    pool: "threads",
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 60_000,
    watch: false,
  },
});
