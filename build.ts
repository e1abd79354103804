import { spawnSync } from "node:child_process";
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";

const root = import.meta.dirname;
const notices = "THIRD-PARTY-NOTICES.md";

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
