import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  appendFileSync,
  cpSync,
  existsSync,
  readdirSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { tempDir } from "./support/cleanup.ts";

const root = join(import.meta.dirname, "..");

/** A checkout that was built before, with a file that the former build left. */
function builtCheckout(): string {
  const checkout = tempDir("checkout");
  const parts = ["src", "completions", "dist", "package.json", "packaging"];
  for (const name of [...parts, "build.ts"])
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
  writeFileSync(join(checkout, "dist", "former.cjs"), "");
  return checkout;
}

const listing = (folder: string): string =>
  existsSync(folder) ? readdirSync(folder).toSorted().join(" ") : "";

test("an installed command that is a link meets a whole program while it is built again", async () => {
  const checkout = builtCheckout();
  const dist = join(checkout, "dist");
  const former = listing(dist);
  const seen = new Set<string>();
  const child = spawn(process.execPath, ["build.ts"], {
    cwd: checkout,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = Promise.all([text(child.stdout), text(child.stderr)]);
  const look = setInterval(() => seen.add(listing(dist)), 1);
  const [code] = (await once(child, "exit")) as [number | null];
  clearInterval(look);
  expect(code).toBe(0);
  expect(await said).toEqual(["Built dist\n", ""]);
  const present = listing(dist);
  expect(present).toBe(former.replace(" former.cjs", ""));
  // Between two renames there is none for an instant; the entry runs the sources then.
  seen.delete("");
  expect([former, present]).toEqual(expect.arrayContaining([...seen]));
  expect(readdirSync(checkout)).toContain("THIRD-PARTY-NOTICES.md");
});

test("a build that fails leaves the former one, and nothing else", async () => {
  const checkout = builtCheckout();
  const former = readdirSync(checkout);
  const listed = listing(join(checkout, "dist"));
  appendFileSync(join(checkout, "src", "main.ts"), "const = ;\n");
  const child = spawn(process.execPath, ["build.ts"], { cwd: checkout, stdio: "ignore" });
  expect(await once(child, "exit")).toEqual([1, null]);
  expect(listing(join(checkout, "dist"))).toBe(listed);
  expect(readdirSync(checkout)).toEqual(former);
});
