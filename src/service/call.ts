import type { Dispatcher } from "undici";
import type { Reply } from "../exchange/ports.ts";
import type { Cause, Route } from "./causes.ts";
import { connectCause, exchangeCause, named, proxyRefusal, tooLargeCause } from "./causes.ts";
import { replyOf } from "./reply.ts";

interface CallEnds {
  /** Called once, with the outcome. */
  settled(reply: Reply): void;
}

/**
 * One request under way. Undici calls `onRequestStart` once, just before it writes the request and in the same synchronous step:
 * before that no byte was written, after it one may have been.
 */
export class Call implements Dispatcher.DispatchHandler {
  readonly #route: Route;
  readonly #ends: CallEnds;
  readonly #chunks: Uint8Array[] = [];
  #controller: Dispatcher.DispatchController | undefined;
  #head: { httpStatus: number; headers: Record<string, string | string[] | undefined> } | undefined;
  #isSettled = false;

  constructor(route: Route, ends: CallEnds) {
    this.#route = route;
    this.#ends = ends;
  }

  /** Whether a byte of the request may have been written. */
  get mayBeSent(): boolean {
    return this.#controller !== undefined;
  }

  /** Settles the call now, and drops its connection so that a late answer cannot reach another call. */
  abandon(before: Cause, after: string): void {
    const wasSent = this.mayBeSent;
    this.#settle(wasSent ? this.#noAnswer(after) : { type: "not-sent", ...before });
    this.#controller?.abort(new Error("given up"));
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    // Abandoned while it waited for a connection, or about to be written again, which only the engine may decide.
    if (this.#isSettled || this.mayBeSent) {
      controller.abort(new Error("given up"));
      return;
    }
    this.#controller = controller;
  }

  onResponseStart(_: unknown, httpStatus: number, headers: Record<string, string | string[] | undefined>): void {
    // Interim responses (1xx) precede the final one.
    if (httpStatus >= 200) this.#head = { httpStatus, headers };
  }

  onResponseData(_: unknown, chunk: Uint8Array): void {
    this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (this.#head === undefined) return;
    const { origin, proxy, forwarded } = this.#route;
    // The proxy's own answer: it forwarded nothing.
    if (this.#head.httpStatus === 407 && proxy !== undefined && forwarded) {
      this.#settle({ type: "not-sent", ...proxyRefusal(407, { origin, proxy }).reason });
      return;
    }
    this.#settle(replyOf({ ...this.#head, body: Buffer.concat(this.#chunks) }, named(origin).host, Date.now()));
  }

  onResponseError(_: unknown, error: Error): void {
    if (!this.mayBeSent) {
      this.#settle({ type: "not-sent", ...connectCause(error, this.#route) });
      return;
    }
    const tooLarge = tooLargeCause(error, this.#route, Number(this.#head?.headers["content-length"]));
    if (tooLarge !== undefined) this.#settle({ ...this.#noAnswer(tooLarge), tooLarge: true });
    else this.#settle(this.#noAnswer(exchangeCause(error, this.#route, this.#head !== undefined)));
  }

  #noAnswer(cause: string): Reply & { type: "no-answer" } {
    return { type: "no-answer", cause, httpStatus: this.#head?.httpStatus };
  }

  #settle(reply: Reply): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#ends.settled(reply);
  }
}
