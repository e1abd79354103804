import { closeSync, openSync, readSync } from "node:fs";
import { VaultError } from "../../../errors.ts";
import { longestRecord } from "./lines.ts";

const newline = 0x0a;

/** The lines of a file by their offsets, read again. It is opened at the first one. */
export class FoundLines {
  readonly #path: string;
  #fd: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns the line at an offset, a character for each byte.
   *
   * @throws `invalid-input` if the file cannot be read.
   */
  at(offset: number): string {
    for (let size = 4096; ; size *= 2) {
      const bytes = Buffer.allocUnsafe(size);
      const length = this.#read(bytes, offset);
      const end = bytes.subarray(0, length).indexOf(newline);
      if (end >= 0 || length < size || length > longestRecord)
        return bytes.toString("latin1", 0, end < 0 ? length : end);
    }
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd);
    this.#fd = undefined;
  }

  #read(bytes: Buffer, offset: number): number {
    try {
      this.#fd ??= openSync(this.#path, "r");
      return readSync(this.#fd, bytes, 0, bytes.length, offset);
    } catch (cause) {
      const { code = "unreadable" } = cause as NodeJS.ErrnoException;
      throw new VaultError("invalid-input", `cannot read ${this.#path}: ${code}`, { cause });
    }
  }
}
