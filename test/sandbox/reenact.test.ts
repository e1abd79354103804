import { describe, expect, test } from "vitest";
import { Reenactment } from "../support/reenact/reenact.ts";
import type { EventKind } from "../../src/audit/fold/events.ts";
import type { ReenactedStep } from "../support/reenact/step.ts";
import { EmulatedService } from "../support/reenact/emulated-service.ts";
import type { AuditItem, State } from "../../src/sandbox/model/state.ts";
import { tellFacts } from "../support/audit-log/audit-log.ts";
import type { DialectName } from "../support/audit-log/dialects.ts";
import { dialects } from "../support/audit-log/dialects.ts";
import { some } from "../support/campaign.ts";
import type { Fact, What } from "../support/audit-log/facts.ts";
import { endpoint } from "../support/audit-log/facts.ts";
import { Bench, wrongPair } from "./support.ts";
import type { VaultState as ReplayedState } from "../../src/documents/audit.ts";

const rules = {
  limits: { unackedStarts: 5, failedAttempts: 3 },
  tokenLifetimeMs: 5 * 60_000,
  autoLockAfterMs: 365 * 86_400_000,
};
const uuid = "123e4567-e89b-42d3-a456-426614174000";
const minute = 60_000;

/** Re-enacts these events of a vault, a second apart; `at` overrides the time of the n-th event. */
function through(
  events: readonly EventKind[],
  replayed: ReplayedState,
  more: { at?: Record<number, number>; hint?: string } = {},
) {
  const reenactment = new Reenactment(rules);
  const hint = more.hint === undefined ? {} : { kindHint: more.hint };
  let time = 0;
  events.forEach((event, index) => {
    time = more.at?.[index] ?? time + 1000;
    reenactment.add({ uuid, event, time, line: index + 1, ...hint });
  });
  return reenactment.finish(time, [{ uuid, state: replayed }]);
}

const first = (events: readonly EventKind[], replayed: ReplayedState, more = {}) => {
  const { differences, agree, notPerformed } = through(events, replayed, more);
  expect([differences.length, agree, notPerformed.length]).toEqual([1, 0, 0]);
  return differences[0];
};

describe("log and service agree", () => {
  test.each<[ReplayedState, string]>([
    ["active", "create"],
    ["active", "create read ack-read update ack-update"],
    ["exchange-open", "create read"],
    ["exchange-open", "create read failed-read failed-ack"],
    ["locked", "create failed-read failed-update failed-delete"],
    ["locked", "create failed-attempt failed-attempt failed-attempt refused-locked failed-read"],
    ["active", "create failed-read failed-read read ack-read failed-read failed-read"],
    ["locked", "create read read read read read"],
    ["locked", "create read update read read locking-start"],
    ["locked", "create read read read read locking-start locking-start refused-locked"],
    ["active", "create read read read read ack-read read ack-read"],
    ["active", "create failed-read failed-read failed-read unlock read ack-read"],
    ["locked", "create read lock"],
    ["active", "create lock refused-locked unlock"],
    ["deleted", "create delete"],
    ["deleted", "create read delete"],
    // In the console, or at its expiryDate: the item names no call.
    ["deleted", "create failed-read failed-read failed-read delete"],
    // The log begins later.
    ["active", "ack-read read ack-read"],
    ["exchange-open", "read"],
    ["locked", "refused-locked refused-locked"],
    ["active", "application create other read ack-read"],
  ])("%s: %s", (state, events) => {
    expect(through(events.split(" ") as EventKind[], state)).toEqual({
      vaults: 1,
      agree: 1,
      notPerformed: [],
      differences: [],
    });
  });

  test.each(["credit-card/online", "credit-card/offline", "generic/online", "generic/offline"])(
    "of the kind %s",
    (kind) => {
      const hint = `POST /vaultsvc/v1-2/vault/${kind}/${uuid}/get-start`;
      expect(
        through(
          ["create", "read", "ack-read", "failed-update", "failed-read", "failed-delete"],
          "locked",
          { hint },
        ).agree,
      ).toBe(1);
      expect(through(["create", "read", "ack-read", "delete"], "deleted", { hint }).agree).toBe(1);
    },
  );

  test("an exchange whose token has died is one that the log leaves open", () => {
    expect(
      through(["create", "read", "other"], "exchange-open", { at: { 2: 10 * minute } }).agree,
    ).toBe(1);
    expect(
      through(["create", "read", "other"], "active", { at: { 2: 10 * minute } }).differences,
    ).toHaveLength(0);
  });

  test("a year without a start locks", () => {
    const reenactment = new Reenactment(rules);
    reenactment.add({ uuid, event: "create", time: 0, line: 1 });
    reenactment.add({ uuid, event: "read", time: minute, line: 2 });
    reenactment.add({ uuid, event: "ack-read", time: minute + 1, line: 3 });
    expect(
      reenactment.finish(minute + rules.autoLockAfterMs - 1, [{ uuid, state: "active" }]).agree,
    ).toBe(1);
    const late = reenactment.finish(minute + rules.autoLockAfterMs, [{ uuid, state: "active" }]);
    expect(late.differences).toEqual([
      {
        uuid,
        replayed: "active",
        emulated: "locked",
        text: "at the end the vault is active in the replay and locked in the sandbox (no successful start for 365 days)",
      },
    ]);
  });

  test("whatever case the uuid is written in", () => {
    const reenactment = new Reenactment(rules);
    reenactment.add({ uuid: uuid.toUpperCase(), event: "create", time: 0, line: 1 });
    expect(reenactment.finish(0, [{ uuid, state: "active" }]).agree).toBe(1);
  });
});

