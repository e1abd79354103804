/** What a server may send in one message, rows apart, and of notices between two answers, in bytes. */
const textBytes = 1024 * 1024;

/** And in one row. */
const rowBytes = 64 * 1024 * 1024;

/** And in answer to one request, each row counted with what it takes besides: to an ordinary one, and to one about the whole state. */
export const answerBytes = 512 * 1024 * 1024;
export const wholeAnswerBytes = 1024 * 1024 * 1024;

/** What a row takes besides its values, in bytes. */
const rowOverhead = 128;

/** What is said of a server that sends more. */
export const tooMuchSaid = "the server sends more than it may, or is no PostgreSQL";

const headerBytes = 5;

const [row, error, notice] = [0x44, 0x45, 0x4e];

/**
 * Bounds what a server sends, before the library reads it, which takes whatever comes: it keeps a message until it is whole, and looks
 * for the end of an error's text, or of a notice's, beyond the end of the message.
 */
export class Inbound {
  #left: number = textBytes;
  #notices = 0;
  /** Type and length of the message that is being received. */
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  /** Bytes of its body that are still to come. */
  #body = 0;
  /** Its last two bytes so far. */
  #tail = 0;

  /** Begins anew: so many bytes may come from now on. Before the first call little may, for a login. */
  allow(bytes: number): void {
    this.#left = bytes;
    this.#notices = 0;
  }

  /** @throws Error for what is too much, or would not end */
  receive(chunk: Uint8Array): void {
    this.#left -= chunk.length;
    if (this.#left < 0) throw tooMuch();
    let at = 0;
    while (at < chunk.length) {
      if (this.#headerFilled < headerBytes) {
        this.#header[this.#headerFilled] = chunk[at] ?? 0;
        this.#headerFilled += 1;
        at += 1;
        if (this.#headerFilled === headerBytes) this.#begin();
      } else {
        const taken = Math.min(this.#body, chunk.length - at);
        at += taken;
        this.#body -= taken;
        this.#tail =
          (((taken === 1 ? this.#tail : (chunk[at - 2] ?? 0)) << 8) | (chunk[at - 1] ?? 0)) &
          0xffff;
      }
      if (this.#headerFilled === headerBytes && this.#body === 0) this.#end();
    }
  }

  #begin(): void {
    const type = this.#header[0];
    this.#body = this.#header.readUInt32BE(1) - 4;
    this.#tail = 0;
    if (this.#body < 0 || this.#body > (type === row ? rowBytes : textBytes)) throw tooMuch();
    if (type === row) this.#left -= rowOverhead;
    if (type === notice) this.#notices += this.#body + headerBytes;
    if (this.#notices > textBytes) throw tooMuch();
  }

  /** A list of texts ends with the end of the last one and one of its own. */
  #end(): void {
    const type = this.#header[0];
    this.#headerFilled = 0;
    if ((type === error || type === notice) && this.#tail !== 0) throw tooMuch();
  }
}

const tooMuch = (): Error => new Error(tooMuchSaid);
