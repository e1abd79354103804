/**
 * The word that the scripts put before the words of a command line, up to the cursor. The answer is a line for each
 * candidate, its description behind a tab, and a last line that begins with a colon: `:done`, `:nospace`,
 * `:files PREFIX` or `:directories PREFIX`. Without that line there was no answer.
 */
export const completeCommand = "__complete";
