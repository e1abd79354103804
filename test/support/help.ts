import { commandLine, type Way } from "../../src/way.ts";

/** Ways as texts to compare: each command, with its note in parentheses. */
export const linesOf = (ways: readonly Way[] = []): string[] =>
  ways.map(({ argv, note }) => commandLine(argv) + (note === undefined ? "" : ` (${note})`));

/** Commands alone. */
export const commandsOf = (ways: readonly Way[] = []): string[] =>
  ways.map(({ argv }) => commandLine(argv));

/** What an error says of what to do, as one text to compare: its hint, then its ways on. */
export const helpOf = ({
  hint,
  next,
}: {
  hint?: string | undefined;
  next?: readonly Way[] | undefined;
} = {}): string => [...(hint === undefined ? [] : [hint]), ...linesOf(next)].join("; ");
