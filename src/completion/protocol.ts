/**
 * The hidden command that completion scripts call with the words of a command line, up to the cursor. It prints a line for each
 * candidate, with a tab and a description, and a last line that begins with a colon: `:done`, `:nospace`, `:files PREFIX` or
 * `:directories PREFIX`. Output without that line is incomplete.
 */
export const completeCommand = "__complete";
