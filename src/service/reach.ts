import { connectCause, exchangeCause, isTlsFailure } from "./causes.ts";
import type { ConnectionOptions, Peer } from "./connection.ts";
import { makeConnection } from "./connection.ts";
import { pathBefore } from "./request.ts";

export interface ReachOptions extends ConnectionOptions {
  apiPrefix: string;
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
 * Sends one HEAD request to the service's prefix, over the client's route (certificates, proxy),
 * without credentials and about no vault. Any HTTP answer counts as reached. Uses no place under
 * the rate limit. Never rejects.
 */
export async function reachService(options: ReachOptions, signal: AbortSignal): Promise<Reach> {
  const connection = makeConnection(options);
  const { route } = connection;
  const outcome = await connection.send(
    {
      method: "HEAD",
      path: pathBefore(options) || "/",
      headers: { connection: "close", "user-agent": `vault/${options.version}` },
      body: undefined,
    },
    signal,
  );
  if ("response" in outcome) {
    const { httpStatus, headers } = outcome.response;
    const date = typeof headers["date"] === "string" ? Date.parse(headers["date"]) : Number.NaN;
    return {
      reached: true,
      httpStatus,
      date: Number.isNaN(date) ? null : date,
      sentAt: outcome.sentAt,
      receivedAt: Date.now(),
      tls: connection.peer() ?? null,
    };
  }
  const { error, sentAt, head } = outcome;
  if (sentAt !== undefined)
    return {
      reached: false,
      cause: exchangeCause(error, route, head),
      hint: null,
      untrusted: false,
    };
  const { cause, hint = null } = connectCause(error, route);
  return { reached: false, cause, hint, untrusted: isTlsFailure(error) };
}
