import { storedVaults } from "../support/stored-vaults.ts";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { acknowledgeOpen, type AckChoice } from "../../src/exchange/end.ts";
import type { ExchangeContext } from "../../src/exchange/ports.ts";
import { count, type Counters } from "../../src/exchange/counting.ts";
import { runExchange } from "../../src/exchange/run.ts";
import type { ExchangeRow, VaultRow } from "../../src/store/steps/rows.ts";
import { known, World, type Weather } from "../exchange/world.ts";
import { handsOver, startOf } from "../support/in-process.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { Dice } from "../support/dice.ts";

const kind = "credit-card/offline";
const histories = isWhole ? 2_000 : 150;
const steps = 14;

/** What a state holds of the vault, and what the service has counted. */
interface Moment {
  told: string[];
  exchanges: ExchangeRow[];
  vault: VaultRow;
  service: { unackedStarts: number; failedAccesses: number };
}

/** All rows, whatever the program would read. */
function rowsIn({ directory }: World): Pick<Moment, "exchanges" | "vault"> {
  const [{ exchanges, vault } = { exchanges: [], vault: {} as VaultRow }] = storedVaults(
    join(directory, "state", "vault.db"),
  );
  return { exchanges, vault };
}

/** A process that is killed at one of its calls, before or after what that does. */
function dying(context: ExchangeContext, at: number, isDone: boolean): ExchangeContext {
  let left = at;
  const deadly = <T extends object>(part: T): T =>
    new Proxy(part, {
      get: (object, name) => {
        const value = Reflect.get(object, name, object) as unknown;
        if (typeof value !== "function" || name === "release" || name === "now") return value;
        const call = value.bind(object) as (...given: unknown[]) => Promise<unknown>;
        return async (...given: unknown[]) => {
          left -= 1;
          if (left === 0 && isDone) await call(...given);
          if (left <= 0) throw new Error("killed");
          return await call(...given);
        };
      },
    });
  const { session, service, breaker } = context;
  return { ...context, session: deadly(session), service: deadly(service), breaker };
}

const weathers: Weather[] = [
  "fine",
  "fine",
  "no-connection",
  "request-lost",
  "response-lost",
  "response-lost",
  "server-error",
  "broken-after",
  "unusable",
  "clock-set-back",
];

/** What happens to a vault that nobody else uses, and what a truthful person says. */
async function happen(world: World, dice: Dice, document: () => Promise<unknown>): Promise<string> {
  const at = dice.chance(0.3) ? dice.between(1, 30) : Number.POSITIVE_INFINITY;
  const isDone = dice.chance(0.5);
  const using = async (use: (context: ExchangeContext) => Promise<unknown>): Promise<string> => {
    const told = `${world.weather.join()}${Number.isFinite(at) ? `, killed at ${at}` : ""}`;
    await world
      .hold(async (context) => await use(dying(context, at, isDone)))
      .catch((error: unknown) => error);
    world.weather = [];
    return told;
  };
  const lot = dice.fraction();
  world.weather = Array.from({ length: dice.between(0, 6) }, () => dice.pick(weathers));
  if (lot < 0.55) {
    const changes = { noAck: dice.chance(0.3), discardPending: dice.chance(0.3) };
    const start = { ...startOf(world, "get"), ...changes };
    return `get ${await using(async (context) => await runExchange(context, start, handsOver()))}`;
  }
  if (lot < 0.7) {
    const choice: AckChoice = { unread: false, saved: false };
    return `ack ${await using(async (context) => await acknowledgeOpen(context, choice))}`;
  }
  world.weather = [];
  if (lot < 0.8) {
    world.time += dice.pick([31_000, 70_000, 400_000]);
    return "time passes";
  }
  if (lot < 0.85) {
    await document();
    return "the document of an exchange elsewhere";
  }
  const record = await known(world);
  const { failedAccesses, unackedStarts } = world.sandbox.inspect(world.uuid);
  // By the audit log: our own count may still have an exchange whose acknowledgement has arrived.
  const unanswered = rowsIn(world).exchanges.filter(
    ({ outcome }) => outcome === "none" || outcome === null,
  );
  const references = new Set(world.sandbox.audit().map(({ externalRef }) => externalRef));
  const haveArrived =
    unanswered.some(({ externalRef }) => references.has(externalRef)) ||
    unackedStarts > record.unackedStarts - record.unansweredStarts ||
    failedAccesses > record.failedAttempts - record.possiblyFailed;
  const shown = { failedAttempts: failedAccesses, unackedStarts };
  const to = haveArrived ? shown : "unanswered";
  await world.hold(async ({ session }) => await session.resetCounters(to));
  return `guard --reset ${JSON.stringify(to)}`;
}

