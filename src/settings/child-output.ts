import type { Readable } from "node:stream";

const longestLine = 64 * 1024;
const leftOut = `[a line of more than ${longestLine} characters was left out]\n`;

/**
 * Says what a command of the user prints, whole lines at a time, whatever the pieces that it comes in: the redaction knows a
 * secret only as a whole. A line that is too long to be kept is left out. The last one is said when the stream ends, with a
 * line end; half a line of a stream that never ends is not said.
 */
export function sayLines(stream: Readable, say: (lines: string) => void): void {
  let rest = "";
  let isTooLong = false;
  const flush = (lines: string): void => {
    say(isTooLong ? leftOut + lines.slice(lines.indexOf("\n") + 1) : lines);
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
