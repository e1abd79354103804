import type { Cause } from "./causes.ts";
import { connectCause, exchangeCause, isTlsFailure } from "./causes.ts";
import type { ConnectionOptions } from "./connection.ts";
import { makeConnection } from "./connection.ts";
import { pathOf } from "./request.ts";

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
  | ({
      reached: false;
      /** The TLS handshake failed, so something answers at the address. */
      untrusted: boolean;
    } & Cause);

/**
 * Sends one HEAD request to the service's prefix, over the client's route (certificates, proxy),
 * without credentials and about no vault. Any HTTP answer counts as reached. Uses no place under
 * the rate limit. Never rejects.
 */
export async function reachService(options: ReachOptions, signal: AbortSignal): Promise<Reach> {
  const connection = makeConnection(options);
  const { route } = connection;
  const headers = { connection: "close", "user-agent": `vault/${options.version}` };
  const path = pathOf(options.service) || "/";
  const outcome = await connection.send({ method: "HEAD", path, headers, body: undefined }, signal);
  if ("response" in outcome) {
    const { httpStatus, headers } = outcome.response;
    const date = Date.parse(String(headers["date"]));
    const { sentAt } = outcome;
    const receivedAt = Date.now();
    return { reached: true, httpStatus, date: date || null, sentAt, receivedAt };
  }
  const { error, sentAt, head } = outcome;
  return sentAt === undefined
    ? { reached: false, untrusted: isTlsFailure(error), ...connectCause(error, route) }
    : { reached: false, untrusted: false, cause: exchangeCause(error, route, head) };
}
