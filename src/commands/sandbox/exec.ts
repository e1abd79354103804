import type { App } from "../../app.ts";
import type { ExecOptions } from "./descriptor.ts";
import { openPrivateSandbox } from "./folder.ts";
import { sandboxSettings } from "./start.ts";

/** Runs a program against a sandbox of its own, and ends as that program ended. */
export async function runExec(
  app: Pick<App, "flags" | "host" | "settings">,
  options: ExecOptions,
): Promise<number> {
  const sandbox = await openPrivateSandbox(app, sandboxSettings(app, options));
  try {
    return await app.host.runForeground(options.command, sandbox.env);
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException;
    if (syscall?.startsWith("spawn") !== true) throw error;
    const why = code === "ENOENT" ? "no such program" : code;
    await app.host.stderr.write(`vault: ${options.command[0]} cannot be started: ${why}\n`);
    return 127;
  } finally {
    await sandbox.close();
  }
}
