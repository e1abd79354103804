import type { Send } from "../exchange/ports.ts";
import { maskSecrets, requestOf, type Target } from "./http.ts";

/**
 * Reports each request, as the client sends it, before it is sent, and each outcome before it is
 * returned, with its number. All that it wraps share the numbers of calls, from 1. Values of secret
 * fields are masked; other text still has to go through the redactor.
 */
export function traced(
  target: Target,
  trace: (event: Record<string, unknown>) => void,
  now: () => number,
): (send: Send) => Send {
  let calls = 0;
  return (send) =>
    async (call, ...given) => {
      const { headers, body, method, path } = requestOf(target, call);
      const facts = { call: (calls += 1), method, path };
      trace({ type: "request", ...facts, headers: maskSecrets(headers), body: maskSecrets(body) });
      const startedAt = now();
      const reply = await send(call, ...given);
      const answer = reply.type === "not-sent" ? undefined : reply.answer;
      trace({
        type: "response",
        ...facts,
        durationMs: now() - startedAt,
        outcome: reply.type,
        httpStatus:
          answer?.httpStatus ?? (reply.type === "no-answer" ? reply.httpStatus : undefined),
        cause: reply.type === "answer" ? undefined : reply.cause,
        retryAfter: answer?.retryAfter,
        body: answer && maskSecrets(answer.body),
      });
      return reply;
    };
}
