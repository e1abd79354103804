import { formatDuration } from "../duration.ts";
import { VaultError } from "../errors.ts";
import type { Call, Clock, Send, Service } from "../exchange/ports.ts";
import { isOnline } from "../protocol/endpoints.ts";
import { hostOf, type Failure } from "./causes.ts";
import { makeConnection, type ConnectionOptions } from "./connection.ts";
import { maskSecrets, pathOf, replyOf, requestOf, type Target } from "./http.ts";

export interface ClientOptions extends Target, ConnectionOptions {}

/**
 * Creates a client, which gives each call a connection that no other one is using and keeps as many
 * as calls were ever under way. It never retries, never follows a redirect and knows no rate limit
 * (`OwnPlaces` do). A call is rejected with what its `ready` throws, and with `invalid-input` for an
 * operation that the vault's kind lacks.
 */
export function createClient(options: ClientOptions): Send {
  const host = hostOf(new URL(options.service));
  // The one that was used last is the next to be used: it is the least likely to have been closed.
  const idle = [makeConnection(options)];
  return async (call, signal, ready) => {
    const request = requestOf(options, call);
    const connection = idle.pop() ?? makeConnection(options);
    try {
      const outcome = await connection(request, signal, ready);
      return "type" in outcome ? outcome : replyOf(outcome, host);
    } finally {
      idle.push(connection);
    }
  };
}

interface ServiceOptions extends ClientOptions {
  limit: RateLimit;
  /** Its `ready` is awaited before each call about an offline vault. */
  token?: { ready(signal: AbortSignal): Promise<void>; current(): string | undefined } | undefined;
  /** Shows the calls of --debug: wraps what sends them. */
  shown?: ((send: Send) => Send) | undefined;
}

/** What an exchange does not share with others that run at the same time. */
interface Own {
  /** Called with each secret of a call and of its answer, before anything else sees the answer. */
  learnSecret: (secret: string) => void;
  /** Told what is waited for: each call, and its turn under the rate limit. Settles as the promise does. */
  waitFor?: <T>(what: string, promise: Promise<T>) => Promise<T>;
}

/** Makes a client for one exchange at a time. */
export type ServiceFor = (own: Own) => Service;

/**
 * Opens the service. The clients that it makes share connections, the bearer token and the numbers
 * of calls; each has places of its own under the rate limit.
 */
export function openService({ limit, shown, ...target }: ServiceOptions): ServiceFor {
  const client = createClient(target);
  return ({ learnSecret, waitFor = async (_, promise) => await promise }) => {
    const places = openPlaces(limit);
    // The redaction knows every secret before an answer is read, shown or recorded.
    const learn = (value: unknown): void => void maskSecrets(value, learnSecret);
    const call: Send = async (call, signal, ready) => {
      learn(call);
      const sent = client(call, signal, async () => {
        await places.inTurn(signal);
        await ready?.();
      });
      const reply = await waitFor(awaited[call.step] ?? "the service's response", sent);
      if (reply.type !== "not-sent") learn(reply.answer?.body);
      return reply;
    };
    return {
      async admit(next, signal, deadline) {
        signal.throwIfAborted();
        await waitFor("a turn under the rate limit", places.admit(next, signal, deadline));
        // A failure comes before anything is recorded or sent.
        if (!isOnline(next.kind)) await target.token?.ready(signal);
      },
      call: shown?.(call) ?? call,
    };
  };
}

const awaited: Partial<Record<Call["step"], string>> = {
  start: "the service's response to the start",
  end: "the service's response to the acknowledgement",
};

export interface RateLimit {
  /** Requests per second; 0 means no limit. */
  rate: number;
  /**
   * Reserves the next place under the application's limit, as `Store.reserveSlot`. Returns the
   * milliseconds until it.
   */
  reserveSlot(intervalMs: number, longestMs: number): Promise<number>;
  clock: Clock;
}

/**
 * How much a request may come late for its place, and vary in the time that it takes to arrive, both
 * together in milliseconds, without a 429.
 */
const jitterMs = 25;

/**
 * The interval between two places. GCRA lets one request go a whole interval early (a burst of
 * one), so that the two calls of an exchange need not wait for each other. Then `rate` + 1 requests
 * span `rate` - 1 intervals, which must exceed a sliding second of the service's clock and the
 * jitter. That costs 1.6 requests a second at 25.
 */
