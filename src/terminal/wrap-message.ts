/**
 * Wraps the lines of a message at spaces, and indents what continues a line. A long word stays whole, and so does a command to run
 * next: both are copied. A line with wide characters may be longer than that, which the terminal wraps.
 */
export function wrapMessage(text: string, width: number): string {
  const wrapped = text.split("\n").map((line) => {
    if (line.length <= width || /^ *(?:next|or|then): /.test(line)) return line;
    const indent = `${/^ */.exec(line)?.[0] ?? ""}  `;
    return line.split(/(?<=\S) /).reduce((before, word) => {
      const end = before.slice(before.lastIndexOf("\n") + 1);
      return `${end} ${word}`.length <= width ? `${before} ${word}` : `${before}\n${indent}${word}`;
    });
  });
  return wrapped.join("\n");
}
