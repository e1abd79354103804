import type { Io } from "../../parts/io.ts";
import type { ServicePart } from "../../parts/service.ts";
import type { SingleContext } from "../../exchange/single/call.ts";

/** What a call outside of an exchange works with. */
export async function singleContext({
  io,
  service,
}: {
  io: Io;
  service: ServicePart;
}): Promise<SingleContext> {
  return {
    service: await service.client(),
    clock: io.host,
    signal: io.host.interrupted,
    deadline: io.waiting.deadline,
    emit: (event) => io.narrator.tell(event),
  };
}
