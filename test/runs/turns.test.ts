import { expect, it } from "vitest";
import { VaultError } from "../../src/errors.ts";
import type { ExchangeContext, Reply, Service } from "../../src/exchange/ports.ts";
import type { Named } from "../../src/exchange/records.ts";
import type { LockContext } from "../../src/exchange/lock-vault.ts";
import type { ServicePart } from "../../src/parts/service.ts";
import { takeTurns, type Turns } from "../../src/runs/turns.ts";
import type { Report } from "../../src/runs/report.ts";
import { fakeBasics, fakeHost } from "../support/fake-host.ts";
import { command } from "../../src/way.ts";

type Vault = { uuid: string; label: null };
type Work = (context: ExchangeContext) => Promise<unknown>;

/** A report that keeps the vaults which were not begun. */
const reporting = () => {
  const left: Named[] = [];
  const notBegun = async (vaults: readonly Named[]) => Promise.resolve(void left.push(...vaults));
  return { left, outcome: async () => Promise.resolve(), notBegun, calls: 0 };
};

const named = (...uuids: string[]): Vault[] => uuids.map((uuid) => ({ uuid, label: null }));

/** Takes turns with a rate limit whose places are given out one by one, by `place`. */
function taking(
  count: number,
  work: Turns<Vault>["work"],
  concurrency?: number,
  call?: Service["call"],
  host = fakeHost(),
) {
  const waiting: (() => void)[] = [];
  const admit = async (): Promise<void> => await new Promise<void>((go) => void waiting.push(go));
  const app = {
    ...fakeBasics(host, { rate: 25, maxWait: 5000 }),
    service: {
      clientFor: async () => Promise.resolve({ admit, call } as unknown as Service),
      withVault: async (_uuid: string, inside: Work, own: Partial<LockContext>) =>
        await inside({ ...own, service: await own.service?.() } as unknown as ExchangeContext),
    } as unknown as ServicePart,
  };
  const told: string[] = [];
  const tell = ({ uuid }: Vault): void => void told.push(uuid);
  const vaults = named(...Array.from({ length: count }, (_, n) => `${n}`));
  const report = reporting();
  const turns = { work, tell, options: { concurrency } };
  const taken = takeTurns(app, vaults, report as unknown as Report, turns);
  const place = async (): Promise<void> => {
    await expect.poll(() => waiting.length).toBeGreaterThan(0);
    waiting.shift()?.();
  };
  return { told, taken, place, report, left: report.left };
}

const admitted = async ({ service, signal }: ExchangeContext): Promise<void> =>
  await service.admit({ kind: "generic/offline" }, signal);

it("takes a vault that somebody else has again at the end, but not one whose lock was lost in the middle", async () => {
  const worked: string[] = [];
  const { told, taken, left } = taking(
    3,
    async ({ uuid }) => {
      const isFirst = !worked.includes(uuid);
      worked.push(uuid);
      if (uuid === "1") throw new VaultError("busy", "away too long", { retry: "after-status" });
      if (uuid === "0" && isFirst) throw new VaultError("busy", "another process has it");
      return await Promise.reject(new VaultError("pending", "as good as any other"));
    },
    1,
  );
  await taken;
  expect(left).toEqual([]);
  expect(worked).toEqual(["0", "1", "2", "0"]);
  expect(told).toEqual(["1", "2", "0"]);
});

it("replaces the secrets of a vault in its failure, which outlives them", async () => {
  const outcomes: unknown[] = [];
  const next = [command`vault get hunter2`];
  const work: Turns<Vault>["work"] = async (_, turn) => {
    turn.learn("hunter2");
    return await Promise.reject(new VaultError("locked", "no hunter2", { next }));
  };
  const app = { ...fakeBasics(fakeHost(), { rate: 0 }), service: {} as ServicePart };
  const tell = (_: Vault, outcome: unknown): void => void outcomes.push(outcome);
  const report = reporting() as unknown as Report;
  await takeTurns(app, named("0"), report, { work, tell, options: {} });
  const told = { message: "no «redacted»", facts: { next: [command`vault get «redacted»`] } };
  expect(outcomes).toMatchObject([{ ok: false, error: told }]);
});

