import { describe, expect, it } from "vitest";
import { asVaultError } from "../../src/errors.ts";
import { acknowledgeOpen } from "../../src/exchange/end.ts";
import { waysOn } from "../../src/exchange/refusals.ts";
import { known, knownVault, run, type Weather, type World } from "../exchange/world.ts";
import { isWhole, tried } from "../support/campaign.ts";
import { Dice } from "../support/dice.ts";
import { helpOf, linesOf } from "../support/help.ts";

const histories = isWhole ? 4000 : 300;
/** Most commands that a person follows until the contents are there. */
const patience = 10;

const weathers: Weather[] = [
  "fine",
  "no-connection",
  "request-lost",
  "response-lost",
  "response-lost",
  "garbled",
  "server-error",
  "broken-after",
  "unusable",
];
const lostEnds: Weather[] = ["fine", ...Array.from({ length: 12 }, () => "response-lost" as const)];

interface Ended {
  code: string;
  hint: string;
}

async function get(world: World, changes: Parameters<typeof run>[2] = {}): Promise<Ended> {
  const { code, error } = await run(world, "get", changes);
  return { code, hint: helpOf(error?.facts) };
}

async function ack(world: World, unread: boolean): Promise<Ended> {
  const ended = await world
    .hold(async (context) => await acknowledgeOpen(context, { unread, saved: false }))
    .catch(asVaultError);
  world.weather = [];
  return ended instanceof Error
    ? { code: ended.code, hint: helpOf(ended.facts) }
    : { code: "acknowledged", hint: "" };
}

async function importing(
  world: World,
  credentials: { encryptedData: string; payload: string },
): Promise<Ended> {
  const kind = "credit-card/offline";
  await world
    .hold(async ({ session }) => await session.recordPair({ credentials, kind }))
    .catch(() => undefined);
  return { code: "imported", hint: "" };
}

/** Generations with the credentials that the service accepts. */
async function rightOnes(world: World): Promise<number[]> {
  const { pair } = world.sandbox.inspect(world.uuid);
  const found: number[] = [];
  for (const { generation, standing } of (await known(world)).generations) {
    const stored = await world.hold(async ({ session }) => await session.credentials(generation));
    if (stored.payload === pair.payload && standing !== "superseded") found.push(generation);
  }
  return found;
}

/** Something that happens to a vault. */
async function happen(world: World, dice: Dice): Promise<string> {
  const service = world.sandbox.inspect(world.uuid);
  const lot = dice.fraction();
  if (lot < 0.62) {
    world.weather = dice.chance(0.3)
      ? [...lostEnds]
      : Array.from({ length: dice.between(1, 6) }, () => dice.pick(weathers));
    const told = world.weather.join();
    const changes = {
      noAck: dice.chance(0.2),
      dies: dice.chance(0.12),
      fails: dice.chance(0.08),
      discardPending: dice.chance(0.2),
    };
    const { code } = await run(world, dice.chance(0.8) ? "get" : "update", changes);
    return `${JSON.stringify(changes)} ${told}: ${code}`;
  }
  if (lot < 0.75) {
    if (dice.chance(0.5)) world.weather = Array.from({ length: 12 }, () => dice.pick(weathers));
    return `ack: ${(await ack(world, dice.chance(0.3))).code}`;
  }
  if (lot < 0.83) {
    world.time += dice.pick([31_000, 70_000, 400_000]);
    return "time passes";
  }
  if (lot < 0.9) {
    const isFar = service.unackedStarts < 3 && service.failedAccesses < 2;
    if (service.state !== "active" || !isFar || (service.usesRemaining ?? 9) < 2) return "nothing";
    // Whoever has a copy of the credentials has it from an export.
    const copied = await rightOnes(world);
    await world.hold(async ({ session }) => await session.markElsewhere(copied));
    world.colleague(service.pair);
    return "a colleague reads it";
  }
  if (lot < 0.97) {
    const wrong = `wrong-${dice.between(1, 3)}`;
    const isRight = dice.chance(0.4);
    await importing(world, isRight ? service.pair : { encryptedData: wrong, payload: wrong });
    return isRight ? "import" : `import of ${wrong}`;
  }
  if (service.state === "active") world.sandbox.lock(world.uuid);
  return "an administrator locks it";
}

