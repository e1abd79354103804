const same = (text: string): string => text;

/** Colors by meaning, here without color: each function returns its text unchanged. */
export const plain = {
  same,
  good: same,
  warn: same,
  bad: same,
  /** Secondary text: labels, distances, rules. */
  dim: same,
  /** The most important part of a line. */
  strong: same,
  /** Text to type or paste. */
  code: same,
};
export type Palette = Readonly<typeof plain>;

/** Creates a palette, loading chalk only for color. It uses the sixteen basic colors, which follow the theme of the terminal. */
export async function createPalette(color: boolean): Promise<Palette> {
  if (!color) return plain;
  const { Chalk } = await import("chalk");
  const chalk = new Chalk({ level: 1 });
  return {
    same,
    good: chalk.green,
    warn: chalk.yellow,
    bad: chalk.red,
    dim: chalk.dim,
    strong: chalk.bold,
    code: chalk.cyan,
  };
}

/**
 * Decides by the flag (`choice`: --color or --no-color), then by NO_COLOR, FORCE_COLOR and TERM=dumb, ignoring empty variables; otherwise,
 * color is for terminals only.
 */
export function wantsColor(
  choice: boolean | undefined,
  isTTY: boolean,
  env: Readonly<Record<string, string | undefined>>,
): boolean {
  if (choice !== undefined) return choice;
  if (env["NO_COLOR"]) return false;
  if (env["FORCE_COLOR"]) return !["0", "false"].includes(env["FORCE_COLOR"]);
  return isTTY && env["TERM"] !== "dumb";
}
