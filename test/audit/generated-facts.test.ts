import assert from "node:assert/strict";
import { describe, expect, test } from "vitest";
import { tellFacts } from "../support/audit-log/audit-log.ts";
import type { LogOptions } from "../support/audit-log/audit-log.ts";
import type { DialectName } from "../support/audit-log/dialects.ts";
import { dialects } from "../support/audit-log/dialects.ts";
import { some } from "../support/campaign.ts";
import type { Kind, Operation, Step } from "../../src/protocol/endpoints.ts";
import { endpoints, isCreditCard, isOnline, singleEndpoint } from "../../src/protocol/endpoints.ts";
import type { Call } from "../../src/sandbox/model/call.ts";
import { Sandbox } from "../../src/sandbox/model/model.ts";
import { demoDevice } from "../../src/sandbox/seeds/seeds.ts";
import type { AuditItem } from "../../src/sandbox/model/state.ts";
import type { Fact } from "../support/audit-log/facts.ts";

const names = Object.keys(dialects) as DialectName[];
const small: LogOptions = { seed: "one", items: 6000, vaults: 300, problems: 0.5 };

const card = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2031 };
const wrong = { encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" };
const noLimit = { rate: 0, tokenTtlMs: 5 * 60_000 };

/** Performs the generator's events in the emulated service: each call must have the result that the generator gives. */
class Emulation {
  readonly sandbox: Sandbox;
  /** When the service deletes a vault by itself, which must be set when it is created. */
  readonly #fates: Map<string, { maxUsage?: number; expiryDate?: string }>;
  readonly #tokens = new Map<string, string>();
  #now = 0;

  constructor(facts: readonly Fact[]) {
    const application = {
      uuid: facts[0]?.application ?? "",
      apiKey: "123e4567-e89b-42d3-a456-426614174000",
    };
    this.sandbox = new Sandbox({ now: () => this.#now, policy: noLimit, application });
    this.#fates = fatesOf(facts);
  }

  /** Returns the items that the emulated service recorded. */
  audit(): readonly AuditItem[] {
    return this.sandbox.audit();
  }

  setTime(time: number): void {
    this.#now = time;
  }

  perform(fact: Fact): void {
    this.#now = fact.time;
    const uuid = fact.uuid ?? "";
    switch (fact.what) {
      case "create":
        return this.#create(fact, uuid);
      case "read":
      case "update":
        return this.#start(fact, fact.what === "read" ? "get" : "update", 200);
      case "locking-read":
      case "locking-update":
        assert.equal(this.sandbox.inspect(uuid).state, "active");
        return this.#start(fact, fact.what === "locking-read" ? "get" : "update", 423);
      case "refused-read":
      case "refused-update":
        assert.equal(this.sandbox.inspect(uuid).state, "locked");
        return this.#start(fact, fact.what === "refused-read" ? "get" : "update", 423);
      case "failed-read":
      case "failed-update":
        return this.#start(fact, fact.what === "failed-read" ? "get" : "update", 403, wrong);
      case "failed-delete":
      case "delete":
        return this.#delete(fact, fact.what === "delete" ? 200 : 403);
      case "ack-read":
      case "ack-update":
        return this.#end(
          fact,
          fact.what === "ack-read" ? "get" : "update",
          this.#tokens.get(uuid) ?? "",
          200,
        );
      case "failed-ack-read":
      case "failed-ack-update":
        return this.#end(fact, fact.what === "failed-ack-read" ? "get" : "update", "wrong", 400);
      case "lock":
        return this.sandbox.lock(uuid);
      case "unlock":
        return this.sandbox.unlock(uuid);
      case "key-check":
        return this.#keyCheck(fact);
      case "expired":
      case "used-up":
        assert.equal(this.sandbox.inspect(uuid).state, "deleted");
    }
  }

  /** Creates a vault without a call, so that its uuid can be given: its item has no address and no endpoint. */
  #create(fact: Fact, uuid: string): void {
    const contents = isCreditCard(fact.kind) ? { creditCard: card } : { content: "a secret" };
    const device = isOnline(fact.kind) ? { device: demoDevice } : {};
    this.sandbox.addVault({
      uuid,
      kind: fact.kind,
      ...contents,
      ...device,
      ...this.#fates.get(uuid),
    });
  }

  #start(
    fact: Fact,
    operation: Operation,
    status: number,
    pair = this.sandbox.inspect(fact.uuid ?? "").pair,
  ): void {
    const newVault = isCreditCard(fact.kind) ? { creditCard: card } : { content: "another" };
    const body = {
      ...this.#startBody(fact, pair),
      ...(operation === "update" ? { newVault } : {}),
    };
    const answer = this.#call(fact, endpointOf(fact.kind, operation, "start"), body, status);
    const token = (answer["transactionToken"] as { token: string } | undefined)?.token;
    if (token !== undefined) this.#tokens.set(fact.uuid ?? "", token);
  }

  #delete(fact: Fact, status: number): void {
    const pair = status === 200 ? this.sandbox.inspect(fact.uuid ?? "").pair : wrong;
    this.#call(fact, singleEndpoint(fact.kind, "delete"), this.#startBody(fact, pair), status);
  }

  #end(fact: Fact, operation: Operation, token: string, status: number): void {
    this.#call(fact, endpointOf(fact.kind, operation, "end"), { token }, status);
  }

  #keyCheck(fact: Fact): void {
    if (fact.uuid === null) return;
    const application = { uuid: fact.application, apiKey: "0".repeat(36) };
    this.#call(
      fact,
      endpointOf(fact.kind, "get", "start"),
      { ...this.#startBody(fact, wrong), application },
      401,
    );
  }

  #startBody(fact: Fact, credentials: typeof wrong): Record<string, unknown> {
    return {
      application: this.sandbox.application,
      ...(isOnline(fact.kind) ? { device: demoDevice } : {}),
      ...(fact.externalRef === null ? {} : { externalRef: fact.externalRef }),
      vault: { credentials },
    };
  }

  #call(
    fact: Fact,
    endpoint: Call["endpoint"],
    body: unknown,
    status: number,
  ): Record<string, unknown> {
    const uuid = fact.uuid ?? "";
    const { application } = this.sandbox;
    const answer = this.sandbox.call({
      endpoint,
      uuid,
      headers: { "x-application-uuid": application.uuid, "x-api-key": application.apiKey },
      body,
      remoteAddress: fact.address ?? "",
      target: `${endpoint.method} /vaultsvc/v1-2${endpoint.path(uuid)}`,
    });
    assert.equal(answer.status, status, `${fact.what} of ${uuid}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

function endpointOf(kind: Kind, operation: Operation, step: Step): Call["endpoint"] {
  const found = endpoints.find(
    (each) => each.kind === kind && each.operation === operation && each.step === step,
  );
  assert.ok(found);
  return found;
}

function fatesOf(facts: readonly Fact[]): Map<string, { maxUsage?: number; expiryDate?: string }> {
  const reads = new Map<string, number>();
  const fates = new Map<string, { maxUsage?: number; expiryDate?: string }>();
  for (const { what, uuid, time } of facts) {
    if (uuid === null) continue;
    if (what === "ack-read") reads.set(uuid, (reads.get(uuid) ?? 0) + 1);
    if (what === "used-up") fates.set(uuid, { maxUsage: reads.get(uuid) ?? 0 });
    if (what === "expired") fates.set(uuid, { expiryDate: new Date(time).toISOString() });
  }
  return fates;
}

describe.each(some(names))("%s", (dialect) => {
  const { facts: stream, truths } = tellFacts({ ...small, dialect });
  const facts = [...stream];

  test("the emulated service, taken through the same, answers each call so, and is in the same states at the end", () => {
    const emulation = new Emulation(facts);
    for (const fact of facts) emulation.perform(fact);
    const seen = new Set<string>();
    for (const truth of truths()) {
      const { state, pending, unackedStarts, failedAccesses, lockReason } =
        emulation.sandbox.inspect(truth.uuid);
      const rules = {
        failed: "failed-attempts",
        unacknowledged: "unacknowledged-starts",
        console: "administrator",
        "auto-lock": "auto-lock",
      };
      const isOpen = state === "active" && unackedStarts > 0;
      const isRisky = state === "active" && (failedAccesses === 2 || unackedStarts === 4);
      const found = {
        uuid: truth.uuid,
        state: isOpen ? "exchange-open" : state,
        verdict: state !== "active" ? state : isRisky ? "at-risk" : isOpen ? "open-exchange" : "ok",
        rule: state === "locked" && lockReason !== null ? rules[lockReason] : undefined,
      };
      const { uuid, verdict, rule } = truth;
      expect(found, truth.ending).toEqual({ uuid, state: truth.state, verdict, rule });
      if (state !== "deleted")
        expect([unackedStarts, failedAccesses], truth.ending).toEqual([
          truth.unackedStarts,
          truth.failedAttempts,
        ]);
      expect(pending !== null && truth.pending === undefined, truth.ending).toBe(false);
      seen.add(verdict);
    }
    expect([...seen].toSorted()).toEqual(["at-risk", "deleted", "locked", "ok", "open-exchange"]);
  });

  test("a vault is locked at the time of its cause, which is the last one of its chain", () => {
    const byId = new Map(facts.map((fact) => [fact.id, fact]));
    for (const truth of truths().filter(({ verdict }) => verdict === "locked")) {
      const what = truth.chain.map(({ id }) => byId.get(id)?.what ?? "");
      expect(truth.chain.at(-1)).toBe(truth.causeItem);
      expect(truth.lockedAt).toBe(truth.causeItem?.time);
      if (truth.rule === "failed-attempts")
        expect(what.map((each) => each.startsWith("failed-"))).toEqual([true, true, true]);
      if (truth.rule === "administrator") expect(what).toEqual(["lock"]);
      if (truth.rule === "unacknowledged-starts") {
        expect(what).toHaveLength(5);
        expect(what.join(" ")).toMatch(/^((read|update) ){4}locking-(read|update)$/);
      }
      const times = truth.chain.map(({ time }) => time);
      expect(times).toEqual(times.toSorted((a, b) => a - b));
    }
  });
});

test("the items of the sandbox's dialect are those that the sandbox records", () => {
  const { facts: stream } = tellFacts(small);
  const facts = [...stream];
  const emulation = new Emulation(facts);
  for (const fact of facts) emulation.perform(fact);
  const shown = facts.flatMap((fact) => {
    if (!fact.recorded || fact.uuid === null) return [];
    const item = dialects.sandbox.show(fact, undefined as never);
    const made = fact.what === "create" ? { ipAddress: null, endpoint: null } : {};
    return [{ ...item, ...made, id: "", time: fact.what === "expired" ? "" : item["time"] }];
  });
  // A vault that expires is deleted when it is next accessed: the item is not in order of time.
  const order = (items: Record<string, unknown>[]): string[] =>
    items.map((item) => JSON.stringify(item)).toSorted();
  const recorded = emulation.audit().map((item) => ({
    ...item,
    id: "",
    time: item.description === "expiryDate reached" ? "" : item.time,
  }));
  const [ours, theirs] = [order(shown), order(recorded)];
  expect(ours.length).toBe(theirs.length);
  expect(ours.filter((item, index) => item !== theirs[index]).slice(0, 3)).toEqual([]);
});

test("the endings cover what matters", () => {
  const counted = tellFacts({ ...small, items: 60_000, vaults: 3000 });
  for (const _ of counted.facts) continue;
  const truths = counted.truths();
  expect(new Set(truths.map(({ ending }) => ending)).size).toBeGreaterThan(40);
  expect(truths.filter(({ unlockedUnseen }) => unlockedUnseen).length).toBeGreaterThan(10);
});
