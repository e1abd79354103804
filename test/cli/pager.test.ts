import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { writeLog } from "../support/audit-log.ts";
import { tempDir } from "../support/cleanup.ts";
import { manyVaults, type ManyVaults } from "../support/lab.ts";
import { quote, startInPty, vaultInPty, type PtyOptions } from "../support/pty.ts";
import { vaultCommand } from "../support/run-vault.ts";

const folder = tempDir("pager");
const seen = join(folder, "seen");
const environment = join(folder, "environment");
/** A pager that shows and keeps what it is given. */
const pager = `tee ${quote(seen)}; env > ${quote(environment)}; echo THE PAGER ENDS`;

/** Forty vaults: one is held, one was read, whose note is longer than the screen. */
let many: ManyVaults;
let held = "";
beforeAll(async () => {
  const content = "a line of a note\n".repeat(60);
  many = await manyVaults(
    Array.from({ length: 40 }, (_, index) => ({
      kind: "generic/offline",
      content: index === 0 ? content : "note",
    })),
  );
  held = many.uuids[19] ?? "";
  await many.machine.ok("get", held, "--no-ack", "--json");
  await many.machine.ok("get", "v1", "--json");
});
beforeEach(() => {
  for (const file of [seen, environment]) rmSync(file, { force: true });
});

/** What a terminal shows, in this process. */
async function shown(
  args: readonly string[],
  { env = {}, rows = 24 }: { env?: Record<string, string>; rows?: number } = {},
): Promise<{ code: number | null; text: string }> {
  const terminal = { isTTY: true, color: env["NO_COLOR"] === undefined, rows };
  const given = { ...terminal, env: { PAGER: pager, ...env } };
  const { code, stdout, stderr } = await many.machine.vaultWith(given, ...args);
  return { code, text: stdout + stderr };
}

const onTerminal = (args: readonly string[], options: PtyOptions = {}) =>
  vaultInPty(args, {
    cwd: many.machine.home,
    ...options,
    env: { ...many.machine.env, PAGER: pager, ...options.env },
  });

