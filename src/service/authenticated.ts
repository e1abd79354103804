import type { Service } from "../exchange/ports.ts";

/**
 * The same service, whose `admit` also sees to it that the bearer token is good for the call that follows: what fails
 * there fails before anything is recorded or sent.
 */
export function authenticated<S extends Service>(service: S, token: { ready(signal: AbortSignal): Promise<void> }): S {
  return {
    ...service,
    async admit(signal, deadline) {
      await service.admit(signal, deadline);
      await token.ready(signal);
    },
  };
}
