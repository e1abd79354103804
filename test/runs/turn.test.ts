import { expect, it } from "vitest";
import type { ServicePart } from "../../src/parts/service.ts";
import { Turn } from "../../src/runs/turn.ts";
import type { ExchangeContext } from "../../src/exchange/context.ts";
import type { LockContext } from "../../src/exchange/lock-vault.ts";
import type { Service } from "../../src/exchange/ports.ts";
import { fakeBasics, fakeHost } from "../support/fake-host.ts";

type Work = (context: ExchangeContext) => Promise<unknown>;

it("has one place under the rate limit for its whole exchange, and its patience stands still in that queue", async () => {
  let elapsed = 1000;
  let opened = 0;
  let own: Partial<LockContext> = {};
  const patienceInQueue: (number | undefined)[] = [];
  const admit = async (): Promise<void> => {
    elapsed += 60_000;
    patienceInQueue.push(own.clock?.elapsed());
    expect(turn.hasPlace).toBe(false);
    return Promise.resolve();
  };
  const service = { admit } as unknown as Service;
  const app = {
    ...fakeBasics(Object.assign(fakeHost(), { elapsed: () => elapsed }), { maxWait: 5000 }),
    service: {
      clientFor: async () => Promise.resolve(void (opened += 1)).then(() => service),
      withVault: async (_uuid: string, work: Work, given: Partial<LockContext>) =>
        await Promise.resolve((own = given)).then(async () => await work({} as ExchangeContext)),
    } as unknown as ServicePart,
  };
  const turn = new Turn(app, {
    uuid: "x",
    waits: true,
    onCall: () => undefined,
    probing: async (send) => await send(),
    onService: () => undefined,
    onProgress: () => undefined,
  });
  const context = await turn.withVault(async (locked) => Promise.resolve(locked));
  elapsed += 7;
  expect(context.deadline).toBe(6000);
  const client = await own.service?.();
  expect(await own.service?.()).toBe(client);
  await client?.admit({ kind: "generic/offline" }, new AbortController().signal);
  expect(opened).toBe(1);
  expect([...patienceInQueue, own.clock?.elapsed()]).toEqual([1007, 1007]);
  expect([turn.hasPlace, turn.preparedMs]).toEqual([true, 7]);
});
