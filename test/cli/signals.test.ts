import { execFileSync } from "node:child_process";
import { constants, existsSync, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { runKilledAt } from "../support/crash.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  expectNothingLost,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import { documentOf, errorOf, type Machine } from "../support/machine.ts";
import type { RunningVault } from "../support/run-vault.ts";

/** Resolves when the service has received so many requests. */
async function arrived({ service }: Lab, count: number): Promise<void> {
  const received = (): void =>
    expect(service.sandbox.requests().length).toBeGreaterThanOrEqual(count);
  await vi.waitFor(received, { interval: 5, timeout: 20_000 });
}

interface Case {
  lab: Lab;
  machine: Machine;
  uuid: string;
  get(...args: string[]): RunningVault;
}

async function prepare(...faults: string[]): Promise<Case> {
  const { lab, machine, uuid } = await warmLab(offlineNote);
  lab.faults(...faults);
  return {
    lab,
    machine,
    uuid,
    get: (...args) => machine.start({}, "get", uuid, "--json", ...args),
  };
}

/** The ports on which a process listens, as the kernel has them. */
function listensOn(pid: number): string[] {
  const sockets = readdirSync(`/proc/${pid}/fd`).map(
    (fd) => /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1],
  );
  const rows = ["tcp", "tcp6"].flatMap((name) =>
    readFileSync(`/proc/${pid}/net/${name}`, "utf8").trim().split("\n").slice(1),
  );
  return rows
    .map((row) => row.trim().split(/\s+/))
    .flatMap(([, local = "", , state, , , , , , inode]) =>
      state === "0A" && sockets.includes(inode) ? [local] : [],
    );
}

it.skipIf(!existsSync("/proc/self/net/tcp"))(
  "SIGUSR1 opens no inspector in a process that holds secrets (needs /proc)",
  async () => {
    const { lab, machine, uuid } = await prepare("get-start:delay=1s", "get-end:delay=1s");
    // Any free port: the usual one may be another's.
    const run = machine.start({ env: { NODE_OPTIONS: "--inspect-port=0" } }, "get", uuid, "--json");
    await arrived(lab, 3);
    run.kill("SIGUSR1");
    await arrived(lab, 4);
    expect(listensOn(run.pid)).toEqual([]);
    const result = await run.exit;
    expectExit(result, 0);
    expect(result.stderr).toBe("");
    await expectInStep(lab, machine, uuid);
  },
);

