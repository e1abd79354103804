import { attempt } from "../attempt.ts";
import { unseen } from "../protocol/limits.ts";

/** Secrets that a redactor replaces until the scope ends, and longer if others have added them too. */
export interface SecretScope {
  add: (secret: string) => void;
  /** Forgets what was added; a second call does nothing. */
  end: () => void;
}

const mark = "«redacted»";

/**
 * Length below which a secret is replaced only if it is a whole JSON string. "12" is part of every date and status: replacing it
 * everywhere would destroy the text and reveal the secret by its gaps.
 */
const shortest = 4;

/** A text to search for, of which `inset` characters at either end are context and stay. */
interface Needle {
  text: string;
  inset: number;
}

type Range = [start: number, end: number];

/**
 * Replaces secrets as such, in base64 (both alphabets, with and without padding) and in hexadecimal, each of them also JSON-escaped once
 * or twice (in any style) or percent-encoded. All occurrences are found first and overlapping ones joined: the longest is replaced whole,
 * and no end of two overlapping secrets remains. Each method can be handed on alone.
 */
export class Redactor {
  /** The needles are made when there is a text to search. */
  readonly #secrets = new Map<string, { needles: Needle[] | null; scopes: number }>();

  /** Opens a scope for secrets that are replaced for a while. */
  readonly scope = (): SecretScope => {
    const secrets = this.#secrets;
    const own = new Set<string>();
    return {
      add(secret) {
        if (secret === "" || own.has(secret)) return;
        own.add(secret);
        const { needles, scopes } = secrets.get(secret) ?? { needles: null, scopes: 0 };
        secrets.set(secret, { needles, scopes: scopes + 1 });
      },
      end() {
        for (const secret of own) {
          const known = secrets.get(secret);
          if (known !== undefined && (known.scopes -= 1) === 0) secrets.delete(secret);
        }
        own.clear();
      },
    };
  };

  /** Adds a secret to replace, for good. An empty one is ignored. */
  readonly add = this.scope().add;

  /** Returns the text with every occurrence of a secret replaced, however it is escaped or encoded. */
  readonly redact = (text: string): string => this.#redactLonger(text, 0);

