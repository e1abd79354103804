import type { Reply, Send } from "../exchange/ports.ts";
import type { Route } from "./causes.ts";
import { connectCause, exchangeCause, named, proxyRefusal } from "./causes.ts";
import type { ConnectionOptions, Outcome } from "./connection.ts";
import { makeConnection } from "./connection.ts";
import { replyOf } from "./reply.ts";
import type { Target } from "./request.ts";
import { requestOf } from "./request.ts";

export interface ClientOptions extends Target, ConnectionOptions {}

/**
 * Creates a client, which gives each call a connection that no other one is using and keeps as many
 * as calls were ever under way. It never retries, never follows a redirect and knows no rate limit
 * (`Places` do). A call is rejected with what its `ready` throws, and with `invalid-input` for an
 * operation that the vault's kind lacks.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export function createClient(options: ClientOptions): Send {
  // The one that was used last is the next to be used: it is the least likely to have been closed.
  const idle = [makeConnection(options)];
  return async (call, signal, ready) => {
    const request = requestOf(options, call);
    const connection = idle.pop() ?? makeConnection(options);
    try {
      return replyTo(await connection.send(request, signal, ready), connection.route);
    } finally {
      idle.push(connection);
    }
  };
}

function replyTo(outcome: Outcome, route: Route): Reply {
  const { origin, proxy, forwarded } = route;
  if ("response" in outcome) {
    const { response } = outcome;
    // The proxy's own answer: it forwarded nothing.
    if (response.httpStatus === 407 && proxy !== undefined && forwarded)
      return { type: "not-sent", ...proxyRefusal(407, { origin, proxy }).reason };
    return replyOf(response, named(origin).host, Date.now());
  }
  const { error, sentAt, head } = outcome;
  if (sentAt === undefined) return { type: "not-sent", ...connectCause(error, route) };
  return {
    type: "no-answer",
    cause: exchangeCause(error, route, head),
    httpStatus: head?.httpStatus,
  };
}
