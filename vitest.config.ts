import { defineConfig } from "vitest/config";

/** Only against a test that hangs: the machine may be slow, and `npm run campaign` has tests of minutes. */
const isCampaign = process.env["CAMPAIGN"] === "whole";
const timeout = isCampaign ? 1_800_000 : 180_000;

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: ["test/support/build-once.ts"],
    reporters: ["default", "./test/support/summary-reporter.ts"],
    /** Most tests wait for child processes: two cores take a few files more than that at a time. */
    pool: "threads",
    maxWorkers: isCampaign ? 2 : 3,
    testTimeout: timeout,
    hookTimeout: timeout,
    watch: false,
  },
});
