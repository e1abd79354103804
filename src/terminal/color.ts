/** What decides about color: `choice` is --color (true) or --no-color (false). */
interface ColorFacts {
  choice: boolean | undefined;
  isTTY: boolean;
  env: Readonly<Record<string, string | undefined>>;
}

/** The flag first, then NO_COLOR, FORCE_COLOR, TERM=dumb; otherwise only on a terminal. Empty variables say nothing. */
export function wantsColor({ choice, isTTY, env }: ColorFacts): boolean {
  if (choice !== undefined) return choice;
  if (isSet(env["NO_COLOR"])) return false;
  if (isSet(env["FORCE_COLOR"])) return !["0", "false"].includes(env["FORCE_COLOR"]);
  return isTTY && env["TERM"] !== "dumb";
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
