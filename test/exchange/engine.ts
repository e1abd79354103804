import type { AckChoice } from "../../src/exchange/end/acknowledge.ts";
import { acknowledgeOpen } from "../../src/exchange/end/acknowledge.ts";
import type { Delivery, Handover } from "../../src/exchange/delivery.ts";
import type { Attempts, Credentials, VaultRecord } from "../../src/exchange/records.ts";
import { runExchange } from "../../src/exchange/run.ts";
import type { Start } from "../../src/exchange/start/start.ts";
import type { VaultError } from "../../src/errors.ts";
import { asVaultError } from "../../src/errors.ts";
import { Crash, World } from "./world.ts";

/** What a test asks for and cares about; `dies` kills the process between ② and ③. */
export type Changes = Partial<Omit<Start, "given">> & {
  given?: Credentials;
  /** Counters that come with the given credentials. */
  attempts?: Attempts;
  handover?: Handover;
  dies?: boolean;
  fails?: boolean;
};

/** What is asked for with the vault of a world, where a test says nothing else. */
export const startOf = ({ uuid }: { uuid: string }, operation: "get" | "update"): Start => ({
  uuid,
  label: null,
  kind: "credit-card/offline",
  operation,
  force: false,
  noAck: false,
  discardPending: false,
});

export const newCard = {
  creditCard: {
    number: "5555555555554444",
    name: "Grace Hopper",
    expiryMonth: 12,
    expiryYear: 2030,
  },
};

/** A vault whose first pair is imported. */
export async function knownVault(maxUsage?: number): Promise<World> {
  const world = new World({ seed: "engine", ...(maxUsage === undefined ? {} : { maxUsage }) });
  await world.hold(
    async ({ session }) =>
      await session.recordPair({ credentials: world.first, kind: "credit-card/offline" }),
  );
  return world;
}

/** Outcome of a run: the code of its error, or `ok`, with everything that was delivered. */
export interface Ran {
  code: string;
  error?: VaultError;
  delivered: Delivery[];
  result?: Delivery;
}

export async function run(
  world: World,
  operation: "get" | "update",
  { dies, fails, given, attempts, handover, ...changes }: Changes = {},
): Promise<Ran> {
  const delivered: Delivery[] = [];
  const start: Start = {
    ...startOf(world, operation),
    ...(operation === "update" ? { newVault: newCard } : {}),
    ...(given === undefined ? {} : { given: { type: "pair", credentials: given, attempts } }),
    ...changes,
  };
  const receiver: Handover = handover ?? {
    leavesState: false,
    recordAttempts: async () => Promise.resolve(),
    deliver: async (delivery) => {
      if (dies === true) throw new Crash("killed before the delivery");
      if (fails === true) throw new Error("the reader has gone");
      delivered.push(delivery);
      return Promise.resolve();
    },
    confirm: async () => Promise.resolve(),
  };
  try {
    return {
      code: "ok",
      delivered,
      result: await world.hold(
        async (context) => await runExchange(die(context, dies), start, receiver),
      ),
    };
  } catch (error) {
    if (error instanceof Crash) return { code: "crash", delivered };
    const failure = asVaultError(error);
    return { code: failure.code, error: failure, delivered };
  } finally {
    world.weather = [];
  }
}

/** A dead process records nothing: the error of the delivery must not put its exchange on hold. */
function die<T extends { session: object }>(context: T, dies: boolean | undefined): T {
  if (dies !== true) return context;
  const session = new Proxy(context.session, {
    get: (object, name) => {
      const value = Reflect.get(object, name, object) as unknown;
      if (name === "hold") return () => Promise.reject(new Crash("killed before the delivery"));
      return typeof value === "function" ? (value.bind(object) as unknown) : value;
    },
  });
  return { ...context, session };
}

export async function ack(world: World, choice: Partial<AckChoice> = {}): Promise<string> {
  try {
    const exchange = await world.hold(
      async (context) => await acknowledgeOpen(context, { unread: false, saved: false, ...choice }),
    );
    return exchange?.state ?? "nothing";
  } catch (error) {
    return asVaultError(error).code;
  } finally {
    world.weather = [];
  }
}

export async function known(world: World): Promise<VaultRecord> {
  const record = await world.record();
  if (record === undefined) throw new Error("the vault is not known");
  return record;
}

/** Whether the pair that the state holds as current is the one that the service accepts. */
export async function currentIsAccepted(world: World): Promise<boolean> {
  const current = (await known(world)).generations.find((g) => g.standing === "current");
  if (current === undefined) return false;
  return await world.hold(async ({ session }) =>
    world.sandbox.accepts(world.uuid, await session.credentials(current.generation)),
  );
}

export const starts = (world: World): number =>
  world.sandbox.requests().filter((r) => r.step === "start").length;
export const ends = (world: World): number =>
  world.sandbox.requests().filter((r) => r.step === "end").length;
