import { defined } from "../defined.ts";
import { connectCause, duration, exchangeCause, GivenUp, named } from "./causes.ts";
import type { ConnectionOptions, Peer, Progress } from "./connection.ts";
import { makeConnection } from "./connection.ts";
import { pathBefore } from "./request.ts";
import { withTimeLimit } from "./time-limit.ts";

export interface ReachOptions extends ConnectionOptions {
  apiPrefix: string;
  timeoutMs: number;
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
  const request = {
    method: "HEAD" as const,
    path: pathBefore(options) || "/",
    headers: { connection: "close", "user-agent": `vault/${options.version}` },
    body: undefined,
  };
  const progress: Progress = {};
  const giveUp = (cause: string, hint?: string): GivenUp =>
    new GivenUp({ cause, ...defined({ hint }) }, cause);
  const limit = {
    timeoutMs: options.timeoutMs,
    signals: [signal],
    canceled: () => giveUp("canceled"),
    timedOut: () =>
      giveUp(
        `no response from ${named(route.origin).host} within ${duration(options.timeoutMs)}`,
        "check the network and --base-url, or raise --timeout",
      ),
  };
  try {
    const { httpStatus, headers } = await withTimeLimit(limit, async (given) => {
      await connection.open(given);
      return await connection.send(request, progress, given);
    });
    const date = typeof headers["date"] === "string" ? Date.parse(headers["date"]) : Number.NaN;
    const { sentAt = 0 } = progress;
    return {
      reached: true,
      httpStatus,
      date: Number.isNaN(date) ? null : date,
      sentAt,
      receivedAt: Date.now(),
      tls: connection.peer() ?? null,
    };
  } catch (error) {
    const { sentAt, head } = progress;
    const wasSent = sentAt !== undefined && !(error instanceof GivenUp);
    const { cause, hint = null } = wasSent
      ? { cause: exchangeCause(error as Error, route, head) }
      : connectCause(error as Error, route);
    const { code = "" } = error as { code?: string };
    const untrusted =
      !wasSent && /CERT|SELF_SIGNED|UNABLE_TO|INVALID_CA|INVALID_PURPOSE|SSL|TLS|EPROTO/.test(code);
    return { reached: false, cause, hint, untrusted };
  } finally {
    connection.close();
  }
}
