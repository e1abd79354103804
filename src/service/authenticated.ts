import type { Service } from "../exchange/ports.ts";
import { isOnline } from "../protocol/endpoints.ts";

/**
 * The same service, whose `admit` also sees to it that the bearer token is good for the call that follows, where that is about
 * an offline vault (specification, 5.4): what fails there fails before anything is recorded or sent.
 */
export function authenticated<S extends Service>(service: S, token: { ready(signal: AbortSignal): Promise<void> }): S {
  return {
    ...service,
    async admit(kind, signal, deadline) {
      await service.admit(kind, signal, deadline);
      if (!isOnline(kind)) await token.ready(signal);
    },
  };
}
