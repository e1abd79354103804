/** Inputs of the decision on color; `choice` is true for --color and false for --no-color. */
interface ColorFacts {
  choice: boolean | undefined;
  isTTY: boolean;
  env: Readonly<Record<string, string | undefined>>;
}

/** Decides by the flag, then by NO_COLOR, FORCE_COLOR and TERM=dumb, ignoring empty variables; otherwise, color is for terminals only. */
export function wantsColor({ choice, isTTY, env }: ColorFacts): boolean {
  if (choice !== undefined) return choice;
  if (isSet(env["NO_COLOR"])) return false;
  if (isSet(env["FORCE_COLOR"])) return !["0", "false"].includes(env["FORCE_COLOR"]);
  return isTTY && env["TERM"] !== "dumb";
}

function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}
