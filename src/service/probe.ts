import { connectCause, duration, exchangeCause, named } from "./causes.ts";
import type { ConnectionOptions, Peer } from "./connection.ts";
import { openConnection } from "./connection.ts";

export interface ProbeOptions extends ConnectionOptions {
  apiPrefix: string;
  timeoutMs: number;
  version: string;
}

/** What a service reveals without credentials. Times are milliseconds since the epoch. */
export type Probe =
  | {
      reached: true;
      httpStatus: number;
      /** Its `Date` header, in whole seconds. */
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
      /** The TLS handshake failed, so something answers at the address. */
      untrusted: boolean;
    };

/**
 * Sends one HEAD request to the service's prefix, over the client's route (certificates, proxy), without credentials and about no
 * vault. Any HTTP answer counts as reached. Uses no place under the rate limit. Never rejects.
 */
export function probe(options: ProbeOptions, signal: AbortSignal): Promise<Probe> {
  const connection = openConnection(options);
  const { origin } = connection.route;
  const path = `${origin.pathname}/${options.apiPrefix}`.replaceAll(/\/{2,}/g, "/").replace(/\/$/, "");
  return new Promise<Probe>((resolve) => {
    let sentAt = 0;
    const settle = (result: Probe): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      connection.close();
      resolve(result);
    };
    const failed = (cause: string, hint?: string, untrusted = false): void =>
      settle({ reached: false, cause, hint: hint ?? null, untrusted });
    const { host } = named(origin);
    const onAbort = (): void => failed("canceled");
    const timer = setTimeout(
      () =>
        failed(`no response from ${host} within ${duration(options.timeoutMs)}`, "check the network and --base-url, or raise --timeout"),
      Math.min(options.timeoutMs, 2 ** 31 - 1),
    );
    signal.addEventListener("abort", onAbort, { once: true });
    connection.dispatch(
      { method: "HEAD", path: path === "" ? "/" : path, headers: { "user-agent": `vault/${options.version}` } },
      {
        onRequestStart: () => {
          sentAt = Date.now();
        },
        onResponseStart: (_, httpStatus, headers) => {
          const date = typeof headers["date"] === "string" ? Date.parse(headers["date"]) : Number.NaN;
          const tls = connection.peer() ?? null;
          settle({ reached: true, httpStatus, date: Number.isNaN(date) ? null : date, sentAt, receivedAt: Date.now(), tls });
        },
        onResponseData: () => undefined,
        onResponseEnd: () => undefined,
        onResponseError: (_, error) => {
          if (sentAt > 0) return failed(exchangeCause(error, connection.route, false));
          const { cause, hint } = connectCause(error, connection.route);
          const { code = "" } = error as { code?: string };
          failed(cause, hint, /CERT|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE|SSL|TLS|EPROTO/.test(code));
        },
      },
    );
  });
}