describe("a difference, with the first item at which they disagree", () => {
  test("an unlock that the log does not show; the rest goes on", () => {
    const found = first(
      [
        "create",
        "failed-read",
        "failed-read",
        "failed-read",
        "read",
        "ack-read",
        "failed-read",
        "failed-read",
        "failed-read",
      ],
      "locked",
    );
    expect(found).toMatchObject({
      replayed: "locked",
      emulated: "locked",
      at: "1970-01-01T00:00:05.000Z",
      line: 5,
    });
    expect(found?.text).toBe(
      "in the log the start succeeded; in the sandbox the vault was locked (3 failed attempts in a row), and the call was refused. " +
        "An unlock may be missing from the log; the vault was then unlocked to continue",
    );
  });

  test("an acknowledgement behind the start that was one too many", () => {
    const found = first(["create", "read", "read", "read", "read", "read", "ack-read"], "active");
    expect(found).toMatchObject({ line: 7, emulated: "active" });
    expect(found?.text).toMatch(
      /the acknowledgement succeeded; .* locked since line 6 \(5 unacknowledged starts\)/,
    );
  });

  test.each<[string, ReplayedState, string, number, RegExp]>([
    [
      "an acknowledgement without a start",
      "active",
      "create ack-read",
      2,
      /acknowledgement of a read succeeded; .* no exchange is open/,
    ],
    ["the first one of several", "active", "create ack-read create", 2, /no exchange is open/],
    [
      "one of another operation",
      "active",
      "create update ack-read",
      3,
      /a read succeeded; .* \(line 2\) is an update/,
    ],
    ["one that comes twice", "active", "create read ack-read ack-read", 4, /no exchange is open/],
    [
      "a start that was not one too many",
      "locked",
      "create read locking-start",
      3,
      /accepted it \(2 of 5 unacknowledged starts\)/,
    ],
    [
      "a refusal of a vault that is not locked",
      "locked",
      "create read refused-locked",
      3,
      /already locked here; .* active/,
    ],
    [
      "activity after deletion",
      "deleted",
      "create delete read",
      3,
      /a start that succeeded here; .* deleted/,
    ],
    [
      "a failed access after deletion",
      "deleted",
      "create delete failed-read",
      3,
      /a failed attempt here; .* deleted/,
    ],
    [
      "an unlock after deletion",
      "deleted",
      "create delete unlock",
      3,
      /an administrator's unlock here; .* deleted/,
    ],
    ["a second deletion", "deleted", "create delete delete", 3, /another deletion here/],
    [
      "a second creation",
      "active",
      "create create",
      2,
      /creates the vault, which already exists in the sandbox/,
    ],
    [
      "a start that the replay does not see as locking",
      "active",
      "create read read read read read",
      6,
      /at the end the vault is active in the replay/,
    ],
  ])("%s", (_what, state, events, line, text) => {
    const found = first(events.split(" ") as EventKind[], state);
    expect(found).toMatchObject({ replayed: state, line });
    expect(found?.text).toMatch(text);
    expect(found?.text).not.toMatch(/begins after this vault's creation/);
  });

  test("an acknowledgement after the token has died; the counters are set back with it", () => {
    const at = { 2: 10 * minute, 3: 11 * minute, 4: 12 * minute, 5: 13 * minute, 6: 14 * minute };
    const found = first(
      ["create", "read", "ack-read", "read", "read", "read", "read"],
      "exchange-open",
      { at },
    );
    expect(found).toMatchObject({ line: 3, emulated: "exchange-open" });
    expect(found?.text).toMatch(
      /start \(line 2\) was 10 min before and the token lifetime is 5 min/,
    );
  });

  test("a deletion by a call, of a locked vault", () => {
    const hint = `DELETE /vaultsvc/v1-2/vault/generic/offline/${uuid}`;
    const found = first(["create", "lock", "delete"], "deleted", { hint });
    expect(found).toMatchObject({ line: 3, emulated: "deleted" });
    expect(found?.text).toMatch(/the deletion succeeded; .* locked \(an administrator\)/);
  });

  test("which what came before the log may explain", () => {
    expect(first(["failed-read", "refused-locked"], "locked")?.text).toMatch(
      /begins after this vault's creation/,
    );
    expect(first(["failed-read", "failed-read", "failed-read", "read"], "active")?.text).toMatch(
      /begins after this vault's creation/,
    );
    expect(
      first(["read", "ack-read", "failed-read", "refused-locked"], "locked")?.text,
    ).not.toMatch(/begins after this vault's creation/);
  });

  test("the end alone", () => {
    const found = first(["create", "failed-read", "failed-read"], "locked");
    expect(found).toEqual({
      uuid,
      replayed: "locked",
      emulated: "active",
      text: "at the end the vault is locked in the replay and active in the sandbox",
    });
  });

  test.each<[ReplayedState, string]>([
    ["exchange-open", "create read ack-read"],
    ["active", "create read"],
    ["deleted", "create"],
    ["active", "create delete"],
    ["active", "create lock"],
  ])("the end alone: not %s after %s", (state, events) => {
    expect(first(events.split(" ") as EventKind[], state)).not.toHaveProperty("line");
  });
});

test("nothing grows with the calls", () => {
  const id = "00000000-0000-4000-8000-000000000000";
  const state: State = {
    application: { uuid: id, apiKey: id },
    vaults: {},
    initial: [],
    audit: [],
    drawn: 0,
  };
  const service = new EmulatedService({}, state);
  service.create(uuid, "generic/offline");
  const sizeAfter = (rounds: number): number => {
    for (let i = 0; i < rounds; i += 1) {
      service.start(uuid, "get", false);
      service.start(uuid, "update");
      service.end(uuid, "update", false);
      expect(service.end(uuid, "update")).toBe("accepted");
    }
    return JSON.stringify(state).length;
  };
  const before = sizeAfter(10);
  expect(sizeAfter(500) - before).toBeLessThan(20);
});

describe("what cannot be performed", () => {
  test("is said, and leaves the others alone", () => {
    const reenactment = new Reenactment(rules);
    const other = uuid.replace("1", "2");
    const [online, undated] = [uuid.replace("1", "3"), uuid.replace("1", "4")];
    reenactment.add({ uuid: "__proto__", event: "create", time: 0, line: 1 });
    reenactment.add({ uuid: "\u001b[31m", event: "read", time: 0, line: 2 });
    reenactment.add({ uuid: other, event: "create", time: 0, line: 3 });
    reenactment.add({
      uuid: online,
      event: "create",
      time: 0,
      line: 4,
      kindHint: "/vault/credit-card/online",
    });
    reenactment.add({ uuid: online, event: "update", time: 0, line: 5 });
    reenactment.add({ uuid: undated, event: "read", time: Number.NaN, line: 6 });
    reenactment.add({ uuid: undated, event: "read", time: 9e15, line: 7 });
    const named = ["__proto__", "\u001b[31m", other, online, undated, "none"].map((uuid) => ({
      uuid,
      state: "active" as const,
    }));
    const { vaults, agree, differences, notPerformed } = reenactment.finish(Number.NaN, named);
    expect({ vaults, agree, differences }).toEqual({ vaults: 6, agree: 1, differences: [] });
    expect(notPerformed).toEqual([
      {
        uuid: "__proto__",
        reason: expect.stringMatching(/^line 1: vault: uuid must be 36 characters/) as string,
      },
      {
        uuid: "\u001b[31m",
        reason: expect.stringMatching(/^line 2: vault: uuid must be 36/) as string,
      },
      {
        uuid: online,
        reason: "line 5: an update of an online vault, which is not part of the interface",
      },
      { uuid: undated, reason: "line 6: its time is not a date" },
      { uuid: "none", reason: "it has no items" },
    ]);
  });

  test("times and rules at their ends", () => {
    const reenactment = new Reenactment({
      ...rules,
      autoLockAfterMs: Number.MAX_SAFE_INTEGER,
      tokenLifetimeMs: Number.MAX_SAFE_INTEGER,
    });
    for (const time of [-62_135_596_800_000, 253_402_300_799_999]) {
      for (const event of ["create", "read", "ack-read"] as const) {
        reenactment.add({ uuid: uuid.replace("1", time < 0 ? "5" : "6"), event, time, line: 1 });
      }
    }
    const replayed = ["5", "6"].map((digit) => ({
      uuid: uuid.replace("1", digit),
      state: "active" as const,
    }));
    expect(reenactment.finish(0, replayed)).toMatchObject({ agree: 2, notPerformed: [] });
    expect(
      () => new Reenactment({ ...rules, limits: { ...rules.limits, failedAttempts: 0 } }),
    ).toThrow(/failedAttempts must be a whole number of at least 1/);
  });
});

describe("other rules", () => {
  test("lock earlier or later", () => {
    const strict = new Reenactment({ ...rules, limits: { ...rules.limits, failedAttempts: 1 } });
    const lenient = new Reenactment({ ...rules, limits: { failedAttempts: 5, unackedStarts: 9 } });
    for (const reenactment of [strict, lenient]) {
      (["create", "read", "read", "read", "read", "read", "failed-read"] as const).forEach(
        (event, line) => reenactment.add({ uuid, event, time: line, line }),
      );
    }
    expect(strict.finish(9, [{ uuid, state: "locked" }]).agree).toBe(1);
    expect(lenient.finish(9, [{ uuid, state: "exchange-open" }]).agree).toBe(1);
  });
});

/** Returns the sandbox's items as a replay reads them. */
function stepOf(item: AuditItem, index: number): ReenactedStep[] {
  if (item.vaultUuid === null || item.action === "API_KEY_CHECK" || item.action === "ADDRESS_CHECK")
    return [];
  const names = {
    CREATE_VAULT: "create",
    READ_VAULT: "read",
    UPDATE_VAULT: "update",
    ACKNOWLEDGE_READ_VAULT: "ack-read",
    ACKNOWLEDGE_UPDATE_VAULT: "ack-update",
    DELETE_VAULT: "delete",
  } as const;
  const name = names[item.action];
  const refusal = item.description.startsWith("too many")
    ? "locking-start"
    : (`failed-${name}` as EventKind);
  const hint = item.endpoint === null ? {} : { kindHint: item.endpoint };
  return [
    {
      uuid: item.vaultUuid,
      time: Date.parse(item.time),
      event: item.outcome === "SUCCESS" ? name : refusal,
      line: index + 1,
      ...hint,
    },
  ];
}

describe("the sandbox's own audit after a run of calls", () => {
  const bench = new Bench({ policy: { rate: 0 } });
  const tick = (): number => (bench.time += 7000);
  const locked = bench.offline();
  tick();
  bench.exchange(locked);
  for (let i = 0; i < 3; i += 1)
    bench.startWith(locked, wrongPair, tick() > 0 && i === 1 ? "get" : "update");
  const crashed = bench.generic();
  for (let i = 0; i < 5; i += 1) bench.start(crashed, tick() > 0 && i === 3 ? "update" : "get");
  bench.start(crashed);
  const limited = bench.generic({ maxUsage: 2 });
  bench.exchange(bench.exchange(limited));
  const open = bench.online();
  tick();
  bench.start(open);
  const healthy = bench.offline({ expiryDate: "2030-01-01T00:00:00Z" });
  bench.exchange(bench.exchange(healthy, "update"));
  const items = structuredClone(bench.sandbox.audit());
  const vaults = [locked, crashed, limited, open, healthy];
  const states = vaults.map(({ uuid }): { uuid: string; state: ReplayedState } => {
    const { state, pending } = bench.sandbox.inspect(uuid);
    return { uuid, state: pending !== null && state === "active" ? "exchange-open" : state };
  });

  const reenact = (given: readonly AuditItem[]) => {
    const reenactment = new Reenactment(rules);
    for (const step of given.flatMap(stepOf)) reenactment.add(step);
    return reenactment.finish(bench.time, states);
  };

  test("agrees", () => {
    expect(states.map(({ state }) => state)).toEqual([
      "locked",
      "locked",
      "deleted",
      "exchange-open",
      "active",
    ]);
    expect(reenact(items)).toEqual({ vaults: 5, agree: 5, notPerformed: [], differences: [] });
  });

  const tampered = (
    find: (item: AuditItem) => boolean,
    change: Partial<AuditItem> | null,
  ): AuditItem[] => {
    const at = items.findLastIndex(find);
    expect(at).toBeGreaterThan(0);
    return items.flatMap((item, index) =>
      index !== at ? [item] : change === null ? [] : [{ ...item, ...change }],
    );
  };
  const isOf =
    (vault: { uuid: string }, action: string) =>
    (item: AuditItem): boolean =>
      item.vaultUuid === vault.uuid && item.action === action;

  test.each<
    [string, { uuid: string }, (item: AuditItem) => boolean, Partial<AuditItem> | null, RegExp]
  >([
    [
      "a failure is left out",
      locked,
      ({ outcome, vaultUuid }) => vaultUuid === locked.uuid && outcome === "FAILURE",
      null,
      /active in the sandbox/,
    ],
    [
      "a failure is made a success",
      locked,
      isOf(locked, "UPDATE_VAULT"),
      { outcome: "SUCCESS" },
      /at the end/,
    ],
    [
      "an acknowledgement's start is left out",
      healthy,
      isOf(healthy, "READ_VAULT"),
      null,
      /no exchange is open/,
    ],
    [
      "an acknowledgement is left out",
      healthy,
      isOf(healthy, "ACKNOWLEDGE_READ_VAULT"),
      null,
      /with an exchange open/,
    ],
    [
      "a start is left out",
      crashed,
      (item) => item.vaultUuid === crashed.uuid && item.description === "read started",
      null,
      /reached the limit .*4 of 5/,
    ],
    [
      "a deletion is left out",
      limited,
      isOf(limited, "DELETE_VAULT"),
      null,
      /active in the sandbox/,
    ],
    [
      "an acknowledgement comes too late",
      healthy,
      isOf(healthy, "ACKNOWLEDGE_READ_VAULT"),
      { time: "2026-12-24T00:00:00.000Z" },
      /the token lifetime is 5 min/,
    ],
  ])("differs where %s", (_what, vault, find, change, text) => {
    const { agree, differences } = reenact(tampered(find, change));
    expect(agree).toBe(4);
    expect(differences.map(({ uuid }) => uuid)).toEqual([vault.uuid]);
    expect(differences[0]?.text).toMatch(text);
  });
});

const events: Record<What, EventKind> = {
  create: "create",
  read: "read",
  update: "update",
  "ack-read": "ack-read",
  "ack-update": "ack-update",
  delete: "delete",
  expired: "delete",
  "used-up": "delete",
  "failed-read": "failed-read",
  "failed-update": "failed-update",
  "failed-delete": "failed-delete",
  "locking-read": "locking-start",
  "locking-update": "locking-start",
  "refused-read": "refused-locked",
  "refused-update": "refused-locked",
  "failed-ack-read": "failed-ack",
  "failed-ack-update": "failed-ack",
  lock: "lock",
  unlock: "unlock",
  "key-check": "application",
};

describe("generated logs", () => {
  const stepsOf = (facts: Iterable<Fact>): { step: ReenactedStep; fact: Fact }[] =>
    [...facts].flatMap((fact, line) => {
      if (!fact.recorded || fact.uuid === null) return [];
      const path = endpoint(fact)?.path;
      const step = {
        uuid: fact.uuid,
        time: fact.time,
        event: events[fact.what],
        line,
        ...(path === undefined ? {} : { kindHint: path }),
      };
      return [{ step, fact }];
    });

  test.each(some(Object.keys(dialects) as DialectName[]))(
    "%s: every vault agrees, but where somebody unlocked it unseen",
    (dialect) => {
      const { facts, truths } = tellFacts({
        seed: "re",
        items: 6000,
        vaults: 300,
        problems: 0.5,
        dialect,
      });
      const reenactment = new Reenactment(rules);
      const steps = stepsOf(facts);
      for (const { step } of steps) reenactment.add(step);
      const all = truths();
      const { agree, differences, notPerformed, vaults } = reenactment.finish(
        steps.at(-1)?.step.time ?? 0,
        all,
      );
      const unseen = all.filter(({ unlockedUnseen }) => unlockedUnseen).map(({ uuid }) => uuid);
      expect({ vaults, agree, notPerformed }).toEqual({
        vaults: 300,
        agree: 300 - unseen.length,
        notPerformed: [],
      });
      expect(differences.map(({ uuid }) => uuid).toSorted()).toEqual(unseen.toSorted());
      for (const { text, line, replayed, emulated } of differences) {
        expect(text).toMatch(/the start succeeded; .* locked .* An unlock may be missing/);
        expect(steps.find(({ step }) => step.line === line)?.fact.what).toMatch(/^(read|update)$/);
        expect(emulated).toBe(replayed);
      }
    },
  );
});
