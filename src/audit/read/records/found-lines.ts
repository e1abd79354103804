import { closeSync, openSync, readSync } from "node:fs";
import { VaultError } from "../../../errors.ts";
import { longestRecord } from "./lines.ts";

const newline = 0x0a;

/** Size of most lines in bytes, at most. */
const usual = 1024;

/** The lines of a file by their offsets, read again. It is opened at the first one. */
export class FoundLines {
  readonly #path: string;
  /** Room for a line, used again. */
  readonly #room = Buffer.alloc(usual);
  #fd: number | undefined;

  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Returns the line at an offset.
   *
   * @throws `invalid-input` if the file cannot be read.
   */
  at(offset: number): string {
    for (let bytes = this.#room; ; bytes = Buffer.alloc(2 * bytes.length)) {
      const length = this.#read(bytes, offset);
      const end = bytes.indexOf(newline);
      if (end >= 0 && end < length) return bytes.toString("utf8", 0, end);
      if (length < bytes.length || length > longestRecord) return bytes.toString("utf8", 0, length);
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
