import type { Readable } from "node:stream";
import { withoutPassword } from "../protocol/address.ts";
import { definitionOf, settingNames } from "./definitions.ts";

const longestLine = 64 * 1024;
const leftOut = `[a line of more than ${longestLine} characters was omitted]\n`;

/**
 * Passes on the output of a user's command in whole lines, because the redaction recognizes only whole secrets. Leaves out lines
 * that are too long. Completes a last line when the stream ends; drops it if the stream never ends.
 */
export function forwardLines(stream: Readable, forward: (lines: string) => void): void {
  let rest = "";
  let isTooLong = false;
  const flush = (lines: string): void => {
    forward(isTooLong ? leftOut + lines.slice(lines.indexOf("\n") + 1) : lines);
    rest = "";
    isTooLong = false;
  };
  stream.setEncoding("utf8").on("data", (text: string) => {
    const end = text.lastIndexOf("\n") + 1;
    if (end > 0) flush(rest + text.slice(0, end));
    rest += text.slice(end);
    if (rest.length <= longestLine) return;
    rest = "";
    isTooLong = true;
  });
  stream.on("end", () => {
    if (rest !== "" || isTooLong) flush(`${rest}\n`);
  });
}

/** The variables of settings that are secrets, or of the others. */
const variables = (secret: boolean): string[] =>
  settingNames
    .map(definitionOf)
    .flatMap(({ form, env = [] }) => ((form === "secret") === secret ? env : []));

const secretNames = new Set(variables(true));
/** Without the name of a profile or a state, a `vault` that a command runs would use another one. */
const settingsKept = new Set(["VAULTSVC_CONFIG_DIR", "VAULTSVC_SANDBOX", ...variables(false)]);

/** What every program needs, whatever its value. Proxies stay even with a password: it is meant for every program. */
const forEveryProgram =
  /^(?:PATH|HOME|PWD|OLDPWD|SHELL|USER|LOGNAME|HOSTNAME|TERM|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_\w+|(?:https?|all|no)_proxy)$/i;

/**
 * The environment for a command of the user, without our secrets: their variables, any other that `redactor` holds for one, and the
 * password in the address of the state.
 */
export function environmentWithoutSecrets(
  env: Readonly<Record<string, string | undefined>>,
  redactor: { holds: (text: string) => boolean },
): Record<string, string> {
  const entries = Object.entries(env).flatMap(([name, value]) => {
    if (value === undefined || secretNames.has(name)) return [];
    const isKept = forEveryProgram.test(name) || settingsKept.has(name);
    if (!isKept && redactor.holds(value)) return [];
    return [[name, name === "VAULTSVC_STATE" ? withoutPassword(value) : value]];
  });
  return Object.fromEntries(entries) as Record<string, string>;
}
