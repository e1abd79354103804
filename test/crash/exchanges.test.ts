import { describe, expect, it } from "vitest";
import { stride } from "../support/campaign.ts";
import { atEveryStep, expectSteps, runKilledAt } from "../support/crash.ts";
import { expectExit, expectInStep, note } from "../support/lab.ts";
import { errorOf } from "../support/machine.ts";
import { exchanges } from "../torture/operations/exchanges.ts";
import type { Operation } from "../torture/operations/operation.ts";
import {
  getGoesOn,
  here,
  inStep,
  nothingLost,
  wholeDocument,
} from "../torture/operations/operation.ts";
import { openRewindLab, type LocalRewindLab } from "../torture/rewind-lab.ts";

/** What a run that is killed at each of its steps must have met, so that nobody has been looking at nothing. */
interface Killed {
  operation: Operation;
  /** Of the whole run. */
  steps: string[];
  /** All that `goesOn` may tell, and does where every step is tried. */
  outcomes: unknown[];
}

function named(name: string): Operation {
  const found = exchanges.find((operation) => operation.name === name);
  if (found === undefined) throw new Error(`no operation is called ${name}`);
  return found;
}

/** Every kind of step that an exchange consists of. */
const all = ["lock", "commit journal+vaults", "send", "receive", "stdout", "exit"];

const get = named("get");
const run = ["--env", "NOTE=vault.content", "--", "sh", "-c"];

const killed: Killed[] = [
  { operation: get, steps: all, outcomes: [undefined] },
  {
    operation: {
      ...get,
      name: "get, after which ack settles what was left, or says that only a get can",
      goesOn: async (lab) => {
        const ack = await here(lab, "ack", lab.vault.uuid, "--json");
        expectExit(ack, 0, 12);
        if (ack.code === 12)
          expect(errorOf(ack)).toMatchObject({ code: "in-doubt", exchange: { state: "in-doubt" } });
        else
          await expectInStep(lab, await lab.aside(), lab.vault.uuid).catch(
            async () => await nothingLost(lab),
          );
        await getGoesOn(lab);
        return ack.code;
      },
    },
    steps: all,
    outcomes: [0, 12],
  },
  {
    operation: {
      ...get,
      name: "run of a program that receives them",
      args: ({ vault }) => ["run", vault.uuid, ...run, 'printf %s "$NOTE"'],
      goesOn: async (lab, printed) => {
        const { uuid } = lab.vault;
        // Whatever it died of: nothing is acknowledged that the program has not received. The first one was of the preparation.
        if (lab.service.sandbox.inspect(uuid).counts.acknowledged > 1) expect(printed).toBe(note);
        await nothingLost(lab);
        expectExit(await lab.machine.start({}, "run", uuid, ...run, 'test -n "$NOTE"').exit, 0);
        await inStep(lab);
      },
    },
    steps: all.filter((step) => step !== "stdout"),
    outcomes: [undefined],
  },
  {
    // With a rate limit, which is a commit, too.
    operation: { ...named("the first get"), env: { VAULTSVC_RATE: "1000" } },
    // The key and the database are there, whole and durable, before the first start; ①, ②, ③ and ④ are commits.
    steps: ["linkSync", "fsyncSync", "lock", "send", "receive", "stdout"],
    outcomes: [0, 4],
  },
  {
    operation: named("the last read of a limited vault"),
    steps: all,
    outcomes: ["arrived", "read again"],
  },
  { operation: named("update"), steps: all, outcomes: [undefined] },
  {
    operation: named("ack of a held exchange"),
    steps: ["lock", "send", "receive", "stdout"],
    outcomes: ["0", "12 acknowledged"],
  },
];

/** A lab that can be put back to where an operation begins. */
async function preparedLab(operation: Operation): Promise<LocalRewindLab> {
  const lab = await openRewindLab(operation.seed);
  await operation.prepare(lab);
  lab.keep();
  return lab;
}

describe("killed with SIGKILL before, between and after its steps, the next command goes on", () => {
  it.each(killed.map((each) => [each.operation.name, each] as const))(
    "%s",
    async (_, { operation, steps, outcomes }) => {
      const lab = await preparedLab(operation);
      const seen = new Set<unknown>();
      const met = await atEveryStep(async (n) => {
        lab.rewind();
        const { env = {} } = operation;
        const one = await runKilledAt(n, lab.machine, operation.args(lab), { env });
        const check = async (): Promise<void> => {
          seen.add(await operation.goesOn(lab, one.result.stdout, !one.killed));
          expect(lab.service.sandbox.inspect(lab.vault.uuid).counts.failed).toBe(0);
        };
        return { ...one, check };
      });
      expectSteps(met, steps);
      expect(outcomes).toEqual(expect.arrayContaining([...seen]));
      if (stride === 1) expect(seen.size).toBe(outcomes.length);
      if (!steps.includes("linkSync")) return;
      expect(met.filter((step) => step.startsWith("commit")).length).toBeGreaterThanOrEqual(6);
      expect(met.lastIndexOf("linkSync")).toBeLessThan(met.indexOf("send"));
    },
  );
});

it("a get that is killed again and again at the same step never comes near a lock, and goes on when it is let", async () => {
  const lab = await preparedLab(get);
  const { machine } = lab;
  const { uuid } = lab.vault;
  for (const name of ["receive", "stdout"]) {
    lab.rewind();
    // Where a trial of the circuit breaker is due later, it ends with 10.
    const args = ["get", uuid, "--max-wait", "3s"];
    for (let round = 0; round < 5; round += 1) {
      const { killed: is, result } = await runKilledAt(
        `commit journal+vaults>${name}`,
        machine,
        args,
      );
      if (!is) expectExit(result, 8, 10);
    }
    await nothingLost(lab);
    const last = await machine.vault(...args, "--json");
    if (last.code !== 0) {
      // The starts left are too many, or the breaker waits: a person has a look at it.
      expect(["guard", "network"]).toContain(errorOf(last).code);
      lab.service.sandbox.unlock(uuid);
      expectExit(await machine.vault("guard", uuid, "--reset", "--yes"), 0);
      expectExit(await machine.vault("get", uuid, "--force"), 0);
    }
    await expectInStep(lab, machine, uuid);
  }
});

it("ack does not use up the last read unseen: killed before the contents are known to have arrived, it asks for --unread", async () => {
  const lab = await preparedLab(named("the last read of a limited vault"));
  const { machine } = lab;
  const { uuid } = lab.vault;
  const { sandbox } = lab.service;
  const { steps } = await runKilledAt(0, machine, ["get", uuid, "--json"]);
  const beforeStdout = steps.indexOf("stdout") + 1;
  for (const n of [beforeStdout, beforeStdout + 1]) {
    lab.rewind();
    const { result } = await runKilledAt(n, machine, ["get", uuid, "--json"]);
    expect(wholeDocument(result.stdout) !== null).toBe(n > beforeStdout);
    const ack = await machine.vault("ack", uuid, "--json");
    expectExit(ack, 11);
    expect(errorOf(ack)).toMatchObject({
      code: "pending",
      help: expect.stringMatching(/--unread/) as string,
    });
    expect(sandbox.inspect(uuid)).toMatchObject({ state: "active", usesRemaining: 1 });
    expectExit(await machine.vault("ack", uuid, "--unread"), 0);
    expect(sandbox.inspect(uuid)).toMatchObject({ state: "deleted", usesRemaining: 0 });
  }
});
