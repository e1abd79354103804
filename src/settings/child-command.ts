import type { Readable } from "node:stream";
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

const secretNames = new Set(
  settingNames.map(definitionOf).flatMap(({ form, env = [] }) => (form === "secret" ? env : [])),
);

/** Proxy variables, which stay even with a password: it is meant for every program, and the command may need the proxy. */
const forEveryProgram = /^(https?|all|no)_proxy$/i;

/**
 * The environment for a command of the user, without the variables of our secrets and without any other whose value contains a
 * secret, which `redact` would change.
 */
export function environmentWithoutSecrets(
  env: Readonly<Record<string, string | undefined>>,
  redact: (text: string) => string,
): Record<string, string> {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    if (value === undefined || secretNames.has(name)) return false;
    return forEveryProgram.test(name) || redact(value) === value;
  });
  return Object.fromEntries(entries);
}
