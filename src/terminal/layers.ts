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
  const origins: number[] = [];
  let text = "";
  let done = 0;
  const keepUntil = (end: number): void => {
    text += layer.text.slice(done, end);
    for (; done < end; done += 1) origins.push(layer.origin(done));
  };
  for (const { 0: escape, index } of layer.text.matchAll(pattern)) {
    keepUntil(index);
    const plain = decode(escape);
    text += plain;
    for (let unit = 0; unit < plain.length; unit += 1) origins.push(layer.origin(index));
    done += escape.length;
  }
  if (done === 0) return undefined;
  keepUntil(layer.text.length);
  return { text, origin: (index) => origins[index] ?? layer.origin(done) };
}
