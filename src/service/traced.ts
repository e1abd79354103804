import type { Reply, Send } from "../exchange/ports.ts";
import { maskSecrets } from "./mask.ts";
import type { Target } from "./request.ts";
import { requestOf } from "./request.ts";

interface CallFacts {
  /** Number of the call, which a response shares with its request. */
  call: number;
  method: string;
  path: string;
}

/**
 * What `--debug` shows of a call. Values of secret fields are masked; other text still has to go
 * through the redactor.
 */
export type TraceEvent =
  | ({ type: "request"; headers: Record<string, unknown>; body: unknown } & CallFacts)
  | ({
      type: "response";
      durationMs: number;
      outcome: Reply["type"];
      httpStatus?: number | undefined;
      cause?: string | undefined;
      retryAfter?: number | undefined;
      body?: unknown;
    } & CallFacts);

interface Tracing {
  /** The target of the wrapped client, so that requests are shown as the client sends them. */
  target: Target;
  trace: (event: TraceEvent) => void;
  /** Time in milliseconds, for durations. */
  now: () => number;
}

/** Reports each request before it is sent and each outcome before it is returned. All that it wraps share the numbers of calls, from 1. */
export function traced({ target, trace, now }: Tracing): (send: Send) => Send {
  let calls = 0;
  return (send) =>
    async (call, ...given) => {
      const { headers, body, method, path } = requestOf(target, call);
      const facts: CallFacts = { call: (calls += 1), method, path };
      trace({
        type: "request",
        ...facts,
        headers: maskSecrets(headers) as Record<string, unknown>,
        body: maskSecrets(body),
      });
      const startedAt = now();
      const reply = await send(call, ...given);
      const durationMs = now() - startedAt;
      trace({ type: "response", ...facts, durationMs, ...outcome(reply) });
      return reply;
    };
}

function outcome(reply: Reply) {
  const answer = reply.type === "not-sent" ? undefined : reply.answer;
  const httpStatus =
    answer?.httpStatus ?? (reply.type === "no-answer" ? reply.httpStatus : undefined);
  return {
    outcome: reply.type,
    httpStatus,
    cause: reply.type === "answer" ? undefined : reply.cause,
    retryAfter: answer?.retryAfter,
    body: answer && maskSecrets(answer.body),
  };
}
