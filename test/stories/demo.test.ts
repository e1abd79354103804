import { spawnSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startInPty } from "../support/pty.ts";
import { cleanEnv, vaultBin } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const demo = join(import.meta.dirname, "..", "scripts", "demo.ts");

describe("npm run demo", () => {
  test("on a terminal: shows each command with its output, and leaves nothing behind", async () => {
    const temporary = tempDir("demo");
    const { code, text, raw } = await startInPty([process.execPath, demo, "main"], {
      env: { TMPDIR: temporary },
    }).exit;
    expect({ code, text }).toMatchObject({ code: 0 });
    expect(readdirSync(temporary)).toEqual([]);

    const story = [
      /^\$ vault sandbox start/m,
      /^\$ vault status\n[^$]*\bunverified\b/m,
      /^\$ vault get \$ONLINE\n[^$]*credit-card\/online\n[^$]*•••• •••• •••• 1111/m,
      /^New credentials stored \(generation 2\)\.$/m,
      /^\$ vault get \$CARD\n[^$]*credit-card\/offline\n[^$]*•••• •••• •••• 4444/m,
      /^\$ vault get \$NOTE --field vault.content\nThe treasure/m,
      // Its two streams are two pipes to the demo, which reads them in any order.
      /^\$ vault get \$CARD --verbose\n(?=[^$]*•••• •••• •••• 4444)(?=[^$]*\nacknowledging\n)[^$]*Killed\n/m,
      /^\$ vault status\n[^$]*\backnowledging\b/m,
      /^\$ vault ack \$CARD\n.*get acknowledged \(generation 3\)/m,
      /^\$ vault status\n[^$]*ready +0 of 5/m,
      /Grace Hopper/,
      /All of it as expected/,
    ];
    let at = 0;
    for (const line of story) {
      expect(text.slice(at)).toMatch(line);
      const found = line.exec(text.slice(at));
      at += (found?.index ?? 0) + (found?.[0].length ?? 0);
    }
    expect(raw).toContain("\u001B[32m");
    for (const secret of ["4111111111111111", "5555555555554444"])
      expect(text).not.toContain(secret);
  });

  test("ends with 1 where something is not as expected, and leaves nothing behind then either", () => {
    const temporary = tempDir("demo");
    const broken = join(tempDir("broken"), "vault.cjs");
    writeFileSync(
      broken,
      `if (process.argv[2] === "ack") process.exit(10);\nrequire(${JSON.stringify(vaultBin)});\n`,
    );
    const env = cleanEnv({ env: { TMPDIR: temporary } });
    const { status, stdout, stderr } = spawnSync(process.execPath, [demo, "main", broken], {
      env,
      encoding: "utf8",
      timeout: 100_000,
    });
    expect(stderr).toContain("the demo did not go as expected: vault ack $CARD ended with 10");
    expect(stdout).not.toContain("All of it as expected");
    expect(stdout).not.toContain("\u001B");
    expect(status).toBe(1);
    expect(readdirSync(temporary)).toEqual([]);
  });
});