it("has the vault made sure of right before each of its calls", async () => {
  const made: unknown[] = [];
  const call: Service["call"] = async (...given) => {
    await given[2]?.();
    return { type: "not-sent", cause: "" };
  };
  const { taken } = taking(
    1,
    async (_, turn) => {
      await turn.withVault(async ({ service, signal }) => {
        const probe = { step: "probe", kind: "generic/offline" } as const;
        await service.call(probe, signal, async () => Promise.resolve(void made.push("sure")));
      });
      return { ok: true };
    },
    1,
    call,
  );
  await taken;
  expect(made).toEqual(["sure"]);
});

it("counts the calls that were sent, and no probe", async () => {
  const replies: Reply[] = [
    { type: "not-sent", cause: "interrupted before a byte was written" },
    { type: "no-answer", cause: "cut" },
  ];
  const call: Service["call"] = async ({ step }) =>
    Promise.resolve((step === "probe" ? replies[1] : replies.shift()) as Reply);
  const work: Turns<Vault>["work"] = async (_, turn) =>
    await turn.withVault(async ({ service, signal }) => {
      const kind = "generic/offline";
      await service.call({ step: "probe", kind }, signal);
      for (const uuid of ["0", "0"]) await service.call({ step: "info", kind, uuid }, signal);
      return { ok: true };
    });
  const { taken, report } = taking(1, work, 1, call);
  await taken;
  expect(report.calls).toBe(1);
});

it("begins the next vault when a start gets its place, however long the others take", async () => {
  const begun: string[] = [];
  const ends: (() => void)[] = [];
  const { taken, place } = taking(70, async ({ uuid }, turn) => {
    begun.push(uuid);
    await turn.withVault(async (context) => {
      await admitted(context);
      await new Promise<void>((end) => void ends.push(end));
    });
    return { ok: true };
  });
  expect(begun).toHaveLength(2);
  for (let n = 3; n <= 64; n += 1) {
    await place();
    await expect.poll(() => begun.length, { interval: 1 }).toBe(n);
  }
  for (let n = 63; n <= 64; n += 1) await place();
  expect(begun).toHaveLength(64);
  const ending = setInterval(() => ends.shift()?.(), 1);
  for (let n = 65; n <= 70; n += 1) await place();
  await taken;
  clearInterval(ending);
  expect(begun).toHaveLength(70);
});

it("lets other vaults come to a trial that those which have lost a start wait longer for", async () => {
  const begun: string[] = [];
  const isBack = Promise.withResolvers<void>();
  const { taken, place, left } = taking(4, async ({ uuid }, turn) => {
    begun.push(uuid);
    await turn.withVault(async (context) => {
      const unansweredStarts = Number(uuid < "2");
      context.emit({ type: "waiting", cause: "", waitMs: 1, unansweredStarts });
      if (unansweredStarts > 0) await isBack.promise;
      await admitted(context);
    });
    return { ok: true };
  });
  await expect.poll(() => begun).toEqual(["0", "1", "2", "3"]);
  isBack.resolve();
  for (let n = 0; n < 4; n += 1) await place();
  await taken;
  expect(left).toEqual([]);
});

it("stops where the service is unavailable for longer than a vault waits for it, and counts as a failure only what was sent", async () => {
  const { told, taken, left } = taking(
    4,
    async ({ uuid }) => {
      const retry = uuid === "0" ? "after-status" : "safe";
      return await Promise.reject(new VaultError("network", "cut off", { retry }));
    },
    1,
  );
  expect(await taken).toMatchObject({ code: "network", message: "the run has stopped; cut off" });
  expect(told).toEqual(["0"]);
  expect(left).toEqual(named("1", "2", "3"));
});

it("tells of a vault that was interrupted after a start of its own, and leaves one of which nothing was sent", async () => {
  const host = fakeHost();
  const work: Turns<Vault>["work"] = async ({ uuid }) => {
    if (uuid === "1") host.interrupt();
    const retry = uuid === "0" ? "after-status" : "safe";
    return await Promise.reject(new VaultError("interrupted", "interrupted", { retry }));
  };
  const { told, taken, left } = taking(2, work, 2, undefined, host);
  await taken;
  expect(left).toEqual(named("1"));
  expect(told).toEqual(["0"]);
});