describe("goes through the pager", () => {
  test.each([
    ["help of a topic", ["help", "recovery"], /^# Recovery\n/],
    ["help of a command", ["get", "--help"], /^Usage: vault get /],
    ["status", ["status"], /^ {2}Vault +Status/],
    ["guard", ["guard"], /^ {2}Vault +Guard refuses/],
    ["config list", ["config", "list", "--origin"], /^Profile default\n/],
  ])("%s", async (_, args, begins) => {
    const { code, text } = await shown(args, { env: { NO_COLOR: "1" } });
    expect(code).toBe(0);
    const given = readFileSync(seen, "utf8");
    expect(given).toMatch(begins);
    expect(text).toContain(`${given}THE PAGER ENDS\n`);
  });

  test("doctor, whose exit code stays, as does color", async () => {
    const { code, text } = await onTerminal(["doctor", "--fail-on", "warn"], { rows: 8 }).exit;
    expect(code).toBe(17);
    expect(readFileSync(seen, "utf8")).toContain("  \u001B[32mok\u001B[39m ");
    expect(text).toMatch(/THE PAGER ENDS\nvault: .*\(warn\)/);
  });

  test("audit-replay, which says nothing twice", async () => {
    const log = join(folder, "audit.ndjson");
    await writeLog(log, { seed: "one", items: 400, vaults: 10, problems: 0.5 });
    const { code, text } = await shown(["audit-replay", log, "--fail-on", "locked"], {
      env: { NO_COLOR: "1" },
    });
    expect(code).toBe(17);
    expect(text).toMatch(
      /^\d+ vaults? [^]*THE PAGER ENDS\nvault: \d+ vaults? (?:is|are) locked\s*$/,
    );
  });
});

describe("is printed without a pager", () => {
  test.each<[string, readonly string[], Parameters<typeof shown>[1]?]>([
    ["what fits on the screen", ["status"], { rows: 150 }],
    ["with --no-pager", ["status", "--no-pager"]],
    ["help with --no-pager", ["get", "--help", "--no-pager"]],
    ["with --no-input", ["status", "--no-input"]],
    ["with CI", ["status"], { env: { CI: "1" } }],
    ["with cat", ["status"], { env: { VAULT_PAGER: "cat" } }],
    ["JSON", ["status", "--json"]],
    ["a schema as JSON", ["help", "json", "--json"]],
    ["a script to be installed", ["completion", "bash"]],
    ["vault alone", [], { rows: 10 }],
    ["a group alone", ["sandbox"], { rows: 10 }],
    ["contents of a vault", ["get", "v1", "--reveal"]],
    ["one field of them", ["get", "v1", "--field", "vault.content"]],
  ])("%s", async (_, args, options) => {
    const { code, text } = await shown(args, options);
    expect(code).toBe(0);
    expect(text.split("\n").length).toBeGreaterThan(24);
    expect(existsSync(seen)).toBe(false);
  });

  test("where the configuration turns it off; a variable takes precedence", async () => {
    const { machine } = many;
    const configDir = join(folder, "config");
    const env = { VAULTSVC_CONFIG_DIR: configDir };
    await machine.okWith({ env }, "config", "set", "pager", "cat");
    await shown(["help", "recovery"], { env });
    expect(existsSync(seen)).toBe(false);
    await shown(["help", "recovery"], { env: { ...env, VAULT_PAGER: pager } });
    expect(existsSync(seen)).toBe(true);
  });

  test("where the pager is not there", async () => {
    const { code, text } = await onTerminal(["help", "recovery"], {
      env: { PAGER: "no-such-pager" },
    }).exit;
    expect(code).toBe(0);
    expect(text).toMatch(/no-such-pager: (?:command )?not found\n[^]*# Recovery\n/);
  });
});

test("the environment of the pager has none of the program's secrets, wherever they are from", async () => {
  const { env } = many.machine;
  const secret = "123e4567-e89b-42d3-a456-0000000000ff";
  const given = {
    NO_COLOR: "1",
    LESS: "-i",
    VAULTSVC_API_KEY: env["VAULTSVC_API_KEY"] ?? "",
    VAULTSVC_JWT: "header.claims.signature",
    OTHER: secret,
  };
  await shown(["doctor", "--api-key", "env:OTHER"], { env: given, rows: 5 });
  const kept = readFileSync(environment, "utf8");
  expect(kept).toContain("\nLESS=-i\n".trimStart());
  for (const hidden of [given.VAULTSVC_API_KEY, given.VAULTSVC_JWT, secret])
    expect(kept).not.toContain(hidden);
});

test("quitting the pager before its end is no failure", async () => {
  const { code, text } = await onTerminal(["status", "--fail-on", "pending"], {
    env: { PAGER: "head -n 1; exit 3" },
  }).exit;
  expect(code).toBe(17);
  expect(text).toMatch(/ {2}Vault .*\nvault: .* is pending.*\n {2}next: vault status /);
});

test("Ctrl-C is the pager's", async () => {
  const asks = `trap 'echo INTERRUPTED' INT; cat > ${quote(seen)}; echo READY; while ! read key; do :; done < /dev/tty; echo "$key"`;
  const run = onTerminal(["help", "recovery"], { env: { PAGER: asks } });
  await run.waitFor(/READY/);
  run.type("\x03");
  await run.waitFor(/INTERRUPTED/);
  run.type("quit\r");
  const { code, text } = await run.exit;
  expect(code).toBe(0);
  expect(text).toMatch(/quit\n$/);
});

const hasLess = spawnSync("less", ["--version"]).status === 0;

test.runIf(hasLess)("less shows the first screen, goes on, and leaves with q", async () => {
  const run = onTerminal(["help", "recovery"], { env: { PAGER: undefined } });
  await run.waitFor(/# Recovery\n/);
  await run.waitFor(/:$/);
  run.type(" ");
  await run.waitFor(/## What locks a vault\n/);
  run.type("q");
  const { code, text } = await run.exit;
  expect(code).toBe(0);
  expect(text).not.toContain("ESC[");
});

test("less that is not installed: the text is printed", async () => {
  const here = { ...many.machine.env, PATH: tempDir("nothing") };
  const words = Object.entries(here).map(([name, value]) => `${name}=${value}`);
  const command = ["/usr/bin/env", ...words, ...vaultCommand, "help", "recovery"];
  const { code, text } = await startInPty(command, { env: { PAGER: undefined } }).exit;
  expect(code).toBe(0);
  expect(text).toMatch(/^# Recovery\n/);
});
