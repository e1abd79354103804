import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const root = import.meta.dirname;
const notices = "THIRD-PARTY-NOTICES.md";

/** Tells builds apart: what they compile to is cached by it. */
function idOf(folder: string): string {
  const hash = createHash("sha256");
  for (const file of readdirSync(folder).toSorted())
    hash.update(`${file}\0`).update(readFileSync(join(folder, file)));
  return hash.digest("hex").slice(0, 16);
}

/**
 * Builds the program into a folder of its own and swaps that in, whole: who starts the program meanwhile gets the former one,
 * which also stays where the build fails. The notices of what is bundled lie beside package.json afterwards.
 */
export function build(): { ok: boolean; output: string } {
  const dist = join(root, "dist");
  const fresh = `${dist}.new-${process.pid}`;
  const former = `${dist}.old-${process.pid}`;
  const rolldown = join(root, "node_modules", "rolldown", "bin", "cli.mjs");
  try {
    const run = spawnSync(process.execPath, [rolldown, "-c", "-d", fresh], {
      cwd: root,
      encoding: "utf8",
    });
    const ok = run.status === 0;
    if (ok) {
      writeFileSync(join(fresh, "build"), idOf(fresh));
      renameSync(join(fresh, notices), join(root, notices));
      if (existsSync(dist)) renameSync(dist, former);
      renameSync(fresh, dist);
    }
    return { ok, output: `${run.stdout ?? ""}${run.stderr ?? ""}` };
  } finally {
    for (const folder of [fresh, former]) rmSync(folder, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const { ok, output } = build();
  process.exitCode = ok ? 0 : 1;
  if (ok) process.stdout.write("Built dist\n");
  else process.stderr.write(output);
}
