import { fork, spawn, spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { cleanEnv, runVault, startVault, stubProgram } from "../support/run-vault.ts";

const bin = stubProgram({ pinned: false });

describe("the entry", () => {
  test("leaves without waiting for what is still open", async () => {
    expect(await runVault(["idles"], { bin, timeoutMs: 5000 })).toMatchObject({
      code: 0,
      stdout: '{"listening":true}\n',
    });
  });

  test("hides what the runtime calls experimental, and no other warning", async () => {
    const { stderr } = await runVault(["warns"], { bin });
    expect(stderr).not.toContain("SQLite");
    expect(stderr).toContain("an ordinary one");
  });

  test("survives a stderr that nobody reads", () => {
    const line = `exec 3>&1; { "$NODE" "$BIN" talks 2>&1 >/dev/null; echo "code $?" >&3; } | true`;
    const { stdout } = spawnSync("sh", ["-c", line], {
      env: { ...cleanEnv(), NODE: process.execPath, BIN: bin },
      encoding: "utf8",
    });
    expect(stdout).toBe("code 0\n");
  });

  test("turns a failure that nobody caught into one redacted line and 1", async () => {
    const result = await runVault(["throws"], { bin });
    expect(result).toMatchObject({
      code: 1,
      stderr: "vault: unexpected failure: lost «redacted»\n",
    });
  });

  test("never ends with 0 because nothing is left to wait for", async () => {
    const result = await runVault(["drains"], { bin });
    expect(result).toMatchObject({
      code: 1,
      stderr: "vault: unexpected failure: nothing is left to wait for\n",
    });
  });

  test("dies of a signal while nothing has asked for interruptions", async () => {
    const vault = startVault(["unwatched"], { bin });
    await vault.waitFor(/pid/);
    vault.kill("SIGTERM");
    expect(await vault.exit).toMatchObject({ code: null, signal: "SIGTERM" });
  });

  test("dies of a second signal, a second later, if the program does not leave", async () => {
    const vault = startVault(["stubborn"], { bin });
    await vault.waitFor(/pid/);
    vault.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, 300));
    const killedAt = Date.now();
    vault.kill("SIGINT");
    expect(await vault.exit).toMatchObject({ code: null, signal: "SIGINT" });
    expect(Date.now() - killedAt).toBeGreaterThan(900);
  });

  test("can be ended while a read that blocks keeps it from leaving", async () => {
    const child = spawn(process.execPath, [bin, "blocked"], {
      env: cleanEnv(),
      stdio: ["pipe", "pipe", "inherit"],
    });
    await new Promise((resolve) => child.stdout.once("data", resolve));
    const exit = new Promise((resolve) => child.once("exit", (_code, signal) => resolve(signal)));
    child.kill("SIGTERM");
    await new Promise((resolve) => setTimeout(resolve, 500));
    child.kill("SIGTERM");
    expect(await exit).toBe("SIGTERM");
  });

  test("does not take another program's fork() for its launcher", async () => {
    const child = fork(bin, ["wait"], {
      env: cleanEnv(),
      silent: true,
    });
    await new Promise((resolve) => child.stdout?.once("data", resolve));
    child.disconnect();
    const exit = new Promise((resolve) => child.once("exit", resolve));
    await new Promise((resolve) => setTimeout(resolve, 300));
    child.kill("SIGTERM");
    expect(await exit).toBe(130);
  });
});
