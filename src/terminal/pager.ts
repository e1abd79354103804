import stringWidth from "string-width";
import type { Ended, ForegroundProgram } from "./foreground.ts";
import type { DataStream } from "./streams.ts";

/** Where a text is shown. */
interface Screen {
  stdout: DataStream;
  interrupted: AbortSignal;
  runForeground(program: ForegroundProgram): Promise<Ended>;
}

interface PagerOptions {
  isAllowed: boolean;
  /** The command of the settings. */
  setting: string | undefined;
  env: Readonly<Record<string, string>>;
}

/** Height of a screen that does not report it. A pager for less than that would take what is typed or pasted next. */
const usualRows = 24;

/**
 * Shows a text on a terminal. One that is longer than the screen is shown in the pager of
 * `env` (VAULT_PAGER, even if empty), of the settings, PAGER, or less, in this order, as git does; an empty command and `cat` are
 * none. Quitting the pager early is no failure. One that cannot be started has shown nothing, and the text is written without it.
 */
export async function showText(
  screen: Screen,
  text: string,
  { isAllowed, setting, env }: PagerOptions,
): Promise<void> {
  const chosen = env["VAULT_PAGER"] === "" ? "" : (setting ?? env["PAGER"]);
  // A terminal that cannot move its cursor makes less ask for a key first.
  const isDumb = ["", "dumb"].includes(env["TERM"] ?? "");
  const isOff = !isAllowed || isDumb || /^\s*(?:cat)?\s*$/.test(chosen ?? "less");
  const { columns, rows = usualRows } = screen.stdout;
  const isLong = heightOf(text, columns) >= rows;
  if (isOff || !isLong || !(await isPaged(screen, text, chosen, env)))
    await screen.stdout.write(text);
}

/** Exit codes of a shell whose command is not there or cannot be run. */
const notStarted = [126, 127];

async function isPaged(
  screen: Screen,
  input: string,
  chosen: string | undefined,
  env: Readonly<Record<string, string>>,
): Promise<boolean> {
  try {
    const { exitCode } = await screen.runForeground({
      command: chosen === undefined ? ["less"] : ["/bin/sh", "-c", chosen],
      // Leaves at once if the text fits, shows color, and leaves the text on the screen.
      env: { LESS: "FRX", LV: "-c", ...env },
      input,
    });
    return !notStarted.includes(exitCode);
  } catch (error) {
    if (screen.interrupted.aborted) throw error;
    return false;
  }
}

/** Lines of the screen that a text takes; the last one is the next prompt's. */
function heightOf(text: string, columns: number): number {
  const lines = text.replace(/\n$/, "").split("\n");
  return lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(stringWidth(line) / columns)), 0);
}
