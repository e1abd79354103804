import type { EndCall, Reply, Service, SingleCall, StartCall } from "../exchange/ports.ts";
import { maskSecrets } from "./mask.ts";
import type { HttpRequest, Target } from "./request.ts";
import { endRequest, singleRequest, startRequest } from "./request.ts";

interface CallFacts {
  /** Number of the call, which a response shares with its request. */
  call: number;
  method: string;
  path: string;
}

/** What `--debug` shows of a call. Values of secret fields are masked; other text still has to go through the redactor. */
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

export interface Tracing {
  /** The target of the wrapped service, so that requests are shown as the client sends them. */
  target: Target;
  trace(event: TraceEvent): void;
  /** Time in milliseconds, for durations. */
  now(): number;
  /** The number of the next call, from 1. */
  nextCall(): number;
}

/** Wraps a service so that it reports each request before it is sent and each outcome before it is returned. */
export function traced<S extends Service>(service: S, tracing: Tracing): S {
  async function report(request: HttpRequest, send: () => Promise<Reply>): Promise<Reply> {
    const facts: CallFacts = {
      call: tracing.nextCall(),
      method: request.method,
      path: request.path,
    };
    const { headers, body } = request;
    tracing.trace({
      type: "request",
      ...facts,
      headers: maskSecrets(headers) as Record<string, unknown>,
      body: maskSecrets(body),
    });
    const startedAt = tracing.now();
    const reply = await send();
    tracing.trace({
      type: "response",
      ...facts,
      durationMs: tracing.now() - startedAt,
      ...outcome(reply),
    });
    return reply;
  }

  return {
    ...service,
    async start(call: StartCall, signal: AbortSignal) {
      return report(startRequest(tracing.target, call), () => service.start(call, signal));
    },
    async end(call: EndCall, signal: AbortSignal) {
      return report(endRequest(tracing.target, call), () => service.end(call, signal));
    },
    async single(call: SingleCall, signal: AbortSignal) {
      return report(singleRequest(tracing.target, call), () => service.single(call, signal));
    },
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
