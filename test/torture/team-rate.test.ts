import { spawn, type ChildProcessByStdio } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { isWhole, tried } from "../support/campaign.ts";
import { atEndOfFile } from "../support/cleanup.ts";
import { expectExit, expectFarFromLock, importAll, offlineNote, openLab } from "../support/lab.ts";
import { compiled } from "../support/run-vault.ts";
import { postgres } from "../support/postgres.ts";
import type { LoopOptions } from "./exchange-loop.ts";

type Loop = ChildProcessByStdio<Writable, Readable, null>;

const script = join(import.meta.dirname, "exchange-loop.ts");
const [machines, processes, seconds] = isWhole ? [4, 8, 20] : [4, 2, 6];
/** Left out at both ends, in milliseconds: until all are at work, and from when some are not any more. */
const margin = 1500;

let tries = 0;

// Repeated, because a process that the machine stops for longer than the margin, between its clock and its socket, is late.
it(
  `${machines} machines with ${processes} processes each at the default rate: not one 429, and nine tenths of the rate are used`,
  { retry: 2 },
  async () => {
    const lab = await openLab(
      Array.from({ length: machines * processes }, () => offlineNote),
      { policy: { rate: 25 } },
    );
    const { sandbox, vaults, baseUrl, application } = lab.service;
    const location = (await postgres()).location(`rated_${(tries += 1)}`);
    const machine = lab.machine({ stateDir: location });
    expectExit(await machine.vault("state", "init"), 0);
    await importAll(lab, machine);

    const keys = join(machine.configDir, "keys");
    const loops: Loop[] = [];
    for (const [n, { uuid }] of vaults.entries()) {
      loops.push(
        await start({
          location,
          keys,
          service: { baseUrl, application },
          uuid,
          clockShift: (n % machines) * 3_600_000,
        }),
      );
    }
    const from = Date.now();
    for (const { stdin } of loops) stdin.write("go\n");
    await setTimeout(seconds * 1000);
    const until = Date.now();
    const printed = loops.map(async ({ stdout }) => JSON.parse(await text(stdout)) as number[]);
    for (const { stdin } of loops) stdin.end("stop\n");
    const places = (await Promise.all(printed)).flat();

    const requests = sandbox.requests();
    expect(requests.filter(({ status }) => status !== 200)).toEqual([]);
    const rate = (times: readonly number[]): number =>
      times.filter((time) => time >= from + margin && time < until - margin).length /
      ((until - from - 2 * margin) / 1000);
    const sent = requests.map(({ time }) => time);
    process.stdout.write(
      `a second: ${rate(places).toFixed(1)} places, ${rate(sent).toFixed(1)} requests\n`,
    );
    expect(rate(places)).toBeGreaterThanOrEqual(22.5);
    // On a slow machine that others use too, many are late for their places and take others.
    expect(rate(sent)).toBeGreaterThanOrEqual(8);
    for (const { uuid } of vaults) {
      expect(sandbox.inspect(uuid)).toMatchObject({ failedAccesses: 0, unackedStarts: 0 });
      expectFarFromLock(lab, uuid);
    }
    tried("requests of several machines at the default rate", requests.length);
  },
);

/** Resolves when it is ready, or has failed. */
async function start(options: LoopOptions): Promise<Loop> {
  const argv = ["--disable-warning=ExperimentalWarning", script, JSON.stringify(options)];
  const env = { ...process.env, NODE_COMPILE_CACHE: compiled };
  const loop = spawn(process.execPath, argv, { stdio: ["pipe", "pipe", "inherit"], env });
  atEndOfFile(() => loop.kill("SIGKILL"));
  await Promise.race([once(loop.stdout, "data"), once(loop, "exit")]);
  return loop;
}