/** One history: what was there after each step. */
async function history(seed: number): Promise<Moment[]> {
  const world = new World({ idempotentEnd: seed % 2 === 0 });
  const dice = new Dice(`counting ${seed}`);
  const far = world.readElsewhere(world.first);
  await world.hold(
    async ({ session }) => await session.recordPair({ credentials: far.credentials, kind }),
  );
  const given = { exchangeId: "0".repeat(26), kind, operation: "get", tokenExpiry: null } as const;
  const document = async (): Promise<unknown> =>
    await world
      .hold(
        async ({ session }) =>
          await session.adopt({
            ...given,
            old: world.first,
            new: far.credentials,
            token: far.token,
          }),
      )
      .catch((error: unknown) => error);
  const moments: Moment[] = [];
  const told: string[] = [];
  for (let step = 0; step < steps; step += 1) {
    told.push(await happen(world, dice, document));
    const service = world.sandbox.inspect(world.uuid);
    expect(service.state, told.join("\n")).toBe("active");
    const record = await known(world);
    const rows = rowsIn(world);
    const { refusedSince: _, ...counted } = count(rows.exchanges, rows.vault);
    // What is read is enough to count.
    expect(record, told.join("\n")).toMatchObject(counted);
    moments.push({ told: [...told], ...rows, service });
  }
  return moments;
}

/** Whether the service has counted more. */
const isUnder = (counted: Counters, { service }: Moment): boolean =>
  counted.unackedStarts < service.unackedStarts || counted.failedAttempts < service.failedAccesses;

/** Exchanges in another order: an acknowledgement stands where its answer came, before the start that showed it. */
function byTime(exchanges: readonly ExchangeRow[]): ExchangeRow[] {
  const moved = [...exchanges];
  for (const row of exchanges) {
    const { acknowledgedAt, newGeneration: made } = row;
    if (acknowledgedAt === null || row.adopted) continue;
    const isLater = (each: ExchangeRow): boolean =>
      each.startedAt > acknowledgedAt ||
      (each.baseGeneration === made && each.outcome === "success");
    moved.splice(moved.indexOf(row), 1);
    const next = moved.findIndex((each, at) => at >= exchanges.indexOf(row) && isLater(each));
    moved.splice(next < 0 ? moved.length : next, 0, row);
  }
  return moved;
}

const readings: [string, (exchanges: readonly ExchangeRow[]) => readonly ExchangeRow[]][] = [
  ["by time", byTime],
  [
    "④ of what was begun elsewhere is a proof",
    (exchanges) =>
      exchanges.map((row) =>
        row.adopted && row.state === "acknowledged" ? { ...row, adopted: false } : row,
      ),
  ],
  [
    "a start whose process has died counts nothing",
    (exchanges) => exchanges.filter(({ outcome }) => outcome !== null),
  ],
  ["only the last three are kept", (exchanges) => exchanges.slice(-3)],
];

describe("counters that are counted from the exchanges, on the real engine", () => {
  const moments: Moment[] = [];

  beforeAll(async () => {
    for (let seed = 1; seed <= histories; seed += 1) moments.push(...(await history(seed)));
  }, 600_000);

  it("are never below those of the service, whatever answer is lost and whoever dies; nothing is locked", () => {
    const found = moments.find((at) => isUnder(count(at.exchanges, at.vault), at));
    expect(found, JSON.stringify(found, null, 1)).toBeUndefined();
    tried("moments whose counters were compared with the service's", moments.length);
  });

  it.each(readings)("a mistake is found: %s", (_, read) => {
    const isFound = (at: Moment): boolean => isUnder(count(read(at.exchanges), at.vault), at);
    expect(moments.filter(isFound).length).toBeGreaterThan(0);
    tried("mistakes put into the counting, and found", 1);
  });
});
