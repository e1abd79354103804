import type { Reply, Service } from "../exchange/ports.ts";
import { isOnline } from "../protocol/endpoints.ts";
import type { ClientOptions } from "./client.ts";
import { createClient } from "./client.ts";
import { secretsIn } from "./mask.ts";
import type { RateLimit } from "./rate-limited.ts";
import { rateLimited } from "./rate-limited.ts";
import type { Tracing } from "./traced.ts";

interface ServiceOptions extends Omit<ClientOptions, "jwt"> {
  limit: RateLimit;
  /** The bearer token of the application, if it has one. */
  token?: { ready(signal: AbortSignal): Promise<void>; current(): string | undefined } | undefined;
  /** Called with each secret of a call and of its answer, before anything else sees the answer. */
  learnSecret: (secret: string) => void;
  /** Told what is waited for: each call, and its turn under the rate limit. Settles as the promise does. */
  waitFor: <T>(what: string, promise: Promise<T>) => Promise<T>;
  /** Receives the events of --debug. */
  trace?: Tracing["trace"] | undefined;
}

/**
 * Creates the client with all its wrappers.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export async function openService({ limit, token, learnSecret, waitFor, trace, ...options }: ServiceOptions): Promise<Service> {
  const target = token === undefined ? options : { ...options, jwt: () => token.current() };
  const limited = announced(rateLimited(learning(createClient(target), learnSecret), limit), waitFor);
  const service = token === undefined ? limited : authenticated(limited, token);
  if (trace === undefined) return service;
  const { traced } = await import("./traced.ts");
  return traced(service, { target, trace, now: () => limit.clock.now() });
}

/** Wraps a service so that the redaction knows every secret before an answer is read, shown or recorded. */
function learning<S extends Service>(service: S, learn: (secret: string) => void): S {
  const watched = async (call: object, send: () => Promise<Reply>): Promise<Reply> => {
    for (const secret of secretsIn(call)) learn(secret);
    const reply = await send();
    if (reply.type !== "not-sent") for (const secret of secretsIn(reply.answer?.body)) learn(secret);
    return reply;
  };
  return {
    ...service,
    start: async (call, signal) => await watched(call, async () => await service.start(call, signal)),
    end: async (call, signal) => await watched(call, async () => await service.end(call, signal)),
    single: async (call, signal) => await watched(call, async () => await service.single(call, signal)),
  };
}

/** Wraps a service so that whoever waits for a response, or for a turn to call, knows what for. */
function announced<S extends Service>(service: S, waitFor: ServiceOptions["waitFor"]): S {
  return {
    ...service,
    admit: async (kind, signal, deadline) => await waitFor("a turn under the rate limit", service.admit(kind, signal, deadline)),
    start: async (call, signal) => await waitFor("the service's response to the start", service.start(call, signal)),
    end: async (call, signal) => await waitFor("the service's response to the acknowledgement", service.end(call, signal)),
    single: async (call, signal) => await waitFor("the service's response", service.single(call, signal)),
  };
}

/**
 * Wraps a service so that `admit` also obtains a valid bearer token for a call about an offline vault (specification, 5.4): a
 * failure then comes before anything is recorded or sent.
 */
function authenticated<S extends Service>(service: S, token: { ready(signal: AbortSignal): Promise<void> }): S {
  return {
    ...service,
    async admit(kind, signal, deadline) {
      await service.admit(kind, signal, deadline);
      if (!isOnline(kind)) await token.ready(signal);
    },
  };
}
