import { spawn, spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { quote, startInPty } from "../support/pty.ts";
import type { RunOptions } from "../support/run-vault.ts";
import { cleanEnv, runVault, startVault, stubProgram } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const bin = stubProgram({ pinned: true });
const alone = stubProgram({ pinned: false });
const pretence = join(import.meta.dirname, "fixtures", "old-node.cjs");

/** The launcher on a runtime that calls itself so; the one it continues on is what it is. */
function pretend(version: string, script = bin): Pick<RunOptions, "bin" | "env"> {
  const wrapper = join(tempDir("pretend"), "start.cjs");
  writeFileSync(
    wrapper,
    `require(${JSON.stringify(pretence)}); require(${JSON.stringify(script)});\n`,
  );
  return { bin: wrapper, env: { PRETEND_NODE: version } };
}

const old = pretend("20.20.2");

/** Milliseconds until a process has ended (one that nobody has reaped yet included). */
async function timeToEnd(pid: number): Promise<number> {
  const start = Date.now();
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 5));
  return Date.now() - start;
}

function isAlive(pid: number): boolean {
  const { stdout } = spawnSync("ps", ["-o", "stat=", "-p", String(pid)], { encoding: "utf8" });
  return stdout.trim() !== "" && !stdout.startsWith("Z");
}

describe("an old Node, with the pinned runtime beside the program", () => {
  test("continues on that silently: arguments, input, environment and exit code are those of one process", async () => {
    const result = await runVault(["facts", "a b", "--", "ü"], {
      ...old,
      env: { ...old.env, OWN: "1" },
      input: "typed",
    });
    expect(result).toMatchObject({ code: 7, stderr: "" });
    const pinned = JSON.parse(
      readFileSync(join(bin, "../../node_modules/node/package.json"), "utf8"),
    ) as { version: string };
    const facts = {
      args: ["a b", "--", "ü"],
      input: "typed",
      own: "1",
      node: `v${pinned.version}`,
    };
    expect(JSON.parse(result.stdout)).toEqual(facts);
  });

  test("hands on the descriptors that its arguments name", async () => {
    const file = join(tempDir("fd"), "secret");
    writeFileSync(file, "from a descriptor");
    const line = `exec "$NODE" "$BIN" descriptor /dev/fd/3 3< ${file}`;
    const env = { ...cleanEnv({ env: old.env ?? {} }), NODE: process.execPath, BIN: old.bin };
    const child = spawn("sh", ["-c", line], { env, stdio: ["ignore", "pipe", "inherit"] });
    expect(await child.stdout.toArray()).toEqual([Buffer.from("from a descriptor")]);
  });

  test.each(["SIGTERM", "SIGINT", "SIGHUP"] as const)("forwards %s, once", async (signal) => {
    const vault = startVault(["wait"], old);
    await vault.waitFor(/pid/);
    vault.kill(signal);
    const { code, stdout } = await vault.exit;
    expect(code).toBe(130);
    expect(stdout).toContain(JSON.stringify({ reason: signal, killed: false }));
  });

  test("takes a terminal's Ctrl-C, which reaches both processes, for one", async () => {
    const pty = startInPty([process.execPath, old.bin ?? "", "wait"], { env: old.env ?? {} });
    await pty.waitFor(/pid/);
    pty.type("\u0003");
    const { code, text } = await pty.exit;
    expect(text).toContain('{"reason":"SIGINT","killed":false}');
    expect(code).toBe(130);
  });

  test("dies by the signal that the program died of", async () => {
    expect(await runVault(["dies"], old)).toMatchObject({ code: null, signal: "SIGKILL" });
  });

  test("takes the program with it when it is killed outright", async () => {
    const vault = startVault(["stubborn"], old);
    const [, pid] = await vault.waitFor(/"pid":(\d+)/);
    expect(Number(pid)).not.toBe(vault.pid);
    vault.kill("SIGKILL");
    expect(await timeToEnd(Number(pid))).toBeLessThan(30_000);
  });
});

