import { describe, expect, it } from "vitest";
import { Dice } from "../support/dice.ts";
import { expectExit, expectInStep, offlineCard, openLab } from "../support/lab.ts";
import { callsSince, expectOrder } from "./call-order.ts";
import { isWhole } from "../support/campaign.ts";
import { playRound } from "./rounds.ts";
import { tried } from "../support/tally.ts";

/** Each plays its rounds one after the other on one state, which so has a past. */
const tables = Array.from({ length: isWhole ? 60 : 2 }, (_, index) => ({
  seed: `table ${index}`,
  vaults: 1 + (index % 3),
}));
const rounds = isWhole ? 5 : 2;

describe("several processes at the same moment, some killed", () => {
  it.each(tables)(
    "of $vaults vaults, $seed: one exchange at a time, nothing lost, nobody waits for the dead",
    async ({ seed, vaults }) => {
      const lab = await openLab(Array.from({ length: vaults }, () => offlineCard));
      const machine = lab.machine();
      for (const { uuid, kind, credentials } of lab.service.vaults) {
        const more = { PAIR: JSON.stringify(credentials) };
        expectExit(
          await machine.vaultWith(
            { env: more },
            "get",
            uuid,
            "--kind",
            kind,
            "--credentials",
            "env:PAIR",
            "--json",
          ),
          0,
        );
      }
      const dice = new Dice(seed);
      for (let round = 0; round < rounds; round += 1) await playRound(dice, lab, machine, round);
      tried("interleavings of processes", rounds);
    },
  );
});

describe("many processes on one vault", () => {
  it("each has its turn, with the pair of the one before", async () => {
    const lab = await openLab(offlineCard);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    const count = isWhole ? 16 : 4;
    const runs = await Promise.all(
      Array.from(
        { length: count },
        async () =>
          await machine.start({ timeoutMs: 120_000 }, "get", uuid, "--json", "--max-wait", "100s")
            .exit,
      ),
    );
    for (const run of runs) expectExit(run, 0);
    const calls = callsSince(lab, uuid, 0);
    expect(calls).toHaveLength(2 * (count + 1));
    expectOrder(calls, 0);
    await expectInStep(lab, machine, uuid);
    tried("interleavings of processes", 1);
  });
});
