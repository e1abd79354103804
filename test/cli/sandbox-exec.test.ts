import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import { runHere } from "../support/machine.ts";
import { runVault, startVault, type RunningVault, type RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { vaultInPty } from "../support/pty.ts";

const card = "b6f9a1d2-0a4f-4b7f-8d55-2a4a9f6f7e02";

/** Runs `script` by /bin/sh in a private sandbox; TMPDIR is an empty folder. */
async function inSandbox(
  script: string,
  env: Record<string, string> = {},
): Promise<RunResult & { temporary: string }> {
  const temporary = tempDir("tmp");
  const result = await runVault(["sandbox", "exec", "--", "sh", "-c", script], {
    env: { ...env, TMPDIR: temporary },
  });
  return { ...result, temporary };
}

describe("sandbox exec", () => {
  test("says on a terminal what this is, which vaults there are, and how it ends", async () => {
    const { text, code } = await vaultInPty(["sandbox", "exec", "--", "echo", "begun"], {
      columns: 100,
    }).exit;
    expect(code).toBe(0);
    // Before the program shows anything.
    expect(text.replaceAll(/\s+/g, " ")).toMatch(
      /^This is a private sandbox: .* Vaults: .*demo offline card.* Try: vault status; .* When echo ends, the sandbox is gone\. begun $/,
    );
    expect(text.split("\n").length).toBeLessThan(9);
  });

  test("gives the program a sandbox with vaults that are known, the program itself on PATH, and nothing of the caller's own state", async () => {
    const script = `
      vault get $VAULT --field vault.creditCard.name; echo
      vault status --json | grep -c '"uuid"'
      vaultsvc --version
      vault sandbox fault get-start:drop-before
      echo "mine: $VAULTSVC_PROFILE$PGHOST$VAULTSVC_RATE"`;
    const settings = { VAULTSVC_PROFILE: "prod", VAULTSVC_RATE: "7", VAULTSVC_STATE: "/nowhere" };
    const mine = { ...settings, PGHOST: "db.example.com" };
    const { code, stdout, stderr, temporary } = await inSandbox(script, mine);
    expect(stderr).toBe("");
    expect(stdout).toMatch(/^Grace Hopper\n5\n\d+\.\d+\.\d+\n1 fault (armed|set)\.\nmine: \n$/);
    expect(code).toBe(0);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test.each([
    ["exit 7", 7],
    ["kill -KILL $$", 137],
    ["kill -TERM $$", 143],
  ])("ends as the program ended: %s", async (script, code) => {
    expect(await inSandbox(script)).toMatchObject({ code, signal: null });
  });

  test("a program that cannot be started is 127, and nothing is left behind", async () => {
    const temporary = tempDir("tmp");
    const result = await runVault(["sandbox", "exec", "--", "./not-there"], {
      env: { TMPDIR: temporary },
    });
    expect(result).toMatchObject({
      code: 127,
      stderr: "vault: ./not-there cannot be started: no such program\n",
    });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("SIGTERM is the program's: it ends in its own way, and so does the sandbox", async () => {
    const temporary = tempDir("tmp");
    const script = "trap 'echo cleaned up; exit 9' TERM; echo ready; while :; do sleep 0.05; done";
    const running = startVault(["sandbox", "exec", "--", "sh", "-c", script], {
      env: { TMPDIR: temporary },
    });
    await running.waitFor(/ready/);
    running.kill("SIGTERM");
    expect(await running.exit).toMatchObject({ code: 9, stdout: "ready\ncleaned up\n" });
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("vault sandbox stop ends the service, and the program goes on", async () => {
    const temporary = tempDir("tmp");
    const script =
      "vault sandbox stop && vault sandbox status --json; vault get $VAULT --max-wait 0s; echo $?";
    const result = await runVault(["sandbox", "exec", "--quiet", "--", "sh", "-c", script], {
      env: { TMPDIR: temporary },
    });
    expect(result.stdout).toMatch(/^Stopped .*\n\{\n {2}"running": false\n\}\n10\n$/);
    expect(readdirSync(temporary)).toEqual([]);
  });

  test("options of the program are its own", async () => {
    const result = await runVault(["sandbox", "exec", "--", "echo", "--json", "-h"]);
    expect(result).toMatchObject({ code: 0, stdout: "--json -h\n" });
  });
});

test("vaults of a seed may have one label, or none: a state gives it to the first", async () => {
  const home = tempDir("home");
  const vault = { kind: "generic/offline", content: "text" };
  const seed = join(home, "seed.json");
  const twice = { ...vault, label: "twice" };
  writeFileSync(seed, JSON.stringify([vault, vault, twice, twice]));
  const exec = ["sandbox", "exec", "--seed", seed, "--", "vault", "status", "--json"];
  const run = await runVault(exec, { env: { HOME: home } });
  expect(run).toMatchObject({ code: 0 });
  const { vaults } = JSON.parse(run.stdout) as { vaults: { label: string | null }[] };
  expect(vaults.map(({ label }) => label)).toEqual(["generic/offline", "twice", null, null]);
});

describe("a sandbox that serves a user", () => {
  async function started(home: string, ...args: string[]): Promise<RunningVault> {
    const running = startVault(["sandbox", "start", ...args], { env: { HOME: home } });
    await running.waitFor(/To stop it: /);
    return running;
  }
  const at =
    (home: string, env: Record<string, string> = {}) =>
    async (...args: string[]) =>
      await runHere(args, { home, cwd: home, env: { HOME: home, ...env } });

  test("status and env find it, a second start leaves it alone, stop ends it", async () => {
    const home = tempDir("home");
    const vault = at(home);
    expect(await vault("sandbox", "status", "--json")).toMatchObject({
      code: 0,
      stdout: '{\n  "running": false\n}\n',
    });
    for (const command of ["env", "stop"])
      expect(await vault("sandbox", command)).toMatchObject({ code: 10 });

    const running = await started(home);
    const ready = readFileSync(join(home, ".local", "state", "vaultsvc-sandbox.json"), "utf8");
    expect(JSON.parse((await vault("sandbox", "status", "--json")).stdout)).toMatchObject({
      running: true,
      vaults: { length: 5 },
    });
    expect(await vault("sandbox", "start")).toMatchObject({ code: 2 });
    expect(readFileSync(join(home, ".local", "state", "vaultsvc-sandbox.json"), "utf8")).toBe(
      ready,
    );

    const { env } = JSON.parse((await vault("sandbox", "env", "--json")).stdout) as {
      env: Record<string, string>;
    };
    expect(await at(home, env)("get", card, "--field", "vault.creditCard.name")).toMatchObject({
      code: 0,
      stdout: "Grace Hopper",
    });
    // The same state again, wherever it is asked for: the vault has new credentials by now.
    const again = await vault("sandbox", "env");
    expect(again.stdout).toContain(`export VAULTSVC_STATE='${env["VAULTSVC_STATE"]}'\n`);
    const relative = ["sandbox", "env", "--ready-file", "vaultsvc-sandbox.json"];
    const there = { env: { HOME: home }, cwd: join(home, ".local", "state") };
    expect((await runVault(relative, there)).stdout).toBe(again.stdout);
    expect(await at(home, env)("get", card, "--field", "vault.creditCard.name")).toMatchObject({
      code: 0,
    });

    // The state of that shell is another one, but every command about the sandbox finds it.
    const theirs = [
      "status",
      `lock ${card}`,
      `unlock ${card}`,
      "audit",
      "fault get-start:drop-before",
    ];
    for (const line of [...theirs, "reset"])
      expect((await at(home, env)("sandbox", ...line.split(" "))).code, line).toBe(0);
    expect((await at(home, env)("sandbox", "lock", card, "--field", "status")).stdout).toBe(
      "locked",
    );
    expect(JSON.parse((await at(home, env)("sandbox", "status", "--json")).stdout)).toMatchObject({
      running: true,
    });
    expect(await at(home, env)("sandbox", "stop")).toMatchObject({ code: 0 });
    expect(await running.exit).toMatchObject({ code: 0 });
    expect(existsSync(join(home, ".local", "state", "vaultsvc-sandbox.json"))).toBe(false);
    expect(await vault("sandbox", "stop")).toMatchObject({ code: 10 });
  });

  test("start --profile makes a profile, makes it anew for the next sandbox, and never takes one that is not its own", async () => {
    const home = tempDir("home");
    const vault = at(home);
    for (let run = 0; run < 2; run += 1) {
      const running = await started(home, "--profile", "play");
      expect(
        await vault("get", card, "--profile", "play", "--field", "vault.creditCard.name"),
      ).toMatchObject({ code: 0 });
      expect(await vault("sandbox", "stop")).toMatchObject({ code: 0 });
      await running.exit;
    }
    const at443 = ["--base-url", "https://vaults.example.com", "--app-uuid", card];
    const init = ["init", "--profile", "prod", ...at443, "--api-key", "env:KEY"];
    expect(await at(home, { KEY: card })(...init)).toMatchObject({ code: 0 });
    expect(await vault("sandbox", "start", "--profile", "prod")).toMatchObject({ code: 2 });
    expect((await vault("config", "get", "baseUrl", "--profile", "prod")).stdout).toBe(
      "https://vaults.example.com\n",
    );
  });

  test("a ready file may have any name: states and profiles lie beside it", async () => {
    const home = tempDir("home");
    const file = join(home, "ready");
    mkdirSync(join(`${file}.d`, "profile-play", "mine"), { recursive: true });
    const running = await started(home, "--ready-file", file, "--profile", "play");
    expect(readdirSync(join(`${file}.d`, "profile-play"))).toContain("mine");
    for (const name of ["env-prod", "env-0123456789ab"]) mkdirSync(join(`${file}.d`, name));
    const { code, stdout } = await at(home)("sandbox", "env", "--ready-file", file, "--json");
    expect(code).toBe(0);
    const left = readdirSync(`${file}.d`);
    expect(left).toContain("env-prod");
    expect(left).not.toContain("env-0123456789ab");
    const { env } = JSON.parse(stdout) as { env: Record<string, string> };
    for (const vault of [at(home, env), at(home, { VAULTSVC_PROFILE: "play" })])
      expect(await vault("status", "--field", "vaults.0.status")).toMatchObject({ code: 0 });
    expect(await at(home, env)("sandbox", "stop")).toMatchObject({ code: 0 });
    await running.exit;
  });

  test("with a ready file of its own, it prints the commands that find it, and they say where they look", async () => {
    const cwd = tempDir("sandbox");
    const readyFile = join(cwd, "a box.json");
    const host = fakeHost({ cwd, home: cwd, files: "real", now: "real" });
    const ended = main(["sandbox", "start", "--ready-file", readyFile], host);
    await expect
      .poll(() => host.out, { timeout: 20_000 })
      .toContain(
        `eval "$(vault sandbox env --ready-file '${readyFile}')"\nTo stop it: Ctrl-C, or vault sandbox stop --ready-file '${readyFile}'\n`,
      );
    host.interrupt();
    expect(await ended).toBe(0);
    for (const command of ["env", "stop"]) {
      const later = fakeHost({ cwd, home: cwd, files: "real" });
      expect(await main(["sandbox", command, "--ready-file", readyFile], later)).toBe(10);
      expect(later.err.replaceAll("\n    ", " ")).toContain(
        `vault: no sandbox is running (ready file: ${readyFile})\n  next: vault sandbox start --ready-file '${readyFile}'\n`,
      );
    }
  });

  test.skipIf(!existsSync("/proc/self"))(
    "a ready file that cannot be written ends it",
    async () => {
      const home = tempDir("home");
      const result = await at(home)("sandbox", "start", "--ready-file", "/proc/none/x");
      expect(result).toMatchObject({
        code: 14,
        stderr: "vault: --ready-file /proc/none/x: cannot be written (ENOENT)\n",
      });
    },
  );

  test("a ready file of a sandbox that was killed is nobody's", async () => {
    const home = tempDir("home");
    const running = await started(home);
    running.kill("SIGKILL");
    await running.exit;
    expect(existsSync(join(home, ".local", "state", "vaultsvc-sandbox.json"))).toBe(true);
    expect(await at(home)("sandbox", "status")).toMatchObject({
      code: 0,
      stdout: `No sandbox is running (ready file: ${home}/.local/state/vaultsvc-sandbox.json).\n`,
    });
    const next = await started(home);
    expect(await at(home)("sandbox", "stop")).toMatchObject({ code: 0 });
    expect(await next.exit).toMatchObject({ code: 0 });
  });
});
