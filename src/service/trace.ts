import type { Send } from "../exchange/ports.ts";
import { isSecret, requestOf, type Target } from "./http.ts";

/**
 * A deep copy of a JSON value in which the mark of the redactor replaces the value of every secret field.
 * Secrets inside other text, like a message of the service, are left to the redactor.
 */
export function maskSecrets(value: unknown, inCard = false): unknown {
  if (Array.isArray(value)) return value.map((item) => maskSecrets(item, inCard));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => {
    const name = key.toLowerCase();
    if (isSecret(name, inCard)) return [key, inner === null ? null : "«redacted»"];
    return [key, maskSecrets(inner, inCard || name === "creditcard")];
  });
  return Object.fromEntries(entries);
}

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
      trace({
        type: "request",
        ...facts,
        headers: maskSecrets(headers),
        body: maskSecrets(body),
      });
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
