import { describe, expect, it } from "vitest";
import type { Credentials } from "../../src/protocol/requests.ts";
import { errorLines } from "../../src/terminal/narrator.ts";
import { actorOf } from "../../src/actor.ts";
import { asVaultError, VaultError } from "../../src/errors.ts";
import { acknowledgeOpen } from "../../src/exchange/end.ts";
import { describeGuard } from "../../src/commands/guard.ts";
import { nextAction } from "../../src/exchange/next-action.ts";
import { checkForget, refusalError, waysOn } from "../../src/exchange/refusals.ts";
import type { Counters } from "../../src/exchange/counting.ts";
import { wayLines } from "../../src/way.ts";
import { ack, currentIsAccepted, known, knownVault, run, starts, type World } from "./world.ts";
import { commandsOf, helpOf, linesOf } from "../support/help.ts";
import { handsOver } from "../support/in-process.ts";

const policy = { unackedStarts: 5, failedAttempts: 3 };

const lost = (times: number) => Array.from({ length: times }, () => "response-lost" as const);

/** In doubt, and somebody else has read the vault since. Returns the credentials that are right. */
async function readElsewhere(): Promise<{ world: World; right: Credentials }> {
  const world = await knownVault();
  await run(world, "get", { noAck: true });
  const offered = await world.hold(async ({ session }) => await session.credentials(2));
  world.weather = lost(12);
  await ack(world);
  world.time += 61_000;
  expect(await ack(world)).toBe("in-doubt");
  return { world, right: world.colleague(offered) };
}

const importing = async (world: World, credentials: Credentials): Promise<void> => {
  await world.hold(
    async ({ session }) => await session.recordPair({ credentials, kind: "credit-card/offline" }),
  );
};

describe("a vault that nothing endangers is not stopped", () => {
  it("by reads whose acknowledgement was processed and not answered: each later read proves that it arrived", async () => {
    const world = await knownVault();
    for (let read = 1; read <= 6; read += 1) {
      world.weather = ["fine", ...lost(12)];
      expect((await run(world, "get")).code).toBe("pending");
      world.time += 61_000;
      expect(await ack(world)).toBe("in-doubt");
      expect((await known(world)).unackedStarts).toBeLessThanOrEqual(2);
    }
    expect((await run(world, "get")).code).toBe("ok");
    expect(await currentIsAccepted(world)).toBe(true);
    expect(await known(world)).toMatchObject({ unackedStarts: 0, failedAttempts: 0 });
  });

  it("by a refusal that comes with a 5xx, which counts as one", async () => {
    const world = await knownVault();
    await importing(world, { encryptedData: "wrong", payload: "wrong" });
    world.weather = ["broken-after"];
    expect((await run(world, "get")).code).toBe("ok");
    expect(world.sandbox.inspect(world.uuid)).toMatchObject({ maxFailedAccesses: 1 });
  });
});

