import type { Reply, Service } from "../exchange/ports.ts";
import { isOnline } from "../protocol/endpoints.ts";
import type { ClientOptions, InTurnService, ServiceClient } from "./client.ts";
import { createClient } from "./client.ts";
import { secretsIn } from "./mask.ts";
import type { RateLimit } from "./rate-limited.ts";
import { rateLimited } from "./rate-limited.ts";
import type { Tracing } from "./traced.ts";

interface ServiceOptions extends Omit<ClientOptions, "jwt"> {
  limit: RateLimit;
  /** The bearer token of the application, if it has one. */
  token?: { ready(signal: AbortSignal): Promise<void>; current(): string | undefined } | undefined;
  /** Receives the events of --debug. */
  trace?: Tracing["trace"] | undefined;
}

/** What an exchange does not share with others that run at the same time. */
interface Own {
  /** Called with each secret of a call and of its answer, before anything else sees the answer. */
  learnSecret: (secret: string) => void;
  /** Told what is waited for: each call, and its turn under the rate limit. Settles as the promise does. */
  waitFor?: <T>(what: string, promise: Promise<T>) => Promise<T>;
}

/** Makes a client, with all its wrappers, for one exchange at a time. */
export type ServiceFor = (own: Own) => Service;

/**
 * Opens the service. The clients that it makes share connections, the bearer token and the numbers of calls; each has a place of its
 * own under the rate limit.
 * @throws `usage` for a base URL that is not an http or https URL
 */
export async function openService({
  limit,
  token,
  trace,
  ...options
}: ServiceOptions): Promise<ServiceFor> {
  const target = token === undefined ? options : { ...options, jwt: () => token.current() };
  const connected = pooled(() => createClient(target));
  let calls = 0;
  const shown =
    trace === undefined
      ? (service: Service) => service
      : await tracing({
          target,
          trace,
          now: () => limit.clock.now(),
          nextCall: () => (calls += 1),
        });
  return ({ learnSecret, waitFor }) => {
    const limited = rateLimited(learning(connected, learnSecret), limit);
    const told = waitFor === undefined ? limited : announced(limited, waitFor);
    return shown(token === undefined ? told : authenticated(told, token));
  };
}

async function tracing(options: Tracing): Promise<(service: Service) => Service> {
  const { traced } = await import("./traced.ts");
  return (service) => traced(service, options);
}

/** Gives each call a client, and with it a connection, that no other call is using; there are as many as calls were ever under way. */
function pooled(open: () => ServiceClient): InTurnService {
  const first = open();
  const idle = [first];
  const send = async (call: (client: InTurnService) => Promise<Reply>): Promise<Reply> => {
    const client = idle.pop() ?? open();
    try {
      return await call(client);
    } finally {
      idle.push(client);
    }
  };
  return {
    ...first,
    start: async (...call) => await send(async (client) => await client.start(...call)),
    end: async (...call) => await send(async (client) => await client.end(...call)),
    single: async (...call) => await send(async (client) => await client.single(...call)),
  };
}

/** Wraps a service so that the redaction knows every secret before an answer is read, shown or recorded. */
function learning(service: InTurnService, learn: (secret: string) => void): InTurnService {
  const watched = async (call: object, send: () => Promise<Reply>): Promise<Reply> => {
    for (const secret of secretsIn(call)) learn(secret);
    const reply = await send();
    if (reply.type !== "not-sent")
      for (const secret of secretsIn(reply.answer?.body)) learn(secret);
    return reply;
  };
  return {
    ...service,
    start: async (...call) => await watched(call[0], async () => await service.start(...call)),
    end: async (...call) => await watched(call[0], async () => await service.end(...call)),
    single: async (...call) => await watched(call[0], async () => await service.single(...call)),
  };
}

/** Wraps a service so that whoever waits for a response, or for a turn to call, knows what for. */
function announced<S extends Service>(service: S, waitFor: NonNullable<Own["waitFor"]>): S {
  return {
    ...service,
    admit: async (next, signal, deadline) =>
      await waitFor("a turn under the rate limit", service.admit(next, signal, deadline)),
    start: async (call, signal) =>
      await waitFor("the service's response to the start", service.start(call, signal)),
    end: async (call, signal) =>
      await waitFor("the service's response to the acknowledgement", service.end(call, signal)),
    single: async (call, signal) =>
      await waitFor("the service's response", service.single(call, signal)),
  };
}

/**
 * Wraps a service so that `admit` also obtains a valid bearer token for a call about an offline vault (specification, 5.4): a
 * failure then comes before anything is recorded or sent.
 */
function authenticated<S extends Service>(
  service: S,
  token: { ready(signal: AbortSignal): Promise<void> },
): S {
  return {
    ...service,
    async admit(next, signal, deadline) {
      await service.admit(next, signal, deadline);
      if (!isOnline(next.kind)) await token.ready(signal);
    },
  };
}
