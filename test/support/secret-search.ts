import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Every spelling in which a careless service may repeat what it was sent. */
export const spellings: Readonly<Record<string, (text: string) => string>> = {
  asItIs: (text) => text,
  jsonEscaped: (text) => JSON.stringify(text).slice(1, -1).replaceAll("/", "\\/"),
  percentEncoded: encodeURIComponent,
  base64: (text) => Buffer.from(text).toString("base64"),
  base64url: (text) => Buffer.from(text).toString("base64url"),
  hex: (text) => Buffer.from(text).toString("hex"),
};

/** The secrets of a test run, by name. */
export class Secrets {
  readonly #known = new Map<string, Buffer[]>();

  add(name: string, secret: string | undefined): void {
    if (secret === undefined || secret === "") return;
    // The last group of base64 depends on what follows: without it the search also finds a secret inside of a longer text.
    const whole = Object.values(spellings).map((spell) => spell(secret));
    this.#known.set(
      `${name} ${secret}`,
      [...new Set(whole.map((text) => text.replace(/=+$/, "")))].map((text) => Buffer.from(text)),
    );
  }

  get count(): number {
    return this.#known.size;
  }

  /** The names of the secrets that these bytes hold, in any spelling. */
  in(bytes: Buffer | string): string[] {
    const haystack = Buffer.from(bytes);
    return [...this.#known]
      .filter(([, needles]) => needles.some((needle) => haystack.includes(needle)))
      .map(([name]) => name);
  }

  /** The same for every file below a folder, with the name of the file. */
  inFolder(folder: string): string[] {
    const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
    const files = entries
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
    return files.flatMap((file) => this.in(readFileSync(file)).map((name) => `${file}: ${name}`));
  }
}
