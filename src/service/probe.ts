import type { Cause } from "./causes.ts";
import { connectCause, duration, exchangeCause, named } from "./causes.ts";
import type { ConnectionOptions, Peer } from "./connection.ts";
import { openConnection } from "./connection.ts";

/** What a look at the service shows, without any credentials. */
export interface Probe {
  httpStatus: number;
  /** The service's clock, in milliseconds since the epoch, from its `Date`; it tells whole seconds. */
  serverTime?: number;
  /** From the start of connecting to the whole answer, in milliseconds. */
  durationMs: number;
  /** Only with https. */
  tls?: Peer;
  /** Host and port of the proxy that was used, and the setting that named it. */
  proxy?: { host: string; source: string };
}

export interface ProbeOptions extends ConnectionOptions {
  /** Begins with a slash. */
  path: string;
  timeoutMs: number;
  /** Milliseconds. */
  now(): number;
}

/**
 * One GET of `path`, over a connection of its own that is closed behind it, to see whether the service can be reached: any
 * HTTP answer will do, and nothing counts towards a lock. Resolves to the cause, with its hint, where there is none. Raises
 * `usage` for a base URL that is none.
 */
export async function probe(options: ProbeOptions, signal: AbortSignal): Promise<Probe | Cause> {
  const connection = openConnection(options);
  const { origin, proxy } = connection.route;
  const startedAt = options.now();
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    return await new Promise<Probe | Cause>((resolve) => {
      let head: { httpStatus: number; date: unknown } | undefined;
      const late = (): void =>
        resolve({
          cause: signal.aborted ? "given up" : `no answer from ${named(origin).host} within ${duration(options.timeoutMs)}`,
          hint: "check the network and --base-url, or raise --timeout",
        });
      if (limit.aborted) late();
      limit.addEventListener("abort", late, { once: true });
      connection.dispatch(
        { method: "GET", path: options.path, headers: { accept: "application/json" } },
        {
          // undici asks for these two.
          onRequestStart: () => undefined,
          onResponseData: () => undefined,
          onResponseStart: (_, httpStatus, headers) => void (head = { httpStatus, date: headers["date"] }),
          onResponseEnd() {
            const serverTime = typeof head?.date === "string" ? Date.parse(head.date) : Number.NaN;
            const tls = connection.peer();
            resolve({
              httpStatus: head?.httpStatus ?? 0,
              durationMs: options.now() - startedAt,
              ...(Number.isNaN(serverTime) ? {} : { serverTime }),
              ...(tls === undefined ? {} : { tls }),
              ...(proxy === undefined ? {} : { proxy: { host: named(proxy.url).host, source: proxy.source } }),
            });
          },
          onResponseError(_, error) {
            const isConnected = connection.isConnected();
            resolve(
              isConnected ? { cause: exchangeCause(error, connection.route, head !== undefined) } : connectCause(error, connection.route),
            );
          },
        },
      );
    });
  } finally {
    connection.close();
  }
}
