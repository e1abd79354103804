import { execFile, spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/faults.ts";
import { section, topicBlocks, topicText, topicTexts } from "../support/markdown.ts";
import { postgres, type Postgres } from "../support/postgres.ts";
import { cleanEnv } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { missing, openScene, type Scene } from "./story.ts";

/** What a text has to run, and the lines that it says will be printed. */
function recipe(heading: string, text: string) {
  const blocks = topicBlocks(text);
  const script = blocks.filter(({ info }) => info === "sh").map(({ code }) => code);
  const claims = blocks
    .filter(({ info }) => info === "text")
    .flatMap(({ code }) => code.trimEnd().split("\n"));
  return { heading, script: script.join("\n"), claims };
}

const text = topicText("recipes");
const recipes = [...new Set(topicBlocks(text).map(({ heading }) => heading))].map((heading) =>
  recipe(heading, section(text, heading)),
);
/** The other topics with something to run, in the same place; the tour is run by itself. */
const others = Object.entries(topicTexts)
  .filter(([name]) => name !== "recipes" && name !== "tour")
  .map(([name, markdown]) => recipe(name, markdown))
  .filter(({ script }) => script !== "");

/** What a new machine may lack. */
const lacking = ["sqlite3", "openssl"].filter(
  (program) => spawnSync(program, ["version"]).error !== undefined,
);
const runsHere = ({ script }: { script: string }): boolean =>
  !lacking.some((program) => script.includes(program));
const hasSqlite = !lacking.includes("sqlite3");

const scenes: Scene[] = [];
afterAll(async () => {
  for (const { sandbox } of scenes) await sandbox.close();
});

/** A machine that knows the note, with the settings of the service in its environment. */
async function prepare(): Promise<Scene> {
  const scene = await openScene();
  scenes.push(scene);
  const { cwd, env } = scene;
  const { BASE_URL = "", APP_UUID = "", APP_KEY = "", NOTE = "" } = env;
  Object.assign(env, {
    VAULT: NOTE,
    VAULTSVC_BASE_URL: BASE_URL,
    VAULTSVC_APP_UUID: APP_UUID,
    VAULTSVC_API_KEY: APP_KEY,
  });
  for (const text of Object.values(topicTexts)) {
    const saved = /Save this\s+as\s+(\S+):\n\n((?: {6}.*\n)+)/.exec(text);
    if (saved?.[1] !== undefined)
      writeFileSync(join(cwd, saved[1]), (saved[2] ?? "").replaceAll(/^ {6}/gm, ""));
  }
  copyFileSync(join(cwd, "note-pair.json"), join(cwd, "pair.json"));
  return scene;
}

const sharedAddress = "db.example.com/vaults";
let databases = 0;
let withRoles: Promise<Postgres> | null = null;

async function startWithRoles(): Promise<Postgres> {
  const server = await postgres();
  for (const role of ["owner", "team"])
    await server.sql(`CREATE ROLE ${role} LOGIN PASSWORD 'of-a-test'`);
  return server;
}

/** A new database of a real server, with two roles, in place of the one that the script names; not in the environment. */
async function withDatabase(script: string, { env }: Scene): Promise<string> {
  if (!script.includes(sharedAddress)) return script;
  const name = `vaults_${(databases += 1)}`;
  const { port, sql } = await (withRoles ??= startWithRoles());
  await sql(`CREATE DATABASE ${name} OWNER owner`);
  delete env["VAULTSVC_STATE"];
  env["PGPASSWORD"] = "of-a-test";
  return script.replaceAll(sharedAddress, `127.0.0.1:${port}/${name}`);
}

/** Imports the note, with an address into a shared state that is made there. */
async function importNote(scene: Scene, address?: string): Promise<void> {
  const made = `vault state init --state postgres://owner@${address} --grant team\ncp config/keys/*.key state.key`;
  if (address !== undefined) expect(await run(made, scene)).toMatchObject({ code: 0 });
  const imported = 'vault import "$VAULT" --kind generic/offline --credentials @pair.json';
  const given = address === undefined ? {} : { VAULTSVC_STATE: `postgres://team@${address}` };
  expect(await run(imported, scene, given)).toMatchObject({ code: 0 });
}

function run(
  script: string,
  { cwd, env }: Scene,
  more: Record<string, string> = {},
): Promise<{ code: number; text: string }> {
  const file = join(tempDir("recipe"), "recipe.sh");
  writeFileSync(file, `exec 2>&1\nset -e\n${script}`);
  return new Promise((resolve) => {
    execFile(
      "/bin/sh",
      [file],
      { cwd, env: cleanEnv({ env: { ...env, ...more } }), timeout: 150_000 },
      (error, text) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), text });
      },
    );
  });
}

