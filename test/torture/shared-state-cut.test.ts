import { describe, expect, it } from "vitest";
import { isWhole, some } from "../support/campaign.ts";
import { expectError, expectExit, expectFarFromLock, expectInStep } from "../support/lab.ts";
import { errorOf } from "../support/machine.ts";
import { postgres } from "../support/postgres.ts";
import type { RunResult } from "../support/run-vault.ts";
import { tcpProxy, type Cut, type Proxy } from "../support/proxies.ts";
import { setStandbys, team, type Team } from "../support/shared-state.ts";

interface Command {
  /** Run before it, on another machine. */
  setUp?: string[];
  args: string[];
  /** Run after it, on another machine, before the vault is read there. */
  goesOn?: string[];
}

const commands: Record<string, Command> = {
  get: { args: ["get"] },
  update: { args: ["update", "--content", "env:CONTENT"] },
  ack: { setUp: ["get", "--no-ack"], args: ["ack"], goesOn: ["ack"] },
};

/** One machine that reaches the database by a proxy, and the others. */
interface Scene {
  members: Team;
  proxy: Proxy;
  setUp: () => Promise<void>;
  run: (wait?: string) => Promise<RunResult>;
  /** As a process, which really sleeps while it waits for the server. */
  runApart: () => Promise<RunResult>;
  goOn: () => Promise<void>;
}

const withVault = (uuid: string, [name = "", ...rest]: string[], wait = "5s"): string[] => [
  name,
  uuid,
  ...rest,
  "--json",
  "--max-wait",
  wait,
];

async function open({ setUp, args, goesOn }: Command): Promise<Scene> {
  const members = await team(undefined, { VAULTSVC_RATE: "1000", CONTENT: "new contents" });
  const { machines, uuid } = members;
  const proxy = await tcpProxy(await postgres());
  const address = new URL(machines[0].stateDir);
  address.port = String(proxy.port);
  const machine = members.another(address.href);
  const onOther = async (line: string[] | undefined, ...codes: number[]): Promise<void> => {
    if (line !== undefined)
      expectExit(await machines[1].vault(...withVault(uuid, line)), 0, ...codes);
  };
  return {
    members,
    proxy,
    setUp: async () => await onOther(setUp),
    run: async (wait) => await machine.vault(...withVault(uuid, args, wait)),
    runApart: async () => await machine.start({}, ...withVault(uuid, args, "1m")).exit,
    goOn: async () => {
      // In doubt where the acknowledgement succeeded and was not recorded: the read finds out.
      await onOther(goesOn, 12);
      await onOther(["get"]);
    },
  };
}

/** Ends the connections of the commands that ran in this process, which stay until it ends. */
async function endConnections({ sql }: Team): Promise<void> {
  await sql(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()",
  );
}

/** How many requests a command makes that nothing disturbs. */
async function requestsOf({ proxy, setUp, run }: Scene): Promise<number> {
  await setUp();
  proxy.cutAt(0, "before");
  expectExit(await run(), 0);
  return proxy.requests();
}

/** Cuts the connection of a command at one of its requests, and checks what it says and that another machine goes on. */
async function expectCut(
  { members, proxy, setUp, run, runApart, goOn }: Scene,
  n: number,
  cut: Cut | "restarted",
): Promise<void> {
  const { lab, uuid, machines, sql } = members;
  const { crash, start } = await postgres();
  await setUp();
  const sentBefore = lab.service.sandbox.requests().length;
  let isBack: Promise<void> | undefined;
  const restart = (): void => {
    isBack = crash().then(start);
  };
  if (cut === "restarted") proxy.doAt(n, restart);
  else proxy.cutAt(n, cut);
  const result =
    cut === "restarted" ? await runApart() : await run(cut === "stalled" ? "1m" : undefined);
  await isBack;
  const isSent = lab.service.sandbox.requests().length > sentBefore;
  const isAway = cut === "gone" || cut === "restarted";
  // Where only one answer is lost, it is asked for again; a state that stays away after the end call leaves the exchange as pending.
  expectExit(result, 0, 14, ...(isAway && isSent ? [11] : []));
  // Once something was sent, the state is waited for.
  if (cut === "restarted" && isSent) expectExit(result, 0);
  if (result.code === 14) expect(errorOf(result).retry).toBe(isSent ? "after-status" : "safe");
  if (result.code === 14 && !isAway && cut !== "stalled") expect(isSent).toBe(false);
  await sql(`UPDATE schema.vaults SET ends_at = '-infinity'`);
  await goOn();
  await expectInStep(lab, machines[3], uuid);
  expectFarFromLock(lab, uuid);
}

describe.each(Object.entries(commands))("vault %s, cut off from its state", (_name, command) => {
  it("at one request, by a restart of the server, or for good: nothing is lost, and it says whether it may be repeated", async () => {
    const scene = await open(command);
    const count = await requestsOf(scene);
    const cuts = (["before", "restarted", "after", "half-closed", "gone"] as const).flatMap((cut) =>
      Array.from({ length: count }, (_, index) => [index + 1, cut] as const),
    );
    for (const [n, cut] of some(cuts)) {
      await expectCut(scene, n, cut);
      await endConnections(scene.members);
    }
  });

  it.runIf(isWhole)(
    "by a connection that stays open and says nothing: it gives up in time, and nothing is lost",
    async () => {
      const first = await open(command);
      const count = await requestsOf(first);
      await Promise.all(
        Array.from(
          { length: count },
          async (_, index) => await expectCut(await open(command), index + 1, "stalled"),
        ),
      );
      await endConnections(first.members);
    },
  );
});

it("credentials that may not be durable are neither delivered nor acknowledged", async () => {
  const { lab, uuid, machines, sql } = await team();
  const sentBefore = lab.service.sandbox.requests().length;
  const sent = (): string[] =>
    lab.service.sandbox
      .requests()
      .slice(sentBefore)
      .map(({ method }) => method);
  lab.faults("get-start:delay=4s");
  const running = machines[0].vault("get", uuid, "--json");
  await expect.poll(() => sent().length, { timeout: 20_000 }).toBe(1);
  await setStandbys(sql, "nowhere");
  const canceled = async (): Promise<unknown[]> =>
    await sql("SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
  await expect.poll(canceled, { timeout: 20_000 }).toHaveLength(1);
  await setStandbys(sql, "");
  const result = await running;
  expectError(result, "state", /a commit may not be durable/);
  expect(errorOf(result).retry).toBe("after-fix");
  expect(result.stdout).toBe("");
  expect(sent()).toEqual(["POST"]);
  expectExit(await machines[1].vault("get", uuid, "--json"), 0);
  await expectInStep(lab, machines[2], uuid);
  expectFarFromLock(lab, uuid);
});
