import { layersOf } from "./layers.ts";

export interface Redactor {
  /** Makes a secret known. An empty one is ignored. */
  add: (secret: string) => void;
  /** The text with every occurrence of a known secret replaced, however it is escaped or encoded. */
  redact: (text: string) => string;
  /** A deep copy of a JSON value with all its strings, keys and numbers redacted. */
  redactValue: (value: unknown) => unknown;
}

const mark = "«redacted»";

/**
 * A secret of less than four characters is replaced only where it is a whole JSON string: "12" is in every date and
 * status, and blotting it out everywhere would destroy the text and give away the secret by what is missing.
 */
const shortest = 4;

/** What is looked for; `inset` characters at either end belong to the context and stay. */
interface Needle {
  text: string;
  inset: number;
}

type Range = [start: number, end: number];

/**
 * Replaces secrets as such, in base64 (both alphabets, with and without padding) and in hexadecimal, each of them also
 * JSON-escaped once or twice (in any style) or percent-encoded. All places are found first and overlapping ones joined,
 * so that the longest is replaced whole, and of two secrets that overlap in the text no end stays behind.
 */
export function createRedactor(): Redactor {
  const secrets = new Set<string>();
  const needles: Needle[] = [];

  function add(secret: string): void {
    if (secret === "" || secrets.has(secret)) return;
    secrets.add(secret);
    if (secret.length < shortest) needles.push({ text: `"${secret}"`, inset: 1 });
    else for (const text of spellings(secret)) needles.push({ text, inset: 0 });
  }

  function redact(text: string): string {
    if (needles.length === 0) return text;
    const ranges: Range[] = [];
    for (const layer of layersOf(text)) {
      for (const { text: needle, inset } of needles) {
        for (let at = layer.text.indexOf(needle); at !== -1; at = layer.text.indexOf(needle, at + 1)) {
          ranges.push([layer.origin(at + inset), layer.origin(at + needle.length - inset)]);
        }
      }
    }
    return replaceRanges(text, ranges);
  }

  function redactValue(value: unknown): unknown {
    if (typeof value === "string") return secrets.has(value) ? mark : redact(value);
    if (typeof value === "number" || typeof value === "bigint") return redact(String(value)) === String(value) ? value : mark;
    if (Array.isArray(value)) return value.map(redactValue);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [redact(key), redactValue(inner)]));
  }

  return { add, redact, redactValue };
}

function spellings(secret: string): Set<string> {
  const bytes = Buffer.from(secret);
  const base64 = bytes.toString("base64");
  const hex = bytes.toString("hex");
  const base64url = bytes.toString("base64url");
  const padding = base64.slice(base64url.length);
  return new Set([secret, base64, base64.replace(/=+$/, ""), base64url, base64url + padding, hex, hex.toUpperCase()]);
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

/**
 * Control characters except newline and tab, other line ends, and all that is not seen: they could move the cursor, rewrite
 * what stands on the screen, turn the direction of text, carry a text of their own, or make two texts look alike. The two
 * variation selectors of emoji are no such thing.
 */
const unprintable = /(?!\n|\t|\uFE0E|\uFE0F)[\p{Cc}\p{Default_Ignorable_Code_Point}\u2028\u2029\uFFF9-\uFFFB]/gu;

const visible = (character: string): string => `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** Text of the service or of a vault, fit for a terminal: each such character shown as `\u{1b}`. Never for data. */
export function printable(text: string): string {
  return text.replace(unprintable, visible);
}

/** The same for what must stay one line, whatever it holds: what follows a line end would pass for a line of ours. */
export function printableLine(text: string): string {
  return printable(text).replaceAll("\n", visible);
}

/**
 * As JSON.stringify writes it, and what `printable` makes visible escaped, as JSON may have any character: a terminal shows
 * it as it is, and a program reads exactly the value.
 */
export function jsonText(value: unknown, space: 0 | 2 = 0): string {
  const escape = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
  const escaped = (character: string): string => character.split("").map(escape).join("");
  return JSON.stringify(value, null, space).replace(unprintable, escaped);
}