  /** Whether a text is a secret, in any spelling, or contains one of at least 16 characters: a shorter one may be there by chance. */
  readonly holds = (text: string): boolean =>
    this.#redactLonger(text, 16) !== text ||
    [...this.#secrets.keys()].some((each) => spellings(each).has(text));

  /** Returns a deep copy of a JSON value with all strings, keys and numbers redacted; in ways on, a person fills these words in. */
  readonly redactValue = <T>(value: T): T => this.#redactAny(value) as T;

  #redactAny(value: unknown): unknown {
    if (typeof value === "string") return this.#secrets.has(value) ? mark : this.redact(value);
    if (typeof value === "number" || typeof value === "bigint")
      return this.redact(String(value)) === String(value) ? value : mark;
    if (Array.isArray(value)) return value.map(this.redactValue);
    if (typeof value !== "object" || value === null) return value;
    const copy: Record<string, unknown> = Object.fromEntries(
      Object.entries(value).map(([key, inner]) => [this.redact(key), this.#redactAny(inner)]),
    );
    const [{ argv: given }, { argv, fill }] = [value as { argv?: unknown }, copy];
    if (!Array.isArray(given) || !Array.isArray(argv)) return copy;
    const words: readonly unknown[] = argv;
    const marked = words.filter((word) => typeof word === "string" && !given.includes(word));
    if (marked.length === 0) return copy;
    const before: readonly unknown[] = Array.isArray(fill) ? fill : [];
    return { ...copy, fill: [...new Set([...before, ...marked])] };
  }

  #redactLonger(text: string, least: number): string {
    if (this.#secrets.size === 0) return text;
    const ranges: Range[] = [];
    const needles = [...this.#secrets].flatMap(([secret, known]) =>
      secret.length < least ? [] : (known.needles ??= needlesOf(secret)),
    );
    for (const layer of layersOf(text)) {
      for (const { text: needle, inset } of needles) {
        let at = -1;
        while ((at = layer.text.indexOf(needle, at + 1)) !== -1)
          ranges.push([layer.origin(at + inset), layer.origin(at + needle.length - inset)]);
      }
    }
    return replaceRanges(text, ranges);
  }
}

const needlesOf = (secret: string): Needle[] =>
  secret.length < shortest
    ? [{ text: `"${secret}"`, inset: 1 }]
    : [...spellings(secret)].map((text) => ({ text, inset: 0 }));

function spellings(secret: string): Set<string> {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString("base64");
  const hex = bytes.toString("hex");
  const base64url = bytes.toString("base64url");
  const padding = base64.slice(base64url.length);
  return new Set([
    secret,
    base64,
    base64.replace(/=+$/, ""),
    base64url,
    base64url + padding,
    hex,
    hex.toUpperCase(),
  ]);
}

function replaceRanges(text: string, ranges: Range[]): string {
  ranges.sort((a, b) => a[0] - b[0] || b[1] - a[1]);
  let result = "";
  let done = 0;
  let covered = -1;
  for (const [start, end] of ranges) {
    if (start >= covered) result += text.slice(done, start) + mark;
    covered = Math.max(covered, end);
    done = covered;
  }
  return result + text.slice(done);
}

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
function layersOf(text: string): Layer[] {
  const plain: Layer = { text, origin: (index) => index };
  const once = decoded(plain, jsonEscape, decodeJson);
  const twice = once && decoded(once, jsonEscape, decodeJson);
  const percent = decoded(plain, percentEscape, decodePercent);
  const percentJson = percent && decoded(percent, jsonEscape, decodeJson);
  const readings = [plain, once, twice, percent, percentJson];
  const joined = readings.map(
    (layer) => layer && decoded(layer, spacedDigit, (digit) => digit.charAt(0)),
  );
  return [...readings, ...joined].filter((layer) => layer !== undefined);
}

const decodeJson = (escape: string): string => JSON.parse(`"${escape}"`) as string;

const decodePercent = (escape: string): string =>
  attempt(() => decodeURIComponent(escape)) ?? escape;

function decoded(
  layer: Layer,
  pattern: RegExp,
  decode: (escape: string) => string,
): Layer | undefined {
  const origins: number[] = [];
  let done = 0;
  const keepUntil = (end: number): void => {
    for (; done < end; done += 1) origins.push(layer.origin(done));
  };
  const text = layer.text.replaceAll(pattern, (escape: string, index: number) => {
    keepUntil(index);
    const plain = decode(escape);
    for (let unit = 0; unit < plain.length; unit += 1) origins.push(layer.origin(index));
    done += escape.length;
    return plain;
  });
  if (done === 0) return undefined;
  keepUntil(layer.text.length);
  return { text, origin: (index) => origins[index] ?? layer.origin(done) };
}

/**
 * Control characters except newline and tab, other line ends, and invisible characters: they could move the cursor, overwrite the
 * screen, change the direction of text, carry hidden text, or make two texts look alike. The two variation selectors of emoji are harmless.
 */
function replaceUnprintable(text: string, by: (character: string) => string): string {
  // Most texts are plain, and the classes of Unicode below take a millisecond to be made.
  if (!/[^\n\t\x20-\x7E]/.test(text)) return text;
  return text.replaceAll(new RegExp(`(?!\n|\t|\uFE0E|\uFE0F)[${unseen}]`, "gu"), by);
}

const visible = (character: string): string =>
  `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Returns a text of the service or a vault with unprintable characters escaped as `\u{1b}`, for a terminal. Never for data. */
export function printable(text: string): string {
  return replaceUnprintable(text, visible);
}

/** Returns a printable text on one line: text after a line end could pass for a line of this program. */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", visible);
}

/** Whether a text is one line, of characters that can be seen. */
export const isPrintableLine = (text: string): boolean =>
  printableLine(text) === text && !text.includes("\t") && text.isWellFormed();

/** Formats a value as JSON with unprintable characters escaped: safe on a terminal, and parsed to exactly the same value. */
export function jsonText(value: unknown, space: 0 | 2 = 0): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const escaped = (character: string): string => character.split("").map(escape).join("");
  return replaceUnprintable(JSON.stringify(value, null, space), escaped);
}
