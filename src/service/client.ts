import type { Reply, Service } from "../exchange/ports.ts";
import { Call } from "./call.ts";
import { duration, named } from "./causes.ts";
import type { ConnectionOptions } from "./connection.ts";
import { openConnection } from "./connection.ts";
import type { HttpRequest, Target } from "./request.ts";
import { endRequest, singleRequest, startRequest } from "./request.ts";
import { defined } from "../defined.ts";

export interface ClientOptions extends Target, ConnectionOptions {
  /** Time limit of each call, from its request to the last byte of its answer. */
  timeoutMs: number;
}

/** The client of the service. `close` waits for nothing; calls under way end as abandoned. */
export type ServiceClient = Service & { close(): void };

/** The longest delay of a Node timer, which treats a longer one as none. */
const longestTimer = 2 ** 31 - 1;

/**
 * Creates a client with one connection, opened by the first call and kept for the next. It sends one call at a time, never
 * retries, never follows a redirect and knows no rate limit (`rateLimited` does). Calls reject with `invalid-input` for an
 * operation that the vault's kind lacks.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export function createClient(options: ClientOptions): ServiceClient {
  const connection = openConnection(options);
  const { origin, proxy } = connection.route;
  const { host } = named(origin);
  const waiting = new Set<Call>();

  function send(request: HttpRequest, signal: AbortSignal): Promise<Reply> {
    if (signal.aborted) return Promise.resolve({ type: "not-sent", cause: "canceled before it was sent" });
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
      const onAbort = (): void => call.abandon({ cause: "canceled before it was sent" }, "canceled while waiting for the response");
      const limit = duration(options.timeoutMs);
      const onTimeout = (): void =>
        call.abandon(
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
    // Async, so that what a method throws becomes a rejection.
    async admit(_, signal) {
      signal.throwIfAborted();
      return Promise.resolve();
    },
    async foresee() {
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
