/** Colors by meaning. Without color every one returns its text unchanged. */
export interface Palette {
  readonly good: (text: string) => string;
  readonly warn: (text: string) => string;
  readonly bad: (text: string) => string;
  /** What matters less: labels, distances, rules. */
  readonly dim: (text: string) => string;
  /** What matters most in a line. */
  readonly strong: (text: string) => string;
  /** Something to be typed or pasted. */
  readonly code: (text: string) => string;
}

const same = (text: string): string => text;

export const plain: Palette = { good: same, warn: same, bad: same, dim: same, strong: same, code: same };

/** Loads chalk only where there is color. The basic sixteen colors: each terminal shows them in its own theme. */
export async function createPalette(color: boolean): Promise<Palette> {
  if (!color) return plain;
  const { Chalk } = await import("chalk");
  const chalk = new Chalk({ level: 1 });
  return { good: chalk.green, warn: chalk.yellow, bad: chalk.red, dim: chalk.dim, strong: chalk.bold, code: chalk.cyan };
}
