import { describe, expect, it } from "vitest";
import { behindGateway, fleet, type Behind, type Rule } from "../support/gateway.ts";
import {
  expectExit,
  expectFarFromLock,
  firstGetArgs,
  importAll,
  summaryOf,
} from "../support/lab.ts";
import { errorOf } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";

const html = (status: number): Rule => ({ status });

/** One vault that was read once. */
async function warm(): Promise<Behind & { uuid: string }> {
  const behind = await behindGateway();
  const { uuid } = behind.lab.vault;
  await behind.machine.ok(...firstGetArgs(behind.machine, behind.lab.vault), "--json");
  return { ...behind, uuid };
}

/** When the next trial is due, by the message of an exit 10, or what is printed. */
function dueAt(result: RunResult, stream: "stderr" | "stdout" = "stderr"): number {
  const [, time = ""] = /trial start is due at (\S+Z)/.exec(result[stream]) ?? [];
  expect(Date.parse(time), result[stream]).not.toBeNaN();
  return Date.parse(time);
}

/** Runs `get` again each time when the message says, until it reads. Returns the exit codes. */
async function follow(behind: Behind & { uuid: string }): Promise<(number | null)[]> {
  const { clock, vault, uuid } = behind;
  const codes: (number | null)[] = [];
  for (let tries = 0; tries < 8; tries += 1) {
    const result = await vault("get", uuid, "--json", "--max-wait", "0s");
    codes.push(result.code);
    if (result.code !== 10) return codes;
    clock.time = Math.max(clock.time, dueAt(result));
  }
  return codes;
}

describe("a gateway through which neither starts nor probes are answered: one start is lost", () => {
  it.each<[string, Rule, string[]]>([
    ["503", html(503), []],
    ["501, as to a method that it does not know", html(501), []],
    ["a page with 404", html(404), []],
    ["JSON of its own", { status: 404, type: "application/json", body: "{}" }, []],
    ["a reset connection", "drop", []],
    // Which is known when the time is over, as much as the machine is busy.
    ["nothing", "hang", ["--timeout", "100ms"]],
  ])(
    "probes get %s: each is due 30 seconds after the one before, and the first start after an answer reads",
    async (_, probes, timeout) => {
      const behind = await warm();
      const { gateway, vault, uuid, clock } = behind;
      gateway.be({ probes, starts: "drop" });
      const first = await vault("get", uuid, "--json", ...timeout, "--max-wait", "20s");
      expectExit(first, 10);
      const spent = { unackedStarts: 1 };
      expect(errorOf(first)).toMatchObject({ code: "network", retry: "after-status", spent });
      expect([gateway.starts(), gateway.probes()]).toEqual([1, 1]);
      gateway.be({ probes });
      const second = await vault("get", uuid, "--json", "--max-wait", "0s");
      expectExit(second, 10);
      expect(errorOf(second)).toMatchObject({ code: "network", retry: "safe" });
      expect(errorOf(second)).not.toHaveProperty("spent");
      expect(gateway.probes()).toBe(0);
      clock.time = dueAt(second);
      const third = await vault("get", uuid, "--json", ...timeout, "--max-wait", "0s");
      expectExit(third, 10);
      expect(errorOf(third)).not.toHaveProperty("spent");
      expect([gateway.starts(), gateway.probes()]).toEqual([0, 1]);
      expect(dueAt(third) - clock.time).toBeGreaterThan(29_000);
      clock.time = dueAt(third);
      gateway.be({});
      expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 0);
      expect([gateway.starts(), gateway.probes()]).toEqual([1, 1]);
      expectFarFromLock(behind.lab, uuid);
    },
  );

  it("an hour after the last lost start, the next one goes out without a probe", async () => {
    const { gateway, vault, uuid, clock } = await warm();
    gateway.be({ probes: "drop", starts: "drop" });
    const began = clock.time;
    for (const minute of [0, 1, 2, 10, 30, 58, 60]) {
      expect(gateway.starts()).toBe(minute === 0 ? 0 : 1);
      clock.time = Math.max(clock.time, began + minute * 60_000);
      expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 10);
    }
    expect(gateway.starts()).toBe(2);
    gateway.be({ probes: "drop" });
    clock.time += 3_600_000;
    expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 0);
  });
});

