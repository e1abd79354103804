import type { Service } from "../exchange/ports.ts";
import { authenticated } from "./authenticated.ts";
import type { ClientOptions } from "./client.ts";
import { createClient } from "./client.ts";
import type { RateLimit } from "./rate-limited.ts";
import { rateLimited } from "./rate-limited.ts";
import type { Tracing } from "./traced.ts";

export interface ServiceOptions extends Omit<ClientOptions, "jwt"> {
  limit: RateLimit;
  /** Where the application has a bearer token. */
  token?: { ready(signal: AbortSignal): Promise<void>; current(): string | undefined } | undefined;
  /** With --debug. */
  trace?: Tracing["trace"] | undefined;
}

/** The client with all that wraps it. Raises `usage` for a base URL that is none. */
export async function openService({ limit, token, trace, ...options }: ServiceOptions): Promise<Service> {
  const target = token === undefined ? options : { ...options, jwt: () => token.current() };
  const limited = rateLimited(createClient(target), limit);
  const client = token === undefined ? limited : authenticated(limited, token);
  if (trace === undefined) return client;
  const { traced } = await import("./traced.ts");
  return traced(client, { target, trace, now: () => limit.clock.now() });
}
