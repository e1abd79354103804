/** Characters two columns wide: East Asian scripts, full-width forms and emoji. A class of Unicode takes its time to be made. */
const isWide = (character: string): boolean =>
  /^(?:\p{Emoji_Presentation}|.\uFE0F|[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\u9FFF\uA000-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF01-\uFF60\uFFE0-\uFFE6]|[\u{1B000}-\u{1B2FF}\u{20000}-\u{3FFFD}])/u.test(
    character,
  );

/** Characters without a column of their own. */
const isZero = (character: string): boolean => /^[\p{Mark}\p{Cf}]+$/u.test(character);

let segmenter: Intl.Segmenter | undefined;

/** Yields the grapheme clusters of a text, with the columns that each covers. */
function* characters(text: string): Generator<{ character: string; columns: number }> {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: "grapheme" });
  for (const { segment } of segmenter.segment(text)) {
    yield { character: segment, columns: isZero(segment) ? 0 : isWide(segment) ? 2 : 1 };
  }
}

/** Printable ASCII and some characters of our own and of Western names, all one column wide: the rest needs Intl, which is slow to load. */
const narrow = /^[\x20-\x7E\xC0-\xFF\u2010-\u2026\u2500-\u257F]*$/;

/** Returns the number of columns that a text without color sequences covers. */
export function widthOf(text: string): number {
  if (narrow.test(text)) return text.length;
  let width = 0;
  for (const { columns } of characters(text)) width += columns;
  return width;
}

/** Wraps a text to lines of at most `width` columns, at spaces if there are any, else anywhere. */
export function wrap(text: string, width: number): string[] {
  return text
    .split("\n")
    .flatMap((line) => wrapLine(line.replaceAll("\t", "  "), Math.max(2, width)));
}

function wrapLine(line: string, width: number): string[] {
  const lines: string[] = [];
  let current = "";
  for (const word of line.split(/(?<= )/)) {
    if (widthOf((current + word).trimEnd()) <= width) {
      current += word;
      continue;
    }
    if (current !== "") lines.push(current.trimEnd());
    const pieces = breakWord(word.trimEnd(), width);
    lines.push(...pieces.slice(0, -1));
    current = (pieces.at(-1) ?? "") + (word.endsWith(" ") ? " " : "");
  }
  lines.push(current.trimEnd());
  return lines;
}

/** Breaks a word, after a slash or a dash if there is one. */
function breakWord(word: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const { character } of characters(word)) {
    if (widthOf(piece + character) > width) {
      const whole = /^.*[/-]/u.exec(piece)?.[0] ?? piece;
      pieces.push(whole);
      piece = piece.slice(whole.length);
    }
    piece += character;
  }
  return [...pieces, piece];
}

/**
 * Wraps the lines of a message at spaces, and indents what continues a line. A long word stays whole, and so does a command to run
 * next: both are copied.
 */
export function wrapMessage(text: string, width: number): string {
  const wrapped = text.split("\n").map((line) => {
    if (widthOf(line) <= width || /^ *(?:next|or|then): /.test(line)) return line;
    const indent = `${/^ */.exec(line)?.[0] ?? ""}  `;
    return line.split(/(?<=\S) /).reduce((before, word) => {
      const end = before.slice(before.lastIndexOf("\n") + 1);
      return widthOf(`${end} ${word}`) <= width
        ? `${before} ${word}`
        : `${before}\n${indent}${word}`;
    });
  });
  return wrapped.join("\n");
}

/** Narrows the widest column, by one at a time, until all fit into `available` or none can shrink. */
export function shrink(widths: readonly number[], available: number, narrowest: number): number[] {
  const result = [...widths];
  for (
    let excess = result.reduce((sum, width) => sum + width, 0) - available;
    excess > 0;
    excess -= 1
  ) {
    const widest = result.indexOf(Math.max(...result));
    const width = result[widest] ?? 0;
    if (width <= narrowest) break;
    result[widest] = width - 1;
  }
  return result;
}