describe("a gateway that never answers probes, as a state has asked once, after its first start", () => {
  it("is tried by time alone, by one of all that wait", async () => {
    const behind = await behindGateway();
    const { lab, machine, gateway, vault, clock } = behind;
    const { uuid } = lab.vault;
    gateway.be({ probes: html(503) });
    expectExit(await vault(...firstGetArgs(machine, lab.vault), "--json"), 0);
    expectExit(await vault("get", uuid, "--json"), 0);
    expect(gateway.probes()).toBe(1);
    gateway.be({ probes: html(503), starts: "drop" });
    const lost = await vault("get", uuid, "--json", "--max-wait", "0s");
    expectExit(lost, 10);
    clock.time = dueAt(lost);
    gateway.be({ probes: html(503) });
    expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 0);
    expect([gateway.starts(), gateway.probes()]).toEqual([1, 0]);
  });
});

describe("a start is lost", () => {
  it("a single one: the command waits for the trial, which is due within seconds, and reads", async () => {
    const { gateway, vault, uuid, clock } = await warm();
    gateway.be({ starts: (before) => (before === 0 ? "drop" : "pass") });
    const began = clock.time;
    const result = await vault("get", uuid, "--json", "--verbose");
    expectExit(result, 0);
    expect(result.stderr).toMatch(
      /Waiting: the service did not respond to a start; the next trial start is due in \d+(?:\.\d)?s/,
    );
    // An interval for the opening, and one for the start that the vault has lost itself.
    expect(clock.time - began).toBeGreaterThanOrEqual(4000);
    expect(clock.time - began).toBeLessThan(10_000);
    expect([gateway.starts(), gateway.probes()]).toEqual([2, 1]);
  });

  it("create and delete obey like starts, an end call goes out", async () => {
    const { lab, gateway, vault, uuid, clock } = await warm();
    expectExit(await vault("get", uuid, "--json", "--no-ack"), 0);
    gateway.be({ probes: html(503), starts: "drop" });
    const get = ["get", uuid, "--json", "--discard-pending", "--no-ack", "--max-wait", "0s"];
    expectExit(await vault(...get), 10);
    const create = ["create", "--kind", "generic/offline", "--content", "env:HOME", "--json"];
    const remove = ["delete", uuid, "--discard-pending", "--yes", "--json"];
    const before = lab.service.sandbox.requests().length;
    for (const wait of [0, 10_000]) {
      clock.time += wait;
      for (const args of [create, remove]) {
        const result = await vault(...args, "--max-wait", "0s");
        expectExit(result, 10);
        expect(errorOf(result)).toMatchObject({ code: "network", retry: "safe" });
        dueAt(result);
      }
    }
    // One for the create: the delete comes within its 30 seconds.
    expect(gateway.probes()).toBe(1);
    expect(lab.service.sandbox.requests()).toHaveLength(before);
    // The token of the exchange that is held may be of use or not.
    await vault("ack", uuid, "--json");
    expect(lab.service.sandbox.requests()).toHaveLength(before + 1);
    gateway.be({});
    clock.time += 30_000;
    expectExit(await vault(...create, "--max-wait", "0s"), 0);
    expect(gateway.probes()).toBe(1);
    expect((await vault("guard")).stdout).not.toMatch(/circuit breaker/);
  });

  it("a delete whose answer counts nothing leaves the trial due as it was", async () => {
    const { lab, machine, gateway, vault, clock } = await behindGateway();
    await importAll(lab, machine);
    const { uuid } = lab.vault;
    const body = JSON.stringify({ responseStatus: { status: "ERROR", code: "404" } });
    const answers: Rule[] = ["drop", { status: 404, type: "application/json", body }];
    gateway.be({ ends: () => answers.shift() ?? "pass" });
    const remove = ["delete", uuid, "--yes", "--json", "--max-wait", "0s"];
    expectExit(await vault(...remove), 10);
    clock.time += 10_000;
    expectExit(await vault(...remove), 13);
    expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 0);
    expect(gateway.probes()).toBe(1);
  });

  it("a create that would come too late for its slot gives the trial back", async () => {
    const { gateway, vault, uuid, clock } = await warm();
    gateway.be({ starts: (before) => (before === 0 ? "drop" : "pass") });
    expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 10);
    clock.time += 10_000;
    const breakers = async (): Promise<unknown> =>
      (JSON.parse((await vault("guard", "--json")).stdout) as { breakers: unknown }).breakers;
    const before = await breakers();
    const create = ["create", "--kind", "generic/offline", "--content", "env:HOME", "--json"];
    expectExit(await vault(...create, "--rate", "1", "--max-wait", "0s"), 9);
    expect(gateway.probes()).toBe(1);
    expect(await breakers()).toEqual(before);
  });

  it("guard of a vault that has lost two starts says when that one is due, which is later", async () => {
    const { clock, gateway, vault, uuid } = await warm();
    gateway.be({ probes: "pass", starts: "drop" });
    for (let lost = 1; lost <= 2; lost += 1) {
      clock.time += 60_000;
      expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 10);
    }
    const due = dueAt(await vault("get", uuid, "--json", "--max-wait", "0s"));
    expect(dueAt(await vault("guard", uuid), "stdout")).toBe(due);
    expect(dueAt(await vault("guard"), "stdout")).toBeLessThan(due);
  });

  it("guard shows the breaker; --reset --unanswered closes it, and --force goes past it", async () => {
    const behind = await warm();
    const { gateway, vault, uuid } = behind;
    const lose = async (): Promise<void> => {
      gateway.be({ probes: html(503), starts: (before) => (before === 0 ? "drop" : "pass") });
      expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 10);
    };
    await lose();
    const aTime = expect.any(String) as string;
    const breaker = { state: "open", lostAt: aTime, trialDueAt: aTime };
    const shown = await vault("guard", "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({ breakers: [breaker] });
    expect((await vault("guard")).stdout).toMatch(
      /circuit breaker open: no response to a start at \S+Z; the next trial start is due at \S+Z\n/,
    );
    expectExit(await vault("guard", "--all", "--reset", "--unanswered", "--yes"), 0);
    expect((await vault("guard")).stdout).not.toMatch(/circuit breaker/);
    expectExit(await vault("get", uuid, "--json", "--max-wait", "0s"), 0);
    await lose();
    expectExit(await vault("get", uuid, "--json", "--max-wait", "0s", "--force"), 0);
    expect((await vault("guard")).stdout).not.toMatch(/circuit breaker/);
  });
});

