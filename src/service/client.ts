import type { Call, Reply } from "../exchange/ports.ts";
import {
  AnswerTooLarge,
  connectCause,
  duration,
  exchangeCause,
  GivenUp,
  named,
  proxyRefusal,
} from "./causes.ts";
import type { ConnectionOptions, InTurn, Progress } from "./connection.ts";
import { openConnection } from "./connection.ts";
import type { Target } from "./request.ts";
import type { WholeResponse } from "./reply.ts";
import { replyOf } from "./reply.ts";
import { requestOf } from "./request.ts";
import { withTimeLimit } from "./time-limit.ts";
import { defined } from "../defined.ts";

export interface ClientOptions extends Target, ConnectionOptions {
  /** Time limit for the connection, and for each call from its request to the last byte of its answer. */
  timeoutMs: number;
}

/** A client that has one call under way at a time. */
export interface ServiceClient {
  /** Begins to connect for the next call. */
  prepare(): void;
  /**
   * Sends a call. Once it is connected it awaits its turn: nothing that takes time comes between that and its first byte.
   * @throws what `inTurn` throws, and `invalid-input` for an operation that the vault's kind lacks
   */
  call(call: Call, signal: AbortSignal, inTurn?: InTurn): Promise<Reply>;
  /** Waits for nothing; calls under way end as abandoned. */
  close(): void;
}

/**
 * Creates a client with one connection, opened by `prepare` or by the first call, and kept. It sends one call at a time, never
 * retries, never follows a redirect and knows no rate limit (`Places` do).
 * @throws `usage` for a base URL that is not an http or https URL
 */
export function createClient(options: ClientOptions): ServiceClient {
  const connection = openConnection(options);
  const { route } = connection;
  const { origin, proxy } = route;
  const { host } = named(origin);
  const { timeoutMs } = options;
  const limit = duration(timeoutMs);
  const closing = new AbortController();

  const canceled = (): GivenUp =>
    new GivenUp(
      { cause: "canceled before it was sent" },
      "canceled while waiting for the response",
    );
  const timedOut = (): GivenUp =>
    new GivenUp(
      {
        cause: `no connection to ${host}${proxy === undefined ? "" : ` through the proxy ${named(proxy.url).host}`} within ${limit}`,
        hint: `check the network${proxy === undefined ? "" : `, ${proxy.source}`} and --base-url, or raise --timeout`,
      },
      `timed out after ${limit} waiting for ${host}`,
    );

  async function send(call: Call, signal: AbortSignal, inTurn?: InTurn): Promise<Reply> {
    const { body, ...head } = requestOf(options, call);
    const message = {
      ...head,
      ...defined({ body: body && Buffer.from(JSON.stringify(body)).toString("latin1") }),
    };
    const progress: Progress = {};
    let turnError: unknown;
    const turn = async (wait: InTurn): Promise<void> => {
      await wait().catch((error: unknown) => {
        turnError = error;
        throw error;
      });
    };
    try {
      const response = await withTimeLimit(
        { timeoutMs, signals: [signal, closing.signal], canceled, timedOut },
        (limited) =>
          connection.send(
            message,
            progress,
            limited.signal,
            inTurn && (() => limited.untimed(() => turn(inTurn))),
          ),
      );
      return replied(response);
    } catch (error) {
      if (error === turnError) throw error;
      return failed(error as Error, progress);
    }
  }

  function replied(response: WholeResponse): Reply {
    // The proxy's own answer: it forwarded nothing.
    if (response.httpStatus === 407 && proxy !== undefined && route.forwarded) {
      return { type: "not-sent", ...proxyRefusal(407, { origin, proxy }).reason };
    }
    return replyOf(response, host, Date.now());
  }

  function failed(error: Error, { sentAt, head }: Progress): Reply {
    if (sentAt === undefined) return { type: "not-sent", ...connectCause(error, route) };
    const tooLarge = error instanceof AnswerTooLarge ? { tooLarge: true as const } : {};
    return {
      type: "no-answer",
      cause: exchangeCause(error, route, head),
      httpStatus: head?.httpStatus,
      ...tooLarge,
    };
  }

  return {
    prepare: () => connection.prepare(),
    call: send,
    close() {
      closing.abort();
      connection.close();
    },
  };
}