describe("without a runtime that will do", () => {
  test.each(["20.20.2", "22.18.9", "23.11.0", "24.14.1"])(
    "says in one line what it needs (%s)",
    async (version) => {
      expect(await runVault(["facts"], pretend(version, alone))).toEqual({
        code: 1,
        signal: null,
        stdout: "",
        stderr: `vault needs Node 22.19 (22.x), or 24.15 and newer; this is ${version}: install Node 24, or in a checkout run npm ci\n`,
      });
    },
  );

  test.each(["22.19.0", "22.99.1", "24.15.0", "25.0.0", "26.1.0"])(
    "%s will do",
    async (version) => {
      expect(await runVault(["facts"], { ...pretend(version, alone), input: "" })).toMatchObject({
        code: 7,
        stderr: "",
      });
    },
  );

  test("the range is the one that package.json declares", () => {
    const path = join(import.meta.dirname, "..", "..", "package.json");
    expect((JSON.parse(readFileSync(path, "utf8")) as { engines: unknown }).engines).toEqual({
      node: "^22.19.0 || >=24.15.0",
    });
  });
});

/** Sends a signal, and resolves when the process has taken it. */
async function deliver(pid: number, signal: NodeJS.Signals): Promise<void> {
  process.kill(pid, signal);
  await expect
    .poll(() => readFileSync(`/proc/${pid}/status`, "utf8"), { interval: 5 })
    .toMatch(/^ShdPnd:\t0+$/m);
}

/** What the program says when this is the first signal that interrupts it; on a busy machine SIGTERM may come as a second one. */
const interruptedBy = (reason: string): string => `{"reason":"${reason}",`;

describe.skipIf(!existsSync("/proc/self/fdinfo")).each([
  ["a fit Node", pretend("24.15.0")],
  ["an old Node", old],
])("a hangup, on %s (needs /proc)", (_, options) => {
  test.each([
    ["nohup, of bash", ["bash", "-c", 'nohup "$@"', "bash"], "SIGTERM"],
    ["a script under nohup", ["nohup", "sh", "-c", '"$@"; exit $?', "sh"], "SIGTERM"],
    ["a script that ignores it", ["sh", "-c", 'trap "" HUP; "$@"; exit $?', "sh"], "SIGTERM"],
    ["a script", ["sh", "-c", '"$@"; exit $?', "sh"], "SIGHUP"],
  ])("%s", async (_, through, reason) => {
    const vault = startVault(["wait"], { ...options, through });
    const [, pid] = await vault.waitFor(/"pid":(\d+)/);
    await deliver(Number(pid), "SIGHUP");
    process.kill(Number(pid), "SIGTERM");
    const { code, stdout } = await vault.exit;
    expect(stdout).toContain(interruptedBy(reason));
    expect(code).toBe(130);
  });

  test("the terminal on which nohup started it goes away", async () => {
    const cwd = tempDir("nohup");
    const output = (): string =>
      existsSync(join(cwd, "nohup.out")) ? readFileSync(join(cwd, "nohup.out"), "utf8") : "";
    const line = `exec nohup ${[process.execPath, options.bin ?? "", "wait"].map(quote).join(" ")}`;
    const env = { ...cleanEnv({ env: options.env ?? {} }), SHELL: "/bin/sh" };
    const terminal = spawn("script", ["-qefc", line, "/dev/null"], {
      cwd,
      env,
      stdio: ["pipe", "ignore", "ignore"],
    });
    await expect.poll(output, { timeout: 20_000 }).toMatch(/"pid":/);
    const gone = new Promise((resolve) => terminal.once("close", resolve));
    terminal.kill("SIGKILL");
    await gone;
    const pid = Number(/"pid":(\d+)/.exec(output())?.[1]);
    await deliver(pid, "SIGHUP");
    process.kill(pid, "SIGTERM");
    await expect.poll(output, { timeout: 20_000 }).toMatch(/"reason"/);
    expect(output()).toContain(interruptedBy("SIGTERM"));
  });
});
