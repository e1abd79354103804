import { once } from "node:events";
import { defaults } from "../../src/protocol/limits.ts";
import { openService } from "../../src/service/client.ts";
import { openSharedHere, readWith, realClock } from "../support/in-process.ts";

/** What a loop is told by its only argument, as JSON. */
export interface LoopOptions {
  location: string;
  keys: string;
  service: { baseUrl: string; application: { uuid: string; apiKey: string } };
  uuid: string;
  /** How far the clock of its machine is off, in milliseconds. */
  clockShift: number;
}

/** Reads one vault again and again, at the default rate, with the parts that the program is made of: from the first line that it is sent to the second. Prints the times of its places under the rate limit. */
async function loop({ location, keys, service, uuid, clockShift }: LoopOptions): Promise<void> {
  const clock = { ...realClock, now: () => Date.now() + clockShift };
  const keySource = { folder: keys };
  const directory = `${keys}-${process.pid}`;
  const store = openSharedHere(location, { keySource, clock, directory });
  const places: number[] = [];
  const serviceName = `${service.baseUrl}${defaults.apiPrefix}`;
  const { application } = service;
  const target = { service: serviceName, application, version: "test" };
  const limit = {
    rate: defaults.rate,
    clock,
    reserveSlot: async (...slot: [intervalMs: number, longestMs: number]) => {
      const until = await store.reserveSlot(service.application.uuid, ...slot);
      if (until <= slot[1]) places.push(Date.now() + until);
      return until;
    },
  };
  const clients = openService({ ...target, timeoutMs: 30_000, limit });
  const client = clients({ learnSecret: () => undefined });
  const world = { store, clock, serviceName, service: client };
  await store.list();
  process.stdout.write("ready\n");
  await once(process.stdin, "data");
  let isOver = false;
  process.stdin.once("data", () => (isOver = true));
  while (!isOver) await readWith(world, uuid);
  process.stdout.write(`${JSON.stringify(places)}\n`, () => process.exit());
}

await loop(JSON.parse(process.argv[2] ?? "") as LoopOptions);
