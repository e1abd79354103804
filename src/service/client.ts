import type { Call, Reply } from "../exchange/ports.ts";
import {
  connectCause,
  connectionClosed,
  duration,
  exchangeCause,
  GivenUp,
  isTooLarge,
  named,
  proxyRefusal,
} from "./causes.ts";
import type { Connection, ConnectionOptions, Progress } from "./connection.ts";
import { makeConnection } from "./connection.ts";
import type { Target } from "./request.ts";
import type { WholeResponse } from "./reply.ts";
import { replyOf } from "./reply.ts";
import { requestOf } from "./request.ts";
import { unlessAborted, withTimeLimit } from "./time-limit.ts";

export interface ClientOptions extends Target, ConnectionOptions {
  /**
   * Time limit for the connection, and for each call from its request to the last byte of its
   * answer.
   */
  timeoutMs: number;
}

/** Waits for the moment at which a request may be written. */
export type InTurn = () => Promise<void>;

export interface ServiceClient {
  /**
   * Begins to connect for the next call, which takes longer than that may be late for its turn. A
   * failure is that call's to find.
   */
  prepare(): void;
  /**
   * Sends a call. Once it is connected it awaits its turn: nothing that takes time comes between
   * that and its first byte.
   * @throws what `inTurn` throws, and `invalid-input` for an operation that the vault's kind lacks
   */
  call(call: Call, signal: AbortSignal, inTurn?: InTurn): Promise<Reply>;
  /** Waits for nothing; calls under way end as abandoned. */
  close(): void;
}

/**
 * Creates a client, which gives each call a connection that no other one is using and keeps as many
 * as calls were ever under way. It never retries, never follows a redirect and knows no rate limit
 * (`Places` do).
 * @throws `usage` for a base URL that is not an http or https URL
 */
export function createClient(options: ClientOptions): ServiceClient {
  const first = makeConnection(options);
  const { route } = first;
  const { origin, proxy } = route;
  // The one that was used last is the next to be used: a pool that chose by itself could choose one
  // that has to connect first.
  const idle = [first];
  const all = [first];
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

  const limited = async <T>(signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>) =>
    await withTimeLimit({ timeoutMs, signals: [signal, closing.signal], canceled, timedOut }, work);

  function make(): Connection {
    const connection = makeConnection(options);
    all.push(connection);
    return connection;
  }

  async function call(call: Call, signal: AbortSignal, inTurn?: InTurn): Promise<Reply> {
    const request = requestOf(options, call);
    const connection = idle.pop() ?? make();
    const progress: Progress = {};
    try {
      await openInTurn(connection, signal, inTurn);
      return replied(
        await limited(signal, async (given) => await connection.send(request, progress, given)),
      );
    } catch (error) {
      if (error instanceof NotInTurn) throw error.cause;
      return failed(error as Error, progress);
    } finally {
      idle.push(connection);
    }
  }

  /**
   * Connects, and awaits the turn of the call: again, once, if the server closes the connection
   * meanwhile.
   */
  async function openInTurn(
    connection: Connection,
    signal: AbortSignal,
    inTurn?: InTurn,
  ): Promise<void> {
    for (let tries = 0; tries < 2; tries += 1) {
      await limited(signal, async (given) => await connection.open(given));
      if (inTurn !== undefined)
        await unlessAborted(signal, inTurn).catch((cause: unknown) => {
          throw signal.aborted ? canceled() : new NotInTurn("", { cause });
        });
      if (connection.isOpen()) return;
    }
    throw connectionClosed();
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
    const tooLarge = isTooLarge(error) ? { tooLarge: true as const } : {};
    return {
      type: "no-answer",
      cause: exchangeCause(error, route, head),
      httpStatus: head?.httpStatus,
      ...tooLarge,
    };
  }

  return {
    prepare() {
      const next = idle.at(-1);
      void next?.open(closing.signal).catch(() => undefined);
    },
    call,
    close() {
      closing.abort();
      for (const connection of all) connection.close();
    },
  };
}

/** A turn that did not come. */
class NotInTurn extends Error {}
