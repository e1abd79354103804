import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { compileScanner } from "../support/scanner.ts";

it("the module is what its sources are compiled to (else: npm run scanner)", () => {
  const path = join(
    import.meta.dirname,
    "..",
    "..",
    "src",
    "audit",
    "read",
    "scan",
    "scanner-module.ts",
  );
  expect(readFileSync(path, "utf8")).toBe(compileScanner());
});
