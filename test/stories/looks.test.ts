import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { runVault } from "../support/run-vault.ts";
import { startInPty } from "../support/pty.ts";
import { openScene, type Scene } from "./story.ts";

/** What a person sees, kept as it was when it was looked at. */

const scenes: Scene[] = [];
afterAll(async () => {
  for (const { sandbox } of scenes) await sandbox.close();
});

/** A machine with a card that was read twice, a note that is held, and a pair that was refused. */
async function prepare(): Promise<Scene> {
  const scene = await openScene();
  scenes.push(scene);
  const { cwd, env } = scene;
  const { BASE_URL = "", APP_UUID = "", APP_KEY = "", CARD = "", NOTE = "", ONLINE = "" } = env;
  Object.assign(env, {
    VAULTSVC_BASE_URL: BASE_URL,
    VAULTSVC_APP_UUID: APP_UUID,
    VAULTSVC_API_KEY: APP_KEY,
    PAIR: '{"encryptedData":"x","payload":"y"}',
  });
  const vault = async (exit: number, ...args: string[]) =>
    expect(await runVault(args, { cwd, env })).toMatchObject({ code: exit });
  await vault(
    0,
    "import",
    CARD,
    "--kind",
    "credit-card/offline",
    "--credentials",
    "@card-pair.json",
    "--label",
    "office card",
  );
  await vault(0, "get", CARD);
  await vault(
    0,
    "get",
    NOTE,
    "--kind",
    "generic/offline",
    "--credentials",
    "@note-pair.json",
    "--no-ack",
  );
  await vault(
    6,
    "get",
    ONLINE,
    "--kind",
    "credit-card/online",
    "--credentials",
    "env:PAIR",
    "--device",
    "@device.json",
  );
  return scene;
}

/** Shows everything a minute late: a machine under load prepares in less, and "just now" would be over after ten seconds. */
const late = {
  NODE_OPTIONS: `--require=${join(import.meta.dirname, "..", "support", "clock-jump.cjs")}`,
  CLOCK_SHIFT: "60000",
};

/** Everything that differs from run to run, in its own length. */
const steady = (text: string): string =>
  text
    .replaceAll(/(?<="uuid":")[0-9a-f-]{36}/g, "00000000-0000-4000-8000-000000000000")
    .replaceAll(/\b(vault-)?[0-9A-HJKMNP-TV-Z]{26}\b/g, "$101EXCHANGE0000000000000000")
    .replaceAll(/sha256:[0-9a-f]{12}/g, "sha256:000000000000")
    .replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "2026-01-01 00:00")
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, "2026-01-01T00:00:00.000Z")
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:00000")
    .replaceAll("\u001B", "␛");

const commands = [
  "get $CARD",
  "status",
  "status $NOTE --history",
  "guard",
  "get $NOTE",
  "get $ONLINE",
  "get $CARD --dry-run",
  "update $CARD --card-name Ada --card @nowhere",
  "get",
];

/** What may be wider than the terminal: what is to be copied whole. */
const wraps = (line: string): boolean =>
  /^ {2}next: |^ {4}or: |^ {2}body |^ {2}request /.test(line);

describe.each([80, 120])("on a terminal of %i columns", (columns) => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await prepare();
  });
  test.each(commands)("vault %s", async (command) => {
    const { cwd, env } = scene;
    const shown = async (more: Record<string, string>) =>
      (
        await startInPty(["/bin/sh", "-c", `vault ${command} --no-input`], {
          cwd,
          env: { ...env, ...late, ...more },
          columns,
        }).exit
      ).raw;
    const plain = await shown({ NO_COLOR: "1" });
    expect(plain).not.toContain("\u001B");
    expect(plain.split("\n").filter((line) => !wraps(line) && line.length > columns)).toEqual([]);
    expect(steady(plain)).toMatchSnapshot();
  });
});

describe("color", () => {
  let scene: Scene;
  beforeAll(async () => {
    scene = await prepare();
  });
  test.each(["get $CARD", "status", "guard"])(
    "vault %s on a terminal, and the same without it in a pipe",
    async (command) => {
      const { cwd, env } = scene;
      const { raw } = await startInPty(["/bin/sh", "-c", `vault ${command}`], {
        cwd,
        env: { ...env, ...late },
      }).exit;
      expect(steady(raw)).toMatchSnapshot("terminal");
      const words = command
        .split(" ")
        .map((word) => (word.startsWith("$") ? (env[word.slice(1)] ?? "") : word));
      const piped = await runVault(words, { cwd, env: { ...env, ...late } });
      expect(piped.stderr).toBe("");
      expect(steady(piped.stdout)).toMatchSnapshot("pipe");
    },
  );
});
