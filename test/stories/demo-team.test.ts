import { spawnSync } from "node:child_process";
import { chmodSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startInPty } from "../support/pty.ts";
import { vaultBin } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const demo = join(import.meta.dirname, "..", "scripts", "demo.ts");

/** A folder for temporary files, in which the server's own user may look too. */
function temporaryFolder(): string {
  const folder = tempDir("demo");
  chmodSync(folder, 0o711);
  return folder;
}

test("npm run demo:team: three machines share a state, one is killed, and nothing is left behind", async () => {
  const temporary = temporaryFolder();
  const run = startInPty([process.execPath, demo, "team"], {
    env: { TMPDIR: temporary },
    timeoutMs: 170_000,
  });
  const { code, text } = await run.exit;
  expect(code, text).toBe(0);
  expect(readdirSync(temporary)).toEqual([]);
  const story = [
    /^ann\$ vault state init --grant team\nCreated the shared state\s+postgres:/m,
    /^(?:(?:ann {2}|ben {2}|cleo )\| The treasure.*\n){3}/m,
    /^cleo\$ vault state locks\n.*Used by[^$]*pid \d+\)/m,
    /^# Ben's process is killed/m,
    /^Waiting for vault \S+,\s+in use by process \d+\s+since \d\d:\d\d/m,
    /^Finished the interrupted get.*\nGrace Hopper\nNew credentials stored \(generation 3\)/m,
    /^cleo\$ vault state locks\nNo vault is in use\.$/m,
    /^cleo\$ vault guard\n[^$]*(?:0 of 5 +0 of 3[^$]*){3}/m,
    /All of it as expected/,
  ];
  let rest = text;
  for (const line of story) {
    expect(rest).toMatch(line);
    rest = rest.slice(rest.search(line) + 1);
  }
  expect(
    text.split("\n").filter((line) => line.length > 80 && /^# |^\w*\$ |^\w+ *\| /.test(line)),
  ).toEqual([]);
  for (const secret of ["4111111111111111", "5555555555554444", "for-this-demo"])
    expect(text).not.toContain(secret);
});

test("ends with 1 where something is not as expected, and leaves nothing behind then either", async () => {
  const temporary = temporaryFolder();
  const broken = join(tempDir("broken"), "vault.cjs");
  writeFileSync(
    broken,
    `if (process.argv[2] === "import") process.exit(10);\nrequire(${JSON.stringify(vaultBin)});\n`,
  );
  // Without a terminal, lines of a machine have its name.
  const { status, stdout, stderr } = spawnSync(process.execPath, [demo, "team", broken], {
    env: { ...process.env, TMPDIR: temporary },
    encoding: "utf8",
  });
  expect({ status, stderr }).toMatchObject({ status: 1 });
  expect(stdout).toMatch(
    /^ann\$ vault state init --grant team\nann {2}\| Created the shared state/m,
  );
  expect(stderr).toContain(
    "the demo did not go as expected: vault import --file vaults.ndjson ended with 10",
  );
  expect(readdirSync(temporary)).toEqual([]);
});

test("stopped by Ctrl-C, it leaves nothing behind", async () => {
  const temporary = temporaryFolder();
  const run = startInPty([process.execPath, demo, "team"], { env: { TMPDIR: temporary } });
  await run.waitFor(/The sandbox listens/);
  run.type("\x03");
  expect((await run.exit).code).toBe(130);
  expect(readdirSync(temporary)).toEqual([]);
});
