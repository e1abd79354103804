import type { Deps } from "../../deps.ts";
import type { SingleContext } from "../../exchange/single-call.ts";

/** What a call outside of an exchange works with. */
export async function singleContext(deps: Deps): Promise<SingleContext> {
  return {
    service: await deps.service(),
    clock: deps.host,
    signal: deps.host.interrupted,
    deadline: deps.deadline,
    tell: (event) => deps.narrator.tell(event),
  };
}
