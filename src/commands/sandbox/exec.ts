import type { Basics } from "../../parts/settings.ts";
import type { ExecOptions } from "./descriptor.ts";
import { openPrivateSandbox } from "./folder.ts";
import { sandboxSettings } from "./start.ts";

/** Runs a program against a sandbox of its own, and ends as that program ended. */
export async function runExec({ io, settings }: Basics, options: ExecOptions): Promise<number> {
  const sandbox = await openPrivateSandbox(io.host, sandboxSettings({ io, settings }, options));
  try {
    return await io.host.runForeground(options.command, sandbox.env);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall?.startsWith("spawn") !== true) throw error;
    const why = code === "ENOENT" ? "no such program" : code;
    await io.host.stderr.write(`vault: ${options.command[0]} cannot be started: ${why}\n`);
    return 127;
  } finally {
    await sandbox.close();
  }
}
