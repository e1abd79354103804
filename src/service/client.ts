import type { Call, Reply, Send, Service } from "../exchange/ports.ts";
import { isOnline } from "../protocol/endpoints.ts";
import type { Route } from "./causes.ts";
import { connectCause, exchangeCause, hostOf, isForwarded, proxyRefusal } from "./causes.ts";
import type { ConnectionOptions, Outcome } from "./connection.ts";
import { makeConnection } from "./connection.ts";
import { maskSecrets, secretsIn } from "./mask.ts";
import type { RateLimit } from "./places.ts";
import { openPlaces } from "./places.ts";
import { replyOf } from "./reply.ts";
import type { Target } from "./request.ts";
import { requestOf } from "./request.ts";

export interface ClientOptions extends Target, ConnectionOptions {}

/**
 * Creates a client, which gives each call a connection that no other one is using and keeps as many
 * as calls were ever under way. It never retries, never follows a redirect and knows no rate limit
 * (`Places` do). A call is rejected with what its `ready` throws, and with `invalid-input` for an
 * operation that the vault's kind lacks.
 */
export function createClient(options: ClientOptions): Send {
  // The one that was used last is the next to be used: it is the least likely to have been closed.
  const idle = [makeConnection(options)];
  return async (call, signal, ready) => {
    const request = requestOf(options, call);
    const connection = idle.pop() ?? makeConnection(options);
    try {
      return replyTo(await connection.send(request, signal, ready), connection.route);
    } finally {
      idle.push(connection);
    }
  };
}

function replyTo(outcome: Outcome, route: Route): Reply {
  if ("response" in outcome) {
    const { response } = outcome;
    // The proxy's own answer: it forwarded nothing.
    if (response.httpStatus === 407 && isForwarded(route))
      return { type: "not-sent", ...proxyRefusal(407, route).reason };
    return replyOf(response, hostOf(route.origin));
  }
  const { error, sentAt, head } = outcome;
  if (sentAt === undefined) return { type: "not-sent", ...connectCause(error, route) };
  return {
    type: "no-answer",
    cause: exchangeCause(error, route, head),
    httpStatus: head?.httpStatus,
  };
}

interface ServiceOptions extends ClientOptions {
  limit: RateLimit;
  /** Its `ready` is awaited before each call about an offline vault. */
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
 */
export function openService({ limit, trace, ...target }: ServiceOptions): ServiceFor {
  const client = createClient(target);
  const shown = trace && traced(target, trace, () => limit.clock.now());
  return ({ learnSecret, waitFor = async (_, promise) => await promise }) => {
    const places = openPlaces(limit);
    const inTurn: Wrapper = (send) => async (call, signal, ready) =>
      await send(call, signal, async () => {
        await places.inTurn(signal);
        await ready?.();
      });
    // A call goes through them from the first to the last.
    const wrappers = [shown, announced(waitFor), learning(learnSecret), inTurn];
    return {
      async admit(next, signal, deadline) {
        signal.throwIfAborted();
        await waitFor("a turn under the rate limit", places.admit(next, signal, deadline));
        // A failure comes before anything is recorded or sent.
        if (!isOnline(next.kind)) await target.token?.ready(signal);
      },
      call: wrappers.reduceRight<Send>((send, wrap) => wrap?.(send) ?? send, client),
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

interface CallFacts {
  /** Number of the call, which a response shares with its request. */
  call: number;
  method: string;
  path: string;
}

/**
 * What `--debug` shows of a call. Values of secret fields are masked; other text still has to go
 * through the redactor.
 */
export type TraceEvent =
  | ({ type: "request"; headers: unknown; body: unknown } & CallFacts)
  | ({
      type: "response";
      durationMs: number;
      outcome: Reply["type"];
      httpStatus?: number | undefined;
      cause?: string | undefined;
      retryAfter?: number | undefined;
      body?: unknown;
    } & CallFacts);

/**
 * Reports each request, as the client sends it, before it is sent, and each outcome before it is
 * returned. All that it wraps share the numbers of calls, from 1.
 */
export function traced(
  target: Target,
  trace: (event: TraceEvent) => void,
  now: () => number,
): Wrapper {
  let calls = 0;
  return (send) =>
    async (call, ...given) => {
      const { headers, body, method, path } = requestOf(target, call);
      const facts: CallFacts = { call: (calls += 1), method, path };
      trace({
        type: "request",
        ...facts,
        headers: maskSecrets(headers),
        body: maskSecrets(body),
      });
      const startedAt = now();
      const reply = await send(call, ...given);
      const answer = reply.type === "not-sent" ? undefined : reply.answer;
      trace({
        type: "response",
        ...facts,
        durationMs: now() - startedAt,
        outcome: reply.type,
        httpStatus:
          answer?.httpStatus ?? (reply.type === "no-answer" ? reply.httpStatus : undefined),
        cause: reply.type === "answer" ? undefined : reply.cause,
        retryAfter: answer?.retryAfter,
        body: answer && maskSecrets(answer.body),
      });
      return reply;
    };
}
