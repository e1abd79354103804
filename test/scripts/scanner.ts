// npm run scanner: compiles the folder scanner to WebAssembly, as a module that sources and build can both import.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { compileScanner } from "../support/scanner.ts";

writeFileSync(
  join(import.meta.dirname, "..", "..", "src", "audit", "read", "scan", "scanner-module.ts"),
  compileScanner(),
);
