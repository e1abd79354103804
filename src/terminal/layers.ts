/** A reading of a text, and where in the text each of its characters came from. */
interface Layer {
  text: string;
  /** The offset in the original text of the character at this index (of the end, for the index behind the last). */
  origin(index: number): number;
}

const jsonEscape = /\\(?:u[0-9a-fA-F]{4}|["\\/bfnrt])/g;

/** One character in UTF-8, percent-encoded. */
const percentEscape = /%[0-7][0-9a-f]|%[cd][0-9a-f]%[89ab][0-9a-f]|%e[0-9a-f](?:%[89ab][0-9a-f]){2}|%f[0-7](?:%[89ab][0-9a-f]){3}/gi;

/** A digit with what sets it apart from the next one: spaces or dashes, as in a card number. */
const spacedDigit = /\d[\s\u2010-\u2015-]{1,2}(?=\d)/g;

/**
 * The readings in which a secret may stand: the text as it is, with its JSON escapes resolved once and twice, and with
 * its percent-encoding resolved (and the JSON in it); each of them also with its digits joined. Reading, rather than trying
 * every way to write, covers all styles of escaping and grouping at once (`\/`, `\u003d`, `%2f`). Readings that are no
 * different are left out.
 */
export function layersOf(text: string): Layer[] {
  const plain: Layer = { text, origin: (index) => index };
  const once = resolve(plain, jsonEscape, decodeJson);
  const twice = once && resolve(once, jsonEscape, decodeJson);
  const percent = resolve(plain, percentEscape, decodePercent);
  const percentJson = percent && resolve(percent, jsonEscape, decodeJson);
  const readings = [plain, once, twice, percent, percentJson];
  const joined = readings.map((layer) => layer && resolve(layer, spacedDigit, (digit) => digit.charAt(0)));
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

function resolve(layer: Layer, pattern: RegExp, decode: (escape: string) => string): Layer | undefined {
  const pieces: string[] = [];
  // Grows with the number of escapes, not of characters: [index in the reading, index in the layer below] of each run.
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

/** Each run is literal text and the one character behind it that was escaped: up to there the two count alike. */
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
