import { VaultError } from "../errors.ts";
import type { ValueSources } from "../secrets/secret-value.ts";

/** Bytes that an option may take from standard input. */
const inputLimit = 64 * 1024 * 1024;

/** Read to its end for one option; nothing can be typed there afterwards. */
export function stdinForOne(readAll: (limit: number) => Promise<Uint8Array>): { read: ValueSources["readStdin"]; isTaken(): boolean } {
  let reader: string | undefined;
  const read = async (flag: string): Promise<string> => {
    if (reader !== undefined) {
      throw new VaultError("usage", `${flag}: standard input was read for ${reader} already, and only one option can have it`, {
        hint: "give one of them by @FILE or env:NAME",
      });
    }
    reader = flag;
    const bytes = await readAll(inputLimit);
    try {
      return exactText(bytes);
    } catch {
      throw new VaultError("invalid-input", `${flag}: standard input must be UTF-8`, { hint: "nothing was sent" });
    }
  };
  return { read, isTaken: () => reader !== undefined };
}

/** Bytes that are no text are an error (code `not UTF-8`): replaced, they would not be what is in the file. */
export function exactText(bytes: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw Object.assign(new Error("not UTF-8", { cause }), { code: "not UTF-8" });
  }
}
