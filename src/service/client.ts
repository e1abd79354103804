import type { Reply, Service } from "../exchange/ports.ts";
import { Call } from "./call.ts";
import { duration, named } from "./causes.ts";
import type { ConnectionOptions } from "./connection.ts";
import { openConnection } from "./connection.ts";
import type { HttpRequest, Target } from "./request.ts";
import { endRequest, singleRequest, startRequest } from "./request.ts";
import { defined } from "../defined.ts";

export interface ClientOptions extends Target, ConnectionOptions {
  /** Bounds each call, from the moment it is asked for to the last byte of its answer. */
  timeoutMs: number;
}

/** The client, and the way to let it go: `close` waits for nothing, calls on their way end as given up. */
export type ServiceClient = Service & { close(): void };

/** The longest that a Node timer can wait; it would turn a longer time into none at all. */
const longestTimer = 2 ** 31 - 1;

/**
 * One connection to the service, opened by the first call and kept for the next. It never retries, never follows a redirect and
 * knows no rate limit (`rateLimited` does); calls at the same moment go one after the other.
 * @throws `usage` for a base URL that is none, and (on a call) `invalid-input` for an operation that the vault's kind lacks
 */
export function createClient(options: ClientOptions): ServiceClient {
  const connection = openConnection(options);
  const { origin, proxy } = connection.route;
  const { host } = named(origin);
  const waiting = new Set<Call>();

  function send(request: HttpRequest, signal: AbortSignal): Promise<Reply> {
    if (signal.aborted) return Promise.resolve({ type: "not-sent", cause: "given up before it was sent" });
    return new Promise((resolve) => {
      const call = new Call(connection.route, {
        settled(reply) {
          clearTimeout(timer);
          signal.removeEventListener("abort", onAbort);
          waiting.delete(call);
          if (waiting.size === 0) connection.stopConnecting();
          resolve(reply);
        },
      });
      const onAbort = (): void => call.giveUp({ cause: "given up before it was sent" }, "given up while waiting for the answer");
      const limit = duration(options.timeoutMs);
      const onTimeout = (): void =>
        call.giveUp(
          {
            cause: `no connection to ${host}${proxy === undefined ? "" : ` through the proxy ${named(proxy.url).host}`} within ${limit}`,
            hint: `check the network${proxy === undefined ? "" : `, ${proxy.source}`} and --base-url, or raise --timeout`,
          },
          `timed out after ${limit} waiting for ${host}`,
        );
      const timer = setTimeout(onTimeout, Math.min(options.timeoutMs, longestTimer));
      signal.addEventListener("abort", onAbort, { once: true });
      waiting.add(call);
      const { body, ...head } = request;
      connection.dispatch({ ...head, ...defined({ body: body && JSON.stringify(body) }) }, call);
    });
  }

  return {
    // Every method is async so that what it throws is a rejection.
    async admit(_, signal) {
      signal.throwIfAborted();
      return Promise.resolve();
    },
    async start(call, signal) {
      return send(startRequest(options, call), signal);
    },
    async end(call, signal) {
      return send(endRequest(options, call), signal);
    },
    async single(call, signal) {
      return send(singleRequest(options, call), signal);
    },
    close: () => connection.close(),
  };
}