describe("in doubt, with both credentials refused", () => {
  it("a plain get sends nothing again, and the message names the import", async () => {
    const { world } = await readElsewhere();
    expect((await run(world, "get")).code).toBe("rejected");
    const sent = starts(world);
    const { code, error } = await run(world, "get");
    expect(code).toBe("guard");
    expect(helpOf(error?.facts)).toContain(`vault import ${world.uuid} --credentials @FILE`);
    expect(error?.message).not.toContain("administrator");
    expect(starts(world)).toBe(sent);
    expect(await known(world)).toMatchObject({
      unackedStarts: 1,
      failedAttempts: 2,
      possiblyFailed: 0,
    });
  });

  it.each(["--force", "the audit log"])(
    "once the right ones are imported, exit 8 names the ways that are open: %s",
    async (way) => {
      const { world, right } = await readElsewhere();
      expect((await run(world, "get")).code).toBe("rejected");
      await importing(world, right);
      const { code, error } = await run(world, "get");
      expect(code).toBe("guard");
      expect(helpOf(error?.facts)).toMatch(
        /^vault guard \S+ --reset --failed N --starts N .*; vault import .*; vault get \S+ --generation 3 --force \([^;]*\)$/,
      );
      if (way === "--force")
        expect((await run(world, "get", { generation: 3, force: true })).code).toBe("ok");
      else {
        await world.hold(
          async ({ session }) =>
            await session.resetCounters({ failedAttempts: 1, unackedStarts: 0 }),
        );
        expect((await run(world, "get")).code).toBe("ok");
      }
      expect(await currentIsAccepted(world)).toBe(true);
      expect(world.sandbox.inspect(world.uuid)).toMatchObject({ state: "active" });
    },
  );

  it("credentials that were not refused lead on after two others were, without an import that changes nothing", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (const wrong of ["a", "b"]) {
      expect(
        (await run(world, "get", { given: { encryptedData: wrong, payload: wrong }, force: true }))
          .code,
      ).toBe("rejected");
    }
    const { code, error } = await run(world, "get");
    expect(code).toBe("guard");
    // Each way is a line of its own, and what could lock the vault is the last.
    expect(wayLines(error?.facts.next ?? []).join("\n")).toMatch(
      /^ {2}next: vault guard .*\n {2}next: vault import .*\n {2}next: vault get \S+ --generation 2 --force \(sends [^\n]*\)$/,
    );
    expect((await run(world, "get", { generation: 2, force: true })).code).toBe("ok");
  });

  it("--force that has locked the vault does not say that nothing was sent, and the way on is not another one", async () => {
    const { world } = await readElsewhere();
    expect((await run(world, "get")).code).toBe("rejected");
    const { code, error } = await run(world, "get", { force: true });
    expect(code).toBe("rejected");
    expect(error?.message).toMatch(/by the counters, the vault is locked now/);
    expect(error?.message).not.toContain("not sent");
    expect(helpOf(error?.facts)).toMatch(/^vault guard \S+ --reset \(after an administrator/);
    expect(world.sandbox.inspect(world.uuid).state).toBe("locked");
    const after = await run(world, "get");
    expect(after.code).toBe("guard");
    expect(after.error?.message).toMatch(/^not sent: by the counters, vault \S+ is locked: 3 of 3/);
    expect(helpOf(after.error?.facts)).toMatch(
      /^vault guard \S+ --reset \(after an administrator [^;]*\); vault guard \S+ --reset --failed N/,
    );
  });

  it("other credentials that were refused say nothing of those that have worked", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (const wrong of ["a", "b", "c"]) {
      const given = { encryptedData: wrong, payload: wrong };
      const { error } = await run(world, "get", { given, force: true });
      expect(error?.code).toBe("rejected");
      expect(error?.message).not.toContain("another machine");
    }
  });
});

