import type { Call, Send, Service } from "../exchange/ports.ts";
import { isOnline } from "../protocol/endpoints.ts";
import type { ClientOptions } from "./client.ts";
import { createClient } from "./client.ts";
import { secretsIn } from "./mask.ts";
import type { RateLimit } from "./places.ts";
import { openPlaces } from "./places.ts";
import type { TraceEvent } from "./traced.ts";

interface ServiceOptions extends Omit<ClientOptions, "jwt"> {
  limit: RateLimit;
  /** The bearer token of the application, if it has one. */
  token?: { ready(signal: AbortSignal): Promise<void>; current(): string | undefined } | undefined;
  /** Receives the events of --debug. */
  trace?: ((event: TraceEvent) => void) | undefined;
}

/** What an exchange does not share with others that run at the same time. */
interface Own {
  /** Called with each secret of a call and of its answer, before anything else sees the answer. */
  learnSecret: (secret: string) => void;
  /**
   * Told what is waited for: each call, and its turn under the rate limit. Settles as the promise
   * does.
   */
  waitFor?: <T>(what: string, promise: Promise<T>) => Promise<T>;
}

/** Makes a client for one exchange at a time. */
export type ServiceFor = (own: Own) => Service;

/** Does something before or after each call. */
type Wrapper = (send: Send) => Send;

/**
 * Opens the service. The clients that it makes share connections, the bearer token and the numbers
 * of calls; each has places of its own under the rate limit.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export async function openService({
  limit,
  token,
  trace,
  ...options
}: ServiceOptions): Promise<ServiceFor> {
  const target = token === undefined ? options : { ...options, jwt: () => token.current() };
  const client = createClient(target);
  const shown: Wrapper =
    trace === undefined
      ? (send) => send
      : (await import("./traced.ts")).traced({
          target,
          trace,
          now: () => limit.clock.now(),
        });
  return ({ learnSecret, waitFor = async (_, promise) => await promise }) => {
    const places = openPlaces(limit);
    // A call goes through them from the first to the last.
    const wrappers: Wrapper[] = [shown, announced(waitFor), learning(learnSecret)];
    return {
      async admit(next, signal, deadline) {
        signal.throwIfAborted();
        await waitFor("a turn under the rate limit", places.admit(next, signal, deadline));
        // A failure comes before anything is recorded or sent.
        if (!isOnline(next.kind)) await token?.ready(signal);
      },
      call: wrappers.reduceRight<Send>(
        (send, wrap) => wrap(send),
        async (call, signal, ready) =>
          await client(call, signal, async () => {
            await places.inTurn(signal);
            await ready?.();
          }),
      ),
    };
  };
}

/** The redaction knows every secret before an answer is read, shown or recorded. */
const learning =
  (learn: (secret: string) => void): Wrapper =>
  (send) =>
  async (call, ...given) => {
    for (const secret of secretsIn(call)) learn(secret);
    const reply = await send(call, ...given);
    if (reply.type !== "not-sent")
      for (const secret of secretsIn(reply.answer?.body)) learn(secret);
    return reply;
  };

/** Whoever waits for a response knows what for. */
const announced =
  (waitFor: NonNullable<Own["waitFor"]>): Wrapper =>
  (send) =>
  async (...given) =>
    await waitFor(awaited[given[0].step] ?? "the service's response", send(...given));

const awaited: Partial<Record<Call["step"], string>> = {
  start: "the service's response to the start",
  end: "the service's response to the acknowledgement",
};