describe("a gateway that answers probes while starts are lost", () => {
  it.each<[string, Rule]>([
    ["503", html(503)],
    ["a page with 200", html(200)],
    ["a page with 403", html(403)],
    ["a reset connection", "drop"],
    ["a reset connection after the service has processed them", "lose"],
  ])(
    "starts get %s: one trial goes out each time that one is due, and then it reads",
    async (_, starts) => {
      const behind = await warm();
      const { gateway, vault, uuid } = behind;
      gateway.be({ starts });
      expectExit(await vault("get", uuid, "--json", "--max-wait", "5s"), 10);
      expect([gateway.starts(), gateway.probes()]).toEqual([2, 1]);
      expectExit(await vault("get", uuid, "--json", "--max-wait", "5s"), 10);
      expect([gateway.starts(), gateway.probes()]).toEqual([2, 1]);
      gateway.be({});
      expect(await follow(behind)).toEqual([10, 0]);
      expectFarFromLock(behind.lab, uuid);
    },
  );
});

describe("many vaults", () => {
  const count = 40;
  const all = ["get", "--all", "-o", "ndjson", "--run", "may", "--concurrency", "8"];

  it("one bad second in a run stops no vault, and the run is done", async () => {
    const { gateway, vault, lab, uuids, clock } = await fleet(count);
    let since = Number.POSITIVE_INFINITY;
    const during = (): Rule =>
      clock.time >= since && clock.time < since + 1000 ? html(503) : "pass";
    gateway.be({
      starts: (before) => {
        if (before === 20) since = clock.time;
        return during();
      },
      ends: during,
      probes: during,
    });
    const result = await vault(...all);
    expectExit(result, 0);
    expect(summaryOf(result)).toMatchObject({ done: count, failed: 0, skipped: 0 });
    expect(gateway.starts()).toBeGreaterThan(count);
    for (const uuid of uuids) expectFarFromLock(lab, uuid);
  });
});
