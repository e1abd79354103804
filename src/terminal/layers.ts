/** A decoded form of a text, with the original offset of each of its characters. */
interface Layer {
  text: string;
  /** Returns the offset in the original text of the character at this index; `text.length` maps to the end. */
  origin(index: number): number;
}

const jsonEscape = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g;

/** One character in UTF-8, percent-encoded. */
const percentEscape =
  /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}/gi;

/** A digit and the spaces or dashes before the next digit, as in a card number. */
const spacedDigit = /\d[\s\u2010-\u2015-]{1,2}(?=\d)/g;

/**
 * Returns the forms of a text in which a secret may appear: as it is, with JSON escapes decoded once and twice, and with percent-encoding
 * decoded (and the JSON in it); each of them also with its digits joined. Decoding the text covers every style of escaping and grouping
 * (`\/`, `\u003d`, `%2f`), which encoding the secret cannot. Forms that do not differ are left out.
 */
export function layersOf(text: string): Layer[] {
  const plain: Layer = { text, origin: (index) => index };
  const once = resolve(plain, jsonEscape, decodeJson);
  const twice = once && resolve(once, jsonEscape, decodeJson);
  const percent = resolve(plain, percentEscape, decodePercent);
  const percentJson = percent && resolve(percent, jsonEscape, decodeJson);
  const readings = [plain, once, twice, percent, percentJson];
  const joined = readings.map(
    (layer) => layer && resolve(layer, spacedDigit, (digit) => digit.charAt(0)),
  );
  return [...readings, ...joined].filter((layer) => layer !== undefined);
}

const decodeJson = (escape: string): string => JSON.parse(`"${escape}"`) as string;

function decodePercent(escape: string): string {
  try {
    return decodeURIComponent(escape);
  } catch {
    return escape;
  }
}

function resolve(
  layer: Layer,
  pattern: RegExp,
  decode: (escape: string) => string,
): Layer | undefined {
  const pieces: string[] = [];
  // Start of each run, in the decoded text and in the layer below. Memory grows with escapes, not characters.
  const starts: number[] = [0];
  const sources: number[] = [0];
  let length = 0;
  let done = 0;
  for (const match of layer.text.matchAll(pattern)) {
    const decoded = decode(match[0]);
    pieces.push(layer.text.slice(done, match.index), decoded);
    length += match.index - done + decoded.length;
    done = match.index + match[0].length;
    starts.push(length);
    sources.push(done);
  }
  if (pieces.length === 0) return undefined;
  pieces.push(layer.text.slice(done));
  return { text: pieces.join(""), origin: (index) => layer.origin(source(index, starts, sources)) };
}

/** Maps an index to the layer below. Within a run, literal text followed by one escape, offsets are the same in both. */
function source(index: number, starts: readonly number[], sources: readonly number[]): number {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if ((starts[middle] ?? 0) <= index) low = middle;
    else high = middle - 1;
  }
  return (sources[low] ?? 0) + index - (starts[low] ?? 0);
}