/** Does what a way says, if what the person knows of the audit log and the administrator speaks for it; undefined if not. */
async function follow(world: World, way: string): Promise<Ended | undefined> {
  const service = world.sandbox.inspect(world.uuid);
  const record = await known(world);
  const reset = async (to: Parameters<typeof resetOf>[1]): Promise<Ended> =>
    await resetOf(world, to);
  const generation = /--generation (\d+)/.exec(way)?.[1];
  if (way.includes("--reset --unanswered")) {
    const haveArrived =
      service.unackedStarts > record.unackedStarts - record.unansweredStarts ||
      service.failedAccesses > record.failedAttempts - record.possiblyFailed;
    return haveArrived ? undefined : await reset("unanswered");
  }
  if (way.includes("--failed N")) {
    const { failedAccesses: failedAttempts, unackedStarts } = service;
    const isNews = unackedStarts < record.unackedStarts || failedAttempts < record.failedAttempts;
    return isNews ? await reset({ failedAttempts, unackedStarts }) : undefined;
  }
  if (way.startsWith("vault guard")) {
    if (service.state !== "locked") return undefined;
    world.sandbox.unlock(world.uuid);
    return await reset("all");
  }
  const right = await rightOnes(world);
  if (generation !== undefined) {
    const force = way.includes("--force");
    if (!right.includes(Number(generation)) || (force && isAtLimit(world))) return undefined;
    const discardPending = way.includes("--discard-pending");
    return await get(world, { generation: Number(generation), force, discardPending });
  }
  if (way.startsWith("vault import")) {
    const isKnown = record.generations.some(
      (one) => right.includes(one.generation) && !one.refused,
    );
    return isKnown ? undefined : await importing(world, service.pair);
  }
  if (way.startsWith("vault ack")) return await ack(world, way.includes("--unread"));
  const [, operation] = /^vault (get|update)/.exec(way) ?? [];
  if (operation === undefined) throw new Error(`nobody knows how to follow: ${way}`);
  const discardPending = way.includes("--discard-pending");
  const { code, error } = await run(world, operation as "get" | "update", { discardPending });
  return { code, hint: helpOf(error?.facts) };
}

async function resetOf(
  world: World,
  to: "all" | "unanswered" | { failedAttempts: number; unackedStarts: number },
): Promise<Ended> {
  await world.hold(async ({ session }) => await session.resetCounters(to));
  return { code: "reset", hint: "" };
}

/** The next start locks the vault, whatever it sends: only an administrator can help. */
const isAtLimit = (world: World): boolean =>
  world.sandbox.inspect(world.uuid).unackedStarts + 1 >= 5;

/** Follows what the program names, of an error or of `status`, until the contents are there; what is wrong, with the story. */
async function stuck(world: World, dice: Dice, story: string[]): Promise<string | undefined> {
  const asksStatus = dice.chance(0.5);
  let ended = await get(world);
  for (let tries = 0; tries < patience; tries += 1) {
    story.push(`get: ${ended.code}, ${ended.hint}`);
    const service = world.sandbox.inspect(world.uuid);
    if (ended.code === "ok" || service.usesRemaining === 0) return undefined;
    if (service.state === "locked" && service.lockReason !== "console") return "locked";
    // A trial of the circuit breaker is due by then.
    world.time += 400_000;
    const policy = { unackedStarts: 5, failedAttempts: 3 };
    const clock = { now: () => world.time };
    const ofStatus = linesOf(waysOn(await known(world), { policy, clock })).join("; ");
    const named = asksStatus || !/(^|; )vault /.test(ended.hint) ? ofStatus : ended.hint;
    const ways = named.split("; ").filter((way) => /^vault (?!status|audit-replay)/.test(way));
    // What is named to be run again is so, where nothing that needs a person's knowledge helps.
    const isAgain = ways.length === 0 || ended.hint.startsWith("run it again");
    let next: Ended | undefined;
    for (const way of [...ways, ...(isAgain ? ["vault get"] : [])]) {
      next = await follow(world, way);
      if (next !== undefined) {
        story.push(`${way}: ${next.code}`);
        break;
      }
    }
    if (next === undefined) return isAtLimit(world) ? undefined : `no way on: ${named}`;
    const isDone = ["reset", "acknowledged", "imported"].includes(next.code);
    ended = isDone ? await get(world) : next;
  }
  return "in a circle";
}

describe("whoever follows only what the program names", () => {
  it(`reads the vault again, after each of ${histories} histories, and locks none`, async () => {
    for (let history = 1; history <= histories; history += 1) {
      const dice = new Dice(`follow ${history}`);
      const world = await knownVault(dice.chance(0.2) ? dice.between(2, 4) : undefined);
      const story: string[] = [];
      for (let left = dice.between(3, 10); left > 0; left -= 1)
        story.push(await happen(world, dice));
      const found = await stuck(world, dice, story);
      expect(found, `history ${history}:\n${story.join("\n")}`).toBeUndefined();
    }
    tried("vaults that were read again by following what the program names", histories);
  });
});
