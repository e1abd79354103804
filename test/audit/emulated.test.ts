import { expect, test } from "vitest";
import type { Operation } from "../../src/protocol/endpoints.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { Bench, wrongPair } from "../sandbox/support.ts";
import { runs, tried } from "../support/campaign.ts";
import { Dice } from "../support/dice.ts";
import { replayText, rules } from "./support.ts";

const locksBy = {
  failed: "failed-attempts",
  unacknowledged: "unacknowledged-starts",
  console: "administrator",
  "auto-lock": "auto-lock",
};
const tokenLifetimeMs = 5 * 60_000;

/** A client that does anything: acknowledges or not, late, twice, with wrong credentials, on vaults that are locked or gone. */
class Client {
  readonly #bench: Bench;
  readonly #dice: Dice;
  readonly #tokens: { token: string; operation: Operation }[] = [];
  #vault: KnownVault;

  constructor(bench: Bench, dice: Dice) {
    this.#bench = bench;
    this.#dice = dice;
    const fate = dice.pick([{}, {}, {}, { maxUsage: 3 }]);
    this.#vault = dice.pick([
      () => bench.generic(fate),
      () => bench.offline(fate),
      () => bench.online(),
    ])();
  }

  get uuid(): string {
    return this.#vault.uuid;
  }

  act(): void {
    const dice = this.#dice;
    const bench = this.#bench;
    const operation = this.#vault.kind.endsWith("/offline") && dice.chance(0.3) ? "update" : "get";
    const { weight: _, what } = dice.draw([
      { weight: 5, what: "start" },
      { weight: 4, what: "end" },
      { weight: 3, what: "wrong" },
      { weight: 1, what: "other-token" },
      { weight: 0.1, what: "delete" },
    ] as const);
    if (what === "wrong") bench.startWith(this.#vault, wrongPair, operation);
    else if (what === "delete") this.#delete();
    else if (what === "start") {
      const { status, body } = bench.start(this.#current(), operation);
      if (status === 200) this.#tokens.push({ token: body.transactionToken.token, operation });
    } else {
      const known = what === "end" ? this.#tokens.at(-1) : dice.pick(this.#tokens);
      bench.end(this.#vault, known?.token ?? "none", known?.operation ?? operation);
    }
  }

  /** The vault with the credentials that the service accepts now. */
  #current(): KnownVault {
    const { pair } = this.#bench.sandbox.inspect(this.uuid);
    return { ...this.#vault, credentials: { ...this.#vault.credentials, ...pair } };
  }

  #delete(): void {
    this.#bench.raw({
      method: "DELETE",
      path: `/vaultsvc/v1-2/vault/${this.#vault.kind}/${this.uuid}`,
      body: JSON.stringify(this.#bench.startBody(this.#current())),
    });
  }
}

/** Takes some vaults through many calls, and returns what the service has recorded and how each vault is at the end. */
function emulated(seed: number) {
  const dice = new Dice(`emulated ${seed}`);
  const bench = new Bench({ policy: { rate: 0, tokenTtlMs: tokenLifetimeMs } });
  const clients = Array.from({ length: 8 }, () => new Client(bench, dice));
  for (let call = 0; call < 120; call += 1) {
    bench.time += dice.chance(0.05) ? dice.between(0, 400_000) : dice.wait(3000);
    dice.pick(clients).act();
  }
  const truths = clients.map(({ uuid }) => {
    const { state, lockReason, unackedStarts, failedAccesses } = bench.sandbox.inspect(uuid);
    const isRisky = unackedStarts === 4 || failedAccesses === 2;
    const active = isRisky ? "at-risk" : unackedStarts > 0 ? "open-exchange" : "ok";
    const rule = lockReason === null || state !== "locked" ? undefined : locksBy[lockReason];
    const counters = state === "deleted" ? [] : [unackedStarts, failedAccesses];
    return [uuid, state === "active" ? active : state, rule, ...counters].join(" ");
  });
  return { items: bench.sandbox.audit(), truths };
}

test("every vault is as the emulated service has it, whatever its clients did", async () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < runs(600); seed += 1) {
    const { items, truths } = emulated(seed);
    const log = items.map((item) => `${JSON.stringify(item)}\n`).join("");
    const { reports } = await replayText(log, { rules: { ...rules, tokenLifetimeMs } });
    const found = reports.map(({ uuid, verdict, cause, contradictions, ...one }) => {
      const counters = verdict === "deleted" ? [] : [one.unackedStarts, one.failedAttempts];
      seen.add(`${verdict} ${cause?.rule}`);
      return [
        uuid,
        verdict,
        cause?.rule,
        ...counters,
        ...contradictions.map(({ kind }) => kind),
      ].join(" ");
    });
    expect(found.toSorted(), `seed ${seed}`).toEqual(truths.toSorted());
  }
  expect([...seen].toSorted().join(", ")).toBe(
    "at-risk undefined, deleted undefined, locked failed-attempts, locked unacknowledged-starts, ok undefined, open-exchange undefined",
  );
  tried("vaults replayed as the emulated service has them", 8 * runs(600));
});
