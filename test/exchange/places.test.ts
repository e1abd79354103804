import { expect, it } from "vitest";
import type { Handover } from "../../src/exchange/delivery.ts";
import { runExchange } from "../../src/exchange/run.ts";
import { knownVault, startOf } from "./world.ts";

const handover: Handover = {
  leavesState: false,
  deliver: async () => Promise.resolve(),
  confirm: async () => Promise.resolve(),
};

it.each([
  [
    "a delivery that is soon over",
    { noAck: false, takesTime: false },
    ["start", "ahead: end", "end"],
  ],
  [
    "a program that takes its time: a place asked for ahead would be lost",
    { noAck: false, takesTime: true },
    ["start", "end"],
  ],
  ["no acknowledgement", { noAck: true, takesTime: false }, ["start"]],
])(
  "places under the rate limit are asked for in this order, with %s",
  async (_, { noAck, takesTime }, expected) => {
    const world = await knownVault();
    const asked: string[] = [];
    const of = (isEnd: boolean | undefined): string => (isEnd === true ? "end" : "start");
    await world.hold(async (context) => {
      const service = {
        ...context.service,
        admit: async ({ isEnd }: { isEnd?: boolean }) =>
          Promise.resolve(void asked.push(of(isEnd))),
        reserveAhead: async ({ isEnd }: { isEnd?: boolean }) =>
          Promise.resolve(void asked.push(`ahead: ${of(isEnd)}`)),
      };
      const start = { ...startOf(world, "get"), noAck, takesTime };
      await runExchange({ ...context, service }, start, handover);
    });
    expect(asked).toEqual(expected);
  },
);