describe.concurrent("each recipe works as it stands", () => {
  test("there are seven of them", () => expect(recipes).toHaveLength(7));

  test.each(recipes.filter(runsHere))("$heading", async ({ heading, script, claims }) => {
    const scene = await prepare();
    const here = await withDatabase(script, scene);
    const [, address] = /(?<=postgres:..)team@(\S+)/.exec(here) ?? [];
    if (!/container|database/.test(heading)) await importNote(scene, address);
    const { code, text } = await run(here, scene);
    expect(`exit ${code}\n${missing(claims, text) ?? ""}\n${code === 0 ? "" : text}`.trim()).toBe(
      "exit 0",
    );
    // Whatever it did: the service is not left with an exchange that nobody knows of.
    expect(scene.sandbox.sandbox.inspect(scene.env["NOTE"] ?? "")).toMatchObject({
      state: "active",
      failedAccesses: 0,
    });
  });
});

test.concurrent.each(others.filter(runsHere))(
  "the examples of the topic $heading work",
  async ({ script, claims }) => {
    const scene = await prepare();
    writeFileSync(join(scene.cwd, "key.txt"), scene.env["APP_KEY"] ?? "");
    writeFileSync(join(scene.cwd, "passphrase.txt"), "correct horse battery");
    // Where the sandbox's own start leaves it.
    copyFileSync(join(scene.cwd, "sandbox.json"), join(scene.cwd, "state-sandbox.json"));
    const here = await withDatabase(script, scene);
    const before =
      'vault import "$VAULT" --kind generic/offline --credentials @pair.json\nvault export --all > vaults.ndjson';
    const { code, text } = await run(`${before}\n${here}`, scene);
    expect(`exit ${code}\n${missing(claims, text) ?? ""}\n${code === 0 ? "" : text}`.trim()).toBe(
      "exit 0",
    );
  },
);

test("a recipe goes on where its first run was killed", async () => {
  const scene = await prepare();
  const container = recipes.find(({ heading }) => heading.includes("container"))?.script ?? "";
  const killed = container.replace("--field", "--save-cmd 'kill -9 $PPID' --field");
  expect((await run(killed, scene)).code).not.toBe(0);
  expect(readFileSync(join(scene.cwd, "contents"), "utf8")).toContain("palm tree");
  const state = { VAULTSVC_STATE: join(scene.cwd, "state") };
  const kept = async () => (await run('vault status "$VAULT" --json', scene, state)).text;
  expect(await kept()).toContain('"state": "started"');
  expect(await run(container, scene)).toMatchObject({ code: 0 });
  expect(await kept()).toContain('"status": "ready"');
});

describe.skipIf(!hasSqlite)("the recipe of an application with its own database", () => {
  const blocks = topicBlocks(
    section(text, "An application whose own database holds the credentials"),
  ).filter(({ info }) => info === "sh");
  const [first = "", next = ""] = blocks.map(({ code }) => code);
  /** Five seconds ahead. */
  const ahead = {
    NODE_OPTIONS: `--require=${join(import.meta.dirname, "..", "support", "clock-jump.cjs")}`,
    CLOCK_SHIFT: "5000",
  };
  const requests = ({ sandbox }: Scene): number => sandbox.sandbox.requests().length;

  test("goes on with a machine whose clock is behind that of the one before it", async () => {
    const scene = await prepare();
    expect(await run(first, scene, ahead)).toMatchObject({ code: 0 });
    for (const clock of [{}, ahead, {}])
      expect(await run(next, scene, clock)).toMatchObject({ code: 0 });
  });

  test("of two runs from one row only one saves, whatever their clocks say", async ({ expect }) => {
    const scene = await prepare();
    expect(await run(first, scene)).toMatchObject({ code: 0 });
    const before = requests(scene);
    scene.sandbox.faults.add([parseFault("get-start:delay=5s")]);
    const slow = run(next, scene, ahead);
    await expect
      .poll(() => requests(scene), { timeout: 20_000, interval: 10 })
      .toBeGreaterThan(before + 1);
    const both = [await run(next, scene), await slow];
    expect(both.map(({ code }) => code).toSorted()).toEqual([0, 11]);
    expect(both.find(({ code }) => code === 11)?.text).toMatch(/another run has replaced the row/);
    expect(await run(next, scene)).toMatchObject({ code: 0 });
    expect(scene.sandbox.sandbox.inspect(scene.env["NOTE"] ?? "")).toMatchObject({
      state: "active",
      failedAccesses: 0,
      unackedStarts: 0,
    });
  });
});