it("a vault that somebody else has locked: the counters are those of here, and the audit log explains it", async () => {
  const world = await knownVault();
  world.sandbox.lock(world.uuid);
  const { code, error } = await run(world, "get");
  expect(code).toBe("locked");
  expect(helpOf(error?.facts)).toMatch(/^vault audit-replay FILE \(explains it.*--reset \(after /);
  expect(error && errorLines(error, { self: actorOf(1), now: world.time })).toContain(
    "counted here toward lockout: 0 of 5",
  );
});

it("a vault that is locked while a person must choose among credentials: not one of them leads on", async () => {
  const { world } = await readElsewhere();
  world.sandbox.lock(world.uuid);
  world.weather = ["response-lost"];
  expect((await run(world, "get")).code).toBe("network");
  const chosen = await run(world, "get");
  expect(helpOf(chosen.error?.facts)).toMatch(
    /^vault guard \S+ --reset --unanswered \([^;]*\); vault get \S+ --generation 2 /,
  );
  expect((await run(world, "get", { generation: 2 })).code).toBe("locked");
  const { code, error } = await run(world, "get");
  expect(code).toBe("guard");
  expect(helpOf(error?.facts)).toMatch(
    /^vault guard \S+ --reset \(after an administrator [^;]*\)$/,
  );
});

const failing = handsOver(async () => Promise.reject(new Error("the reader has gone")), true);

it.each<[string, Parameters<typeof run>[2], string[]]>([
  ["a read that may not have been delivered", { dies: true }, ["--unread"]],
  ["a save that is owed", { handover: failing }, ["--unread", "--save-cmd", "CMD"]],
])("forget names the acknowledgement that goes through after %s", async (_, asked, needed) => {
  const world = await knownVault(3);
  await run(world, "get", asked);
  const record = await known(world);
  const forgets = (): void => {
    checkForget(world.uuid, record, false);
  };
  const argv = ["vault", "ack", world.uuid, ...needed];
  expect(forgets).toThrow(
    expect.objectContaining({
      code: "pending",
      facts: expect.objectContaining({
        next: expect.arrayContaining([expect.objectContaining({ argv })]) as unknown,
      }) as unknown,
    }),
  );
});

it("what could not be delivered is started again by its own command line, which has all that it needs", async () => {
  const world = await knownVault();
  const { error } = await run(world, "get", { fails: true });
  expect(helpOf(error?.facts)).toBe(
    `vault get ${world.uuid} --discard-pending (starts again with the old credentials); vault ack ${world.uuid}`,
  );
});

it("a vault that is gone is asked for again", async () => {
  const world = await knownVault();
  const lastError = { code: "gone", message: "gone", at: new Date(world.time).toISOString() };
  const ways = waysOn({ ...(await known(world)), lastError }, { policy, clock: Date });
  expect(commandsOf(ways)).toEqual([`vault get ${world.uuid}`]);
});

/** The commands that lead on from a vault with these counters. */
async function commandsOn(world: World, counters: Partial<Counters>): Promise<string[]> {
  const record = { ...(await known(world)), ...counters };
  return commandsOf(waysOn(record, { policy, clock: Date })).map((line) =>
    line.replace(world.uuid, "V"),
  );
}

it.each<Partial<Counters>>([
  { unackedStarts: 4 },
  { unackedStarts: 4, failedAttempts: 2 },
  { unackedStarts: 4, unansweredStarts: 4, failedAttempts: 2 },
])("a start that locks whatever it sends comes after what the log shows: %j", async (counters) => {
  const world = await knownVault();
  const record = { ...(await known(world)), ...counters };
  const ways = waysOn(record, { policy, clock: Date });
  expect(await commandsOn(world, counters)).toEqual([
    "vault guard V --reset --failed N --starts N",
    "vault get V --generation 1 --force",
  ]);
  expect(ways[1]?.note).toMatch(/: locks the vault if /);
  const wish = { operation: "get", discardPending: false, force: false } as const;
  const action = nextAction(record, wish, { policy, clock: Date });
  if (action.do !== "refuse") throw new Error("it is not refused");
  expect(refusalError(record, action, wish, { policy, clock: Date }).message).toMatch(
    /4 of 5 unacknowledged starts used/,
  );
});

it("in doubt with a possible failure, status and ack name the choice that a plain get asks for", async () => {
  const { world } = await readElsewhere();
  const one = { failedAttempts: 1, possiblyFailed: 1 };
  const choice = [
    "vault get V --generation 2",
    "vault get V --generation 1",
    "vault import V --credentials @FILE",
  ];
  expect(await commandsOn(world, {})).toEqual(["vault get V"]);
  const unanswered = "vault guard V --reset --unanswered";
  expect(await commandsOn(world, one)).toEqual([unanswered, ...choice]);
  expect(await commandsOn(world, { ...one, possiblyFailed: 0 })).toEqual(choice);
  world.weather = ["response-lost"];
  expect((await run(world, "get")).code).toBe("network");
  const [byGet, byAck] = [
    (await run(world, "get")).error,
    await world
      .hold(async (context) => await acknowledgeOpen(context, { unread: false, saved: false }))
      .catch(asVaultError),
  ];
  expect([byGet?.code, byAck]).toMatchObject(["guard", { code: "in-doubt" }]);
  expect(linesOf(byAck instanceof VaultError ? byAck.facts.next : [])).toEqual(
    linesOf(byGet?.facts.next),
  );
  const given = { policy, clock: Date };
  expect(describeGuard({ ...(await known(world)), ...one }, given)).toMatchObject({
    allows: true,
    refuses: expect.stringContaining("several credentials may be valid") as string,
  });
});

it("a lost start whose repetition is refused: the right credentials lead on, and then what the audit log shows", async () => {
  const world = await knownVault();
  await run(world, "get");
  const right = world.colleague(
    await world.hold(async ({ session }) => await session.credentials(2)),
  );
  world.weather = ["request-lost"];
  expect((await run(world, "get")).code).toBe("rejected");
  const refused = await run(world, "get");
  expect(refused.code).toBe("guard");
  expect(commandsOf(refused.error?.facts.next)).toEqual([
    `vault import ${world.uuid} --credentials @FILE`,
    `vault guard ${world.uuid} --reset --failed N --starts N`,
  ]);
  await importing(world, right);
  const { error } = await run(world, "get");
  expect(commandsOf(error?.facts.next)[0]).toBe(`vault guard ${world.uuid} --reset --unanswered`);
  await world.hold(async ({ session }) => await session.resetCounters("unanswered"));
  expect((await run(world, "get")).code).toBe("ok");
});

describe("the last start that cannot lock the vault", () => {
  it("is not sent where its acknowledgement waits for something else; a plain get sends it", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (let left = 0; left < 3; left += 1)
      await run(world, "get", { noAck: true, discardPending: true });
    const held = await run(world, "get", { noAck: true, discardPending: true });
    expect(held).toMatchObject({ code: "guard" });
    expect(helpOf(held.error?.facts)).toBe(`vault get ${world.uuid} --discard-pending`);
    expect((await run(world, "get", { discardPending: true })).code).toBe("ok");
  });

  it("over a held update, which a read does not drop: its acknowledgement", async () => {
    const world = await knownVault();
    await run(world, "get");
    for (let left = 0; left < 3; left += 1)
      await run(world, "update", { noAck: true, discardPending: true });
    const held = await run(world, "update", { noAck: true, discardPending: true });
    expect(held).toMatchObject({ code: "guard" });
    expect(helpOf(held.error?.facts)).toBe(`vault ack ${world.uuid}`);
    expect(await ack(world)).toBe("acknowledged");
  });
});

describe("a held exchange, where the guard refuses another start", () => {
  const held = (saveOwed: boolean, limited: boolean) => ({
    holdReason: "delivery" as const,
    delivered: false,
    state: "held" as const,
    saveOwed,
    limited,
  });

  it.each([
    [held(false, true), ["vault ack V --unread"]],
    [held(true, true), ["vault ack V --unread --save-cmd CMD"]],
    [held(false, false), ["vault ack V"]],
  ])("%j: what the guard asks for stands in place of --discard-pending", async (changes, acks) => {
    const world = await knownVault();
    await run(world, "get", { noAck: true });
    const { open, ...record } = await known(world);
    if (open === null) throw new Error("nothing is open");
    const commands = (counters: Partial<Counters>): string[] =>
      commandsOf(
        waysOn({ ...record, ...counters, open: { ...open, ...changes } }, { policy, clock: Date }),
      ).map((line) => line.replace(world.uuid, "V"));
    const ordered = (ways: string[], ...last: string[]): string[] =>
      changes.limited || ways.join() === again
        ? [...ways, ...acks, ...last]
        : [...acks, ...ways, ...last];
    const again = `vault get V --discard-pending${changes.saveOwed ? " --save-cmd CMD" : ""}`;
    expect(commands({})).toEqual(ordered([again]));
    const guard = "vault guard V --reset --failed N --starts N";
    expect(commands({ unackedStarts: 4 })).toEqual(
      ordered([guard], "vault get V --generation 1 --force --discard-pending"),
    );
    const unanswered = { unackedStarts: 4, unansweredStarts: 3 };
    expect(commands(unanswered)).toEqual(ordered(["vault guard V --reset --unanswered", guard]));
  });
});

describe("an exchange that was left before its delivery", () => {
  const guard = "vault guard V --reset --failed N --starts N";
  const forced = "vault get V --generation 1 --force";

  it.each<["get" | "update", Partial<Counters>, boolean, number, string[]]>([
    ["get", {}, false, 0, ["vault ack V"]],
    ["get", {}, false, 1, ["vault ack V"]],
    ["get", {}, true, 0, ["vault get V", "vault ack V --unread"]],
    ["get", { unackedStarts: 4 }, false, 0, ["vault ack V"]],
    ["get", { unackedStarts: 4 }, true, 0, [guard, "vault ack V --unread", forced]],
    ["update", {}, false, 0, ["vault ack V"]],
  ])(
    "%s with %j, limited %s, lost ends %i: %j",
    async (operation, counters, limited, ends, commands) => {
      const world = await knownVault();
      await run(world, operation, { dies: true });
      const { open, ...record } = await known(world);
      if (open === null) throw new Error("nothing is open");
      const left = { ...record, ...counters, open: { ...open, limited, endsUnanswered: ends } };
      expect(
        commandsOf(waysOn(left, { policy, clock: Date })).map((line) =>
          line.replace(world.uuid, "V"),
        ),
      ).toEqual(commands);
    },
  );
});

it("a held update that a read does not drop is finished with the save that it owes", async () => {
  const world = await knownVault();
  await run(world, "update", { noAck: true });
  const { open, ...record } = await known(world);
  if (open === null) throw new Error("nothing is open");
  const held = { ...record, open: { ...open, saveOwed: true } };
  const wish = { operation: "get", discardPending: true, force: false } as const;
  const circumstances = { policy, clock: Date };
  const action = nextAction(held, wish, circumstances);
  if (action.do !== "refuse") throw new Error("it is not refused");
  expect(commandsOf(refusalError(held, action, wish, circumstances).facts.next ?? [])).toEqual([
    `vault ack ${world.uuid} --save-cmd CMD`,
    `vault get ${world.uuid} --discard-pending --force`,
  ]);
});

it("an update that starts again names its contents", async () => {
  const world = await knownVault();
  await run(world, "update", { noAck: true });
  const again = `vault update ${world.uuid} --card @FILE`;
  const held = (await run(world, "get")).error;
  expect(helpOf(held?.facts)).toContain(`${again} --discard-pending`);
  world.time += 61_000;
  const expired = await world
    .hold(async (context) => await acknowledgeOpen(context, { unread: false, saved: false }))
    .catch(asVaultError);
  expect(expired).toMatchObject({ code: "service" });
  expect(helpOf(expired instanceof VaultError ? expired.facts : {})).toBe(again);
});
