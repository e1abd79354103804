import { connectCause, duration, exchangeCause, named } from "./causes.ts";
import type { ConnectionOptions, Peer } from "./connection.ts";
import { openConnection } from "./connection.ts";

export interface ProbeOptions extends ConnectionOptions {
  apiPrefix: string;
  timeoutMs: number;
  version: string;
  /** Milliseconds since the epoch. */
  now(): number;
}

/** What a service shows to anybody. Times are milliseconds since the epoch. */
export type Probe =
  | {
      reached: true;
      httpStatus: number;
      /** Its `Date` header: whole seconds. */
      date: number | null;
      sentAt: number;
      receivedAt: number;
      /** Null without TLS. */
      tls: Peer | null;
    }
  | {
      reached: false;
      cause: string;
      hint: string | null;
      /** The TLS handshake failed: the service, or something in its place, was there. */
      untrusted: boolean;
    };

/**
 * One HEAD request to the service's prefix, over a connection of its own, without credentials and about no vault: any HTTP
 * answer will do. It uses no place under the rate limit, and counts nothing. Never rejects.
 */
export async function probe(options: ProbeOptions, signal: AbortSignal): Promise<Probe> {
  const connection = openConnection(options);
  const { origin } = connection.route;
  const path = `${origin.pathname}/${options.apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  const limit = AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]);
  const unreached = (cause: string, hint?: string, untrusted = false): Probe => ({ reached: false, cause, hint: hint ?? null, untrusted });
  const late = (): Probe =>
    signal.aborted
      ? unreached("given up")
      : unreached(
          `no answer from ${named(origin).host} within ${duration(options.timeoutMs)}`,
          "check the network and --base-url, or raise --timeout",
        );
  try {
    return await new Promise<Probe>((resolve) => {
      let sentAt = options.now();
      limit.addEventListener("abort", () => resolve(late()), { once: true });
      if (limit.aborted) resolve(late());
      connection.dispatch(
        { method: "HEAD", path: path === "" ? "/" : path, headers: { "user-agent": `vault/${options.version}` } },
        {
          onRequestStart: () => {
            sentAt = options.now();
          },
          onResponseStart: (_, httpStatus, headers) => {
            const date = typeof headers["date"] === "string" ? Date.parse(headers["date"]) : Number.NaN;
            const facts = { httpStatus, date: Number.isNaN(date) ? null : date, sentAt, receivedAt: options.now() };
            resolve({ reached: true, ...facts, tls: connection.peer() ?? null });
          },
          onResponseData: () => undefined,
          onResponseEnd: () => undefined,
          onResponseError: (_, error) => {
            if (connection.isConnected()) return resolve(unreached(exchangeCause(error, connection.route, false)));
            const { cause, hint } = connectCause(error, connection.route);
            const { code = "" } = error as { code?: string };
            resolve(unreached(cause, hint, /CERT|SELF_SIGNED|UNABLE_TO|SSL|TLS|EPROTO/.test(code)));
          },
        },
      );
    });
  } finally {
    connection.close();
  }
}
