import type { App } from "../../app.ts";
import type { SingleContext } from "../../exchange/single/call.ts";

/** What a call outside of an exchange works with. */
export async function singleContext(
  app: Pick<App, "host" | "narrator" | "service" | "waiting">,
): Promise<SingleContext> {
  return {
    service: await app.service(),
    clock: app.host,
    signal: app.host.interrupted,
    deadline: app.waiting.deadline,
    emit: (event) => app.narrator.tell(event),
  };
}