export function slotIntervalMs(rate: number): number {
  if (rate === 0) return 0;
  return rate === 1 ? 1000 + jitterMs : (1000 + jitterMs + 0.01) / (rate - 1);
}

/**
 * A start takes a place that is no farther away than this, in milliseconds and in places: the rest
 * of the queue is that of end calls.
 */
const startsAhead = { ms: 250, places: 6 };

/** The places of one exchange, and what its calls await. */
export interface OwnPlaces extends Pick<Service, "admit"> {
  /**
   * Awaited when the call can be written: takes another place, ahead of starts, if it would come
   * later than half an interval after its own, so as not to crowd those after it.
   */
  inTurn(signal: AbortSignal): Promise<void>;
}

/** Opens the places of one exchange. Every call, answered or not, uses one. */
export function openPlaces(limit: RateLimit): OwnPlaces {
  const { rate, clock } = limit;
  const intervalMs = slotIntervalMs(rate);
  const earlyMs = rate === 1 ? 0 : intervalMs;
  /** The place of the next call, by `Clock.elapsed`. */
  let placeAt = Number.NEGATIVE_INFINITY;

  /** Waits until the queue is short enough to take a place in it, and for that. Who has waited longer goes first. */
  async function admit(
    { isEnd }: { isEnd?: boolean },
    signal: AbortSignal,
    deadline = Number.POSITIVE_INFINITY,
  ): Promise<void> {
    if (intervalMs === 0) return;
    const cameAt = clock.elapsed();
    for (;;) {
      const now = clock.elapsed();
      const leftMs = Math.max(0, deadline - now);
      const farthest =
        isEnd === true
          ? Number.POSITIVE_INFINITY
          : Math.max(startsAhead.ms, startsAhead.places * intervalMs) + (now - cameAt) / 4;
      const longestMs = Math.min(leftMs, farthest);
      const waitMs = (await limit.reserveSlot(intervalMs, longestMs + earlyMs)) - earlyMs;
      if (waitMs <= longestMs) {
        placeAt = clock.elapsed() + Math.max(0, waitMs);
        // Timers drop fractions, and a call must not be early. The arithmetic is exact to a thousandth.
        const wholeMs = Math.ceil(waitMs - 0.001);
        if (wholeMs > 0) await clock.sleep(wholeMs, signal);
        return;
      }
      if (waitMs > leftMs)
        throw new VaultError(
          "rate-limited",
          `the rate limit of ${rate} requests per second leaves the next slot in ${formatDuration(waitMs)}, and waiting for it would exceed --max-wait`,
          { hint: "nothing was sent; run it again later, or raise --max-wait" },
        );
      await clock.sleep(Math.ceil(waitMs - farthest / 2), signal);
    }
  }

  return {
    admit,
    async inTurn(signal) {
      const late = clock.elapsed() - placeAt;
      if (late > Math.min(intervalMs / 2, jitterMs)) await admit({ isEnd: true }, signal);
    },
  };
}

export interface ReachOptions extends ConnectionOptions {
  version: string;
}

/** What a service reveals without credentials. Times are milliseconds since the epoch. */
export type Reach =
  | {
      reached: true;
      httpStatus: number;
      /** Its `Date` header, in whole seconds. */
      date: number | null;
      sentAt: number;
      receivedAt: number;
    }
  | ({ reached: false } & Failure);

/**
 * Sends one HEAD request to the service's prefix, over the client's route (certificates, proxy),
 * without credentials and about no vault. Any HTTP answer counts as reached. Uses no place under
 * the rate limit. Never rejects.
 */
export async function reachService(options: ReachOptions, signal: AbortSignal): Promise<Reach> {
  const headers = { connection: "close", "user-agent": `vault/${options.version}` };
  const path = pathOf(options.service) || "/";
  const request = { method: "HEAD", path, headers, body: undefined } as const;
  const outcome = await makeConnection(options)(request, signal);
  if ("type" in outcome) return { reached: false, ...outcome };
  const { httpStatus, sentAt } = outcome;
  const date = Date.parse(String(outcome.headers["date"])) || null;
  return { reached: true, httpStatus, date, sentAt, receivedAt: Date.now() };
}