describe.concurrent("a signal", () => {
  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
    ["SIGHUP", 129],
  ] as const)(
    "%s while the start is waited for ends it at once: %i, and the start counts",
    async (signal, code) => {
      const { lab, machine, uuid, get } = await prepare("get-start:hang");
      const run = get();
      await arrived(lab, 3);
      const at = Date.now();
      run.kill(signal);
      const result = await run.exit;
      // Not after the five seconds that an end call is waited for.
      expect(Date.now() - at).toBeLessThan(5000);
      expectError(result, "interrupted", /start/, code);
      expect(errorOf(result)).toMatchObject({
        exchange: { state: "intent" },
        help: expect.stringMatching(/vault status/) as string,
      });
      expect(result.stdout).toBe("");
      expect((await machine.status(uuid)).unackedStarts).toBe(1);
      await expectNothingLost(lab, machine.copy());
      await machine.ok("get", uuid, "--json");
      await expectInStep(lab, machine, uuid);
    },
  );

  it("during the end call waits for its answer: acknowledged, 0", async () => {
    const { lab, machine, uuid, get } = await prepare("get-end:delay=1500ms");
    const run = get();
    await arrived(lab, 4);
    run.kill("SIGINT");
    const result = await run.exit;
    expectExit(result, 0);
    expect(documentOf(result).vault.uuid).toBe(uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("during an end call that is not answered waits five seconds, then leaves with what is pending", async () => {
    const { lab, machine, uuid, get } = await prepare("get-end:hang");
    const run = get();
    await arrived(lab, 4);
    const at = Date.now();
    run.kill("SIGTERM");
    const result = await run.exit;
    expect(Date.now() - at).toBeGreaterThan(4000);
    expectError(result, "interrupted", /the new credentials are stored, but not acknowledged/, 143);
    expect(errorOf(result)).toMatchObject({
      exchange: { state: "ending", operation: "get" },
      help: `vault ack ${uuid}`,
    });
    await expectNothingLost(lab, machine.copy());
    expectError(await machine.vault("ack", uuid, "--json"), "in-doubt");
    await machine.ok("get", uuid, "--json");
    await expectInStep(lab, machine, uuid);
  });

  it("a second one does not wait, and says what is pending", async () => {
    const { lab, machine, uuid, get } = await prepare("get-end:hang");
    const run = get("--verbose");
    await arrived(lab, 4);
    run.kill("SIGINT");
    // Signals that follow each other at once count as one: it is repeated until it is taken.
    const at = Date.now();
    const again = setInterval(() => run.kill("SIGINT"), 150);
    const result = await run.exit;
    clearInterval(again);
    expect(Date.now() - at).toBeLessThan(4000);
    // On a busy machine the signal ends it before it has ended itself.
    expect(result.code === 130 || result.signal === "SIGINT").toBe(true);
    expect(errorOf(result)).toMatchObject({
      code: "interrupted",
      help: `vault ack ${uuid}`,
      exchange: { state: "ending" },
    });
    expectError(await machine.vault("ack", uuid, "--json"), "in-doubt");
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("while another process has the vault: 143, and nothing was sent", async () => {
    const { lab, machine, uuid, get } = await prepare("get-start:hang");
    const holder = get();
    await arrived(lab, 3);
    // The second time that it asks for the lock it is waiting: there it gets the signal.
    const { result, steps } = await runKilledAt(2, machine, ["get", uuid, "--json"], {
      env: { KILL_SIGNAL: "SIGTERM" },
    });
    expect(steps.slice(0, 2)).toEqual(["lock", "lock"]);
    expectError(result, "interrupted", /nothing was sent/, 143);
    expect(errorOf(result).retry).toBe("safe");
    expect(lab.service.sandbox.requests()).toHaveLength(3);
    holder.kill("SIGKILL");
    await holder.exit;
  });

  it("while a delete is waited for: 130, and only the service can tell whether it arrived", async () => {
    const { lab, machine, uuid } = await prepare("delete:hang");
    const run = machine.start({}, "delete", uuid, "--yes", "--json");
    await arrived(lab, 3);
    run.kill("SIGINT");
    const result = await run.exit;
    expectError(result, "interrupted", /while the delete was in progress/);
    expect(errorOf(result).next).toMatchObject([{ argv: ["vault", "info", uuid] }]);
  });

  it("while the service is waited for under --max-wait: 130, and nothing is pending", async () => {
    const { lab, machine, uuid, get } = await prepare("get-start:status=429,retry-after=60*all");
    const run = get("--verbose");
    await run.waitFor(/retrying the start call in/, "stderr");
    run.kill("SIGINT");
    const result = await run.exit;
    expectError(result, "interrupted", /nothing is pending/);
    expect(errorOf(result).retry).toBe("safe");
    lab.service.faults.clear();
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it.each([
    ["info", ["UUID"]],
    ["create", ["--kind", "generic/offline", "--content", "env:NOTE"]],
  ])("while vault %s waits after a 429: 130, and safe to run again", async (name, args) => {
    const { machine, uuid } = await prepare(`${name}:status=429,retry-after=60*all`);
    const words = [name, ...args.map((word) => word.replace("UUID", uuid)), "--verbose", "--json"];
    const run = machine.start({ env: { NOTE: "a note" } }, ...words);
    await run.waitFor(/retrying/, "stderr");
    run.kill("SIGINT");
    const result = await run.exit;
    expectError(result, "interrupted", /nothing is pending/);
    expect(errorOf(result).retry).toBe("safe");
  });

  it.skipIf(process.platform !== "linux").each([
    ["update UUID --content @PIPE", /^interrupted by SIGTERM$/],
    ["audit-replay PIPE", /^interrupted: the replay is incomplete/],
  ])("while a pipe is read to which nobody writes (%s): 143 at once", async (line, message) => {
    const { machine, uuid } = await prepare();
    const pipe = join(machine.home, "pipe");
    execFileSync("mkfifo", [pipe]);
    const args = line.replace("UUID", uuid).replace("PIPE", pipe).split(" ");
    const run = machine.start({}, ...args, "--json");
    const open = (): number => openSync(pipe, constants.O_WRONLY | constants.O_NONBLOCK);
    // Refused until somebody reads it.
    await vi.waitFor(open, { interval: 5, timeout: 20_000 });
    run.kill("SIGTERM");
    expectError(await run.exit, "interrupted", message, 143);
  });

  it("while --save-cmd runs: 143, nothing acknowledged", async () => {
    const { lab, machine, uuid, get } = await prepare();
    const ways = `vault ack ${uuid} --save-cmd CMD (or --saved, if the new credentials are saved elsewhere); vault get ${uuid} --discard-pending --save-cmd CMD (starts again with the old credentials)`;
    const run = get("--save-cmd", "cat >/dev/null; echo running; exec sleep 30");
    await run.waitFor(/running/, "stderr");
    const at = Date.now();
    run.kill("SIGTERM");
    const result = await run.exit;
    expect(Date.now() - at).toBeLessThan(5000);
    expectError(result, "interrupted", /./, 143);
    expect(errorOf(result)).toMatchObject({
      exchange: { state: "held" },
      help: ways,
    });
    expect(lab.service.sandbox.inspect(uuid).counts).toMatchObject({ starts: 2, ends: 1 });
    expect(await machine.status(uuid)).toMatchObject({
      exchange: { state: "held", saveOwed: true, delivered: true },
    });
    expectError(await machine.vault("get", uuid, "--json"), "pending");
    // Stopped once more, by ack.
    const ack = machine.start(
      {},
      "ack",
      uuid,
      "--json",
      "--save-cmd",
      "cat >/dev/null; echo running; exec sleep 30",
    );
    await ack.waitFor(/running/, "stderr");
    ack.kill("SIGTERM");
    const stopped = await ack.exit;
    expectError(stopped, "interrupted", /./, 143);
    expect(errorOf(stopped).help).toBe(ways);
    await machine.ok("ack", uuid, "--save-cmd", "cat >/dev/null");
    await expectInStep(lab, machine, uuid);
  });
});
