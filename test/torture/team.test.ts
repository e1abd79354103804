import { setTimeout } from "node:timers/promises";
import { expect, it } from "vitest";
import { isWhole, tried } from "../support/campaign.ts";
import {
  expectExit,
  expectFarFromLock,
  offlineCard,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { documentOf } from "../support/machine.ts";
import { closeConnections } from "../support/shared-state.ts";
import { startServer } from "../support/postgres.ts";
import { tcpProxy } from "../support/proxies.ts";
import { journalProblems, sharedJournal } from "../support/state-file.ts";
import { Team } from "./team/team.ts";

const seconds = isWhole ? 300 : 20;
const seed = Array.from({ length: isWhole ? 200 : 40 }, (_, n) =>
  n % 3 === 0 ? offlineCard : { ...offlineNote, content: `note ${n}` },
);

it(`ten machines with clocks an hour apart, killed and stopped at random, while the database dies and comes back, for ${seconds} s`, async () => {
  const lab = await openLab(seed);
  const server = await startServer({ max_connections: "300" });
  // Who uses it comes through a proxy, whose port stays.
  const proxy = await tcpProxy(server);
  const location = (schema: string): string =>
    server.location(schema).replace(`:${server.port}/`, `:${proxy.port}/`);
  const start = async (): Promise<boolean> =>
    await server.start().then(
      () => true,
      () => false,
    );
  const team = await Team.open(lab, { location, sql: server.sql }, "team");
  const until = Date.now() + seconds * 1000;
  const isOver = (): boolean => Date.now() > until || team.violations.length > 0;
  const trouble = async (): Promise<void> => {
    for (let n = 1; !isOver(); n += 1) {
      await setTimeout(team.dice.between(200, 4500));
      if (n % 8 === 0) {
        await server.crash(team.dice.pick(["SIGKILL", "SIGQUIT"]));
        // While processes of the former one are left, it does not start.
        await expect.poll(start, { interval: 50, timeout: 60_000 }).toBe(true);
      } else if (n % 12 === 6) await team.whole.administer();
      else proxy.cutAny(team.dice);
    }
  };
  await Promise.all([
    trouble(),
    ...team.machines.map(async (_, place) => await team.work(place, isOver)),
  ]);
  expect(team.violations).toEqual([]);

  // Nobody is at work any more: what the dead held is free when its lease is over, or a gate that they have closed, or a transaction whose
  // client was cut off (half a minute), and the next get brings each vault in step.
  const schema = new URL(await team.find()).searchParams.get("schema") ?? "";
  const held = async (): Promise<number> =>
    (
      await server.sql(`SELECT 1 FROM ${schema}.vaults WHERE ends_at > clock_timestamp() UNION ALL
        SELECT 1 FROM ${schema}.meta WHERE CASE name WHEN 'closing'
          THEN (value::jsonb ->> 'until')::timestamptz > clock_timestamp() END UNION ALL
        SELECT 1 FROM pg_stat_activity WHERE state LIKE 'idle in transaction%'`)
    ).length;
  await expect.poll(held, { interval: 250, timeout: 45_000 }).toBe(0);
  for (const { uuid } of lab.service.vaults) {
    const last = await team.settle(uuid);
    expectExit(last, 0);
    const { vault } = documentOf(last);
    const at = lab.service.sandbox.inspect(uuid);
    expect(vault.content ?? vault.creditCard?.number).toBe(at.content ?? at.creditCard?.number);
    expect(at).toMatchObject({ state: "active", failedAccesses: 0, unackedStarts: 0 });
    expect(lab.service.sandbox.accepts(uuid, vault.credentials)).toBe(true);
    expectFarFromLock(lab, uuid);
    await closeConnections();
  }
  expectExit(await team.quiet.vault("doctor", "--offline", "--fail-on", "error"), 0);
  expect(journalProblems(...(await sharedJournal(server.sql, schema)))).toEqual([]);
  expect(await team.others()).toEqual([]);
  process.stdout.write(`${JSON.stringify(Object.fromEntries([...team.codes].sort()))}\n`);
  tried("commands of ten machines on a shared state, with random kills", team.commands);
  tried("of them operations on the whole state", team.wholeOperations);
});
