import { closeSync, openSync, readSync } from "node:fs";
import { VaultError } from "../../../errors.ts";

/** A file read at any offset. */
export class PlainFile {
  readonly path: string;
  readonly #fd: number;

  /**
   * Opens the file.
   *
   * @throws `invalid-input` if the file cannot be opened.
   */
  constructor(path: string) {
    this.path = path;
    this.#fd = this.#reading(() => openSync(path, "r"));
  }

  /**
   * Fills `room` with bytes from an offset on. Returns their number, which is smaller at the end of the file.
   *
   * @throws `invalid-input` if the file cannot be read.
   */
  readInto(room: Uint8Array, from: number): number {
    let length = 0;
    for (let read = 1; read > 0 && length < room.length; length += read) {
      read = this.#reading(() =>
        readSync(this.#fd, room, length, room.length - length, from + length),
      );
    }
    return length;
  }

  close(): void {
    closeSync(this.#fd);
  }

  #reading<T>(read: () => T): T {
    try {
      return read();
    } catch (cause) {
      throw new VaultError(
        "invalid-input",
        `cannot read ${this.path}: ${(cause as NodeJS.ErrnoException).code ?? "unreadable"}`,
        {
          cause,
        },
      );
    }
  }
}
