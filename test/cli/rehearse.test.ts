import { execFile } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, test } from "vitest";
import { main } from "../../src/main.ts";
import { tempDir } from "../support/cleanup.ts";
import { fakeHost } from "../support/fake-host.ts";
import { vaultInPty } from "../support/pty.ts";
import { cleanEnv, demoNote, hasCurl, rehearse } from "../support/run-vault.ts";
import { startVault, vaultCommand } from "../support/run-vault.ts";

describe("sandbox rehearse (programs that read vaults: torture/rehearse)", () => {
  test.skipIf(!hasCurl())(
    "a program that does not try again is found out, whatever becomes of its call",
    async () => {
      const call = `curl --silent --data '{}' "$VAULTSVC_BASE_URL/vaultsvc/v1-2/vault/generic/offline/${demoNote}/get-start"`;
      const once = `test -e tried && exit; touch tried; ${call} && touch answered`;
      const program = ["--", "sh", "-c", once];
      const { code, stderr, document } = await rehearse("--check", "test -e answered", ...program);
      const failures = ["lost-before", "lost-after", "killed-before", "killed-after"];
      expect(document.scenarios).toMatchObject(
        failures.map((failure) => ({ failure, outcome: "lost", check: 1 })),
      );
      expect(code).toBe(17);
      expect(stderr).toContain(
        '"code":"finding","message":"4 of 4 scenarios lost the vault","hint":"save the new credentials before',
      );
    },
  );

  test("a program that fails anyway is told before anything is rehearsed", async () => {
    const lines = ["--check true -- false", "--check true -- true", "-- true"];
    for (const line of [...lines, `--check false -- vault get ${demoNote}`])
      expect(await rehearse(...line.split(" ")), line).toMatchObject({ code: 2 });
  });

  /** Runs `vault sandbox rehearse` in this process, in a folder with two programs. */
  async function here(...args: string[]): Promise<{ code: number; err: string; cwd: string }> {
    const cwd = tempDir("rehearse");
    writeFileSync(join(cwd, "read-vault.sh"), `#!/bin/sh\nvault get ${demoNote} -q\n`, {
      mode: 0o700,
    });
    writeFileSync(join(cwd, "idle.sh"), "#!/bin/sh\n", { mode: 0o700 });
    const host = fakeHost({ env: { PATH: process.env["PATH"] }, cwd, now: "real", files: "real" });
    return { code: await main(["sandbox", "rehearse", ...args], host), err: host.err, cwd };
  }

  test("without --check it says what is missing", async () => {
    expect(await here("--setup", "touch x", "--", "./read-vault.sh")).toMatchObject({
      code: 2,
      err: "vault: --check is missing: a command that exits with 0 if the program can still read its vault\n",
    });
  });

  test("a program of the caller's folder is found from the working directory of each run", async () => {
    expect((await here("--check", "true", "--", "./idle.sh")).err).toContain("makes no call");
  });

  test("a program may write to /dev/stdout and /dev/stderr", async () => {
    const program = `echo read > /dev/stderr; vault get ${demoNote} > /dev/stdout && exit 9`;
    const { err } = await here("--check", "true", "--", "sh", "-c", program);
    expect(err).toContain("exits with 9");
  });

  const file = "./read-vault.sh";
  const setUp = ["--setup", "vault export x", "--check", "true", "--", "true"];
  test.each([
    [["--check", "true", "--", "sh", file], "exits with \\d+ even without a failure", `sh ${file}`],
    [["--check", file, "--", file], "exits with 127 even without a failure", `/bin/sh -c ${file}`],
    [setUp, "--setup exits with 4", "/bin/sh -c 'vault export x'"],
  ])("%j is told, and the command that shows what the program says", async (args, said, run) => {
    const { code, err } = await here(...args);
    expect(code).toBe(2);
    expect(err).toMatch(new RegExp(`vault: .*${said}\n`));
    expect(err).toContain(`next: vault sandbox exec -- ${run}\n`);
  });

  test("Ctrl-C ends the program that runs, and the rehearsal", async () => {
    const args = ["--setup", "echo ready; sleep 60", "--check", "true", "--debug", "--", "true"];
    const running = startVault(["sandbox", "rehearse", "--json", ...args]);
    await running.waitFor(/ready/, "stderr");
    running.kill("SIGINT");
    const { code, stderr } = await running.exit;
    expect(stderr).toContain('"code":"interrupted"');
    expect(code).toBe(130);
  });

  test("with --debug, a program gets no null device of the caller's: it would deliver nothing", async () => {
    const written = join(tempDir("rehearse"), "written");
    const program = ["sh", "-c", `test -f /dev/stdout && touch ${written}; exit 9`];
    const args = ["sandbox", "rehearse", "--debug", "--check", "true", "--", ...program];
    const shell = ["-c", 'exec "$@" 2>/dev/null', "sh", ...vaultCommand, ...args];
    await expect(promisify(execFile)("/bin/sh", shell, { env: cleanEnv() })).rejects.toMatchObject({
      code: 2,
    });
    expect(existsSync(written)).toBe(true);
  });

  test("a person sees how far it is, how many were fine, and what was found until Ctrl-C", async () => {
    const whole = ["sandbox", "rehearse", "--check", "true", "--", "vault", "get", demoNote];
    const seen = vaultInPty(whole, { columns: 120, timeoutMs: 60_000 });
    await seen.waitFor(/3 of 8: call 1, killed-before/);
    seen.type("\u0003");
    const { code, text } = await seen.exit;
    expect(code).toBe(130);
    expect(text).toMatch(/1 of 8: call 1, lost-before …/);
    expect(text).toMatch(/lost-after +fine[^]*2 of 8 fine/);
  });
});
