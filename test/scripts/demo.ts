// npm run demo: the main job, with the built program as child processes, on a sandbox and a state that are thrown away.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Stage } from "../support/demo-stage.ts";
import { ask, expectThat, killAll, narrate, prompt, run, runInBackground } from "../support/demo-stage.ts";

interface Ready {
  baseUrl: string;
  application: { uuid: string; apiKey: string };
  vaults: { uuid: string; kind: string; label: string; credentials: Record<string, string>; device?: unknown }[];
}

interface Status {
  vaults: { uuid: string; status: string; generation: number; unackedStarts: number }[];
}

async function play(stage: Stage): Promise<void> {
  narrate("The service, emulated: a vault of each kind, for this demo only");
  const serve = ["sandbox", "start", "--ready-file", "sandbox.json"];
  const sandbox = runInBackground(stage, `vault ${serve.join(" ")} &`, serve);
  await sandbox.until(/Ctrl-C/);
  const ready = JSON.parse(readFileSync(join(stage.folder, "sandbox.json"), "utf8")) as Ready;
  Object.assign(stage.env, {
    VAULTSVC_BASE_URL: ready.baseUrl,
    VAULTSVC_APP_UUID: ready.application.uuid,
    VAULTSVC_API_KEY: ready.application.apiKey,
  });
  const [online = "", card = "", note = ""] = writeInputs(stage, ready);

  narrate("The credentials of three vaults go into the state of this machine, sealed");
  await run(stage, "vault import --file vaults.ndjson", ["import", "--file", "vaults.ndjson"]);
  for (const [name, uuid] of Object.entries({ ONLINE: online, CARD: card, NOTE: note })) prompt(`${name}=${uuid}`);

  narrate("What this machine knows before the first read");
  await run(stage, "vault status", ["status"]);

  narrate("An online credit-card vault: the read replaces its credentials, generation 1 by 2");
  await run(stage, "vault get $ONLINE", ["get", online]);
  narrate("An offline credit-card vault");
  await run(stage, "vault get $CARD", ["get", card]);
  narrate("An offline generic vault, its content alone");
  await run(stage, "vault get $NOTE --field vault.content", ["get", note, "--field", "vault.content"]);
  await expectStatus(stage, { [online]: "ready 2", [card]: "ready 2", [note]: "ready 2" });

  narrate("From now on no acknowledgement reaches the service");
  await fault(stage, "get-end:drop-before*all");
  narrate("The program is killed (SIGKILL) between start and end: the contents are there, the acknowledgement is not");
  const killed = runInBackground(stage, "vault get $CARD --verbose", ["get", card, "--verbose"]);
  await Promise.all([killed.until(/Reference/), killed.until(/^acknowledging$/m)]);
  const { signal } = await killed.stop("SIGKILL");
  expectThat(signal === "SIGKILL", "the program was not killed");
  process.stdout.write("Killed\n");

  narrate("Nothing is lost: the old and the new credentials are kept, and the exchange can be finished");
  await run(stage, "vault status", ["status"]);
  await expectStatus(stage, { [card]: "acknowledging 2" });

  narrate("The network is back, and ack finishes the exchange");
  await fault(stage, "--clear");
  await run(stage, "vault ack $CARD", ["ack", card]);
  narrate("What this machine knows now");
  await run(stage, "vault status", ["status"]);
  await expectStatus(stage, { [online]: "ready 2", [card]: "ready 3", [note]: "ready 2" });

  narrate("The proof: the service accepts the new credentials");
  await run(stage, "vault get $CARD --field vault.creditCard.name", ["get", card, "--field", "vault.creditCard.name"]);
  await expectStatus(stage, { [card]: "ready 4" });
  const { code } = await sandbox.stop("SIGTERM");
  expectThat(code === 0, `the sandbox ended with ${code}`);
}

/** The first three vaults, as `vault import --file` takes them; returns their uuids. */
function writeInputs({ folder }: Stage, { vaults }: Ready): string[] {
  const chosen = vaults.slice(0, 3);
  expectThat(
    chosen.map(({ kind }) => kind).join() === "credit-card/online,credit-card/offline,generic/offline",
    "the sandbox has other vaults",
  );
  writeFileSync(join(folder, "vaults.ndjson"), chosen.map((vault) => `${JSON.stringify(vault)}\n`).join(""), { mode: 0o600 });
  return chosen.map(({ uuid }) => uuid);
}

async function fault(stage: Stage, what: string): Promise<void> {
  const shown = what.startsWith("--") ? what : `'${what}'`;
  await run(stage, `vault sandbox fault ${shown} --ready-file sandbox.json`, ["sandbox", "fault", what, "--ready-file", "sandbox.json"]);
}

/** Status and current generation of vaults, by uuid. */
async function expectStatus(stage: Stage, expected: Record<string, string>): Promise<void> {
  const { vaults } = (await ask(stage, ["status"])) as Status;
  for (const [uuid, wanted] of Object.entries(expected)) {
    const vault = vaults.find((candidate) => candidate.uuid === uuid);
    const found = `${vault?.status} ${vault?.generation}`;
    expectThat(found === wanted, `vault ${uuid} is ${found} where it should be ${wanted}`);
  }
}

function environment(folder: string): Record<string, string> {
  const kept = ["PATH", "TERM", "COLORTERM", "NO_COLOR", "LANG", "LC_ALL", "TZ"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const columns = String(process.stdout.columns ?? 80);
  const places = { HOME: folder, VAULTSVC_STATE: join(folder, "state"), VAULTSVC_CONFIG_DIR: join(folder, "config") };
  return { ...Object.fromEntries(kept), COLUMNS: columns, ...places };
}

const began = performance.now();
const folder = mkdtempSync(join(tmpdir(), "vault-demo-"));
const leave = (): void => {
  killAll();
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
};
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
  process.once(signal, () => {
    leave();
    process.kill(process.pid, signal);
  });
}
try {
  const program = resolve(process.argv[2] ?? join(import.meta.dirname, "..", "..", "bin", "vault.js"));
  await play({ program, folder, env: environment(folder) });
  narrate(`All of it as expected, in ${((performance.now() - began) / 1000).toFixed(1)} s; nothing is left behind`);
} catch (error) {
  process.stderr.write(`\n${(error as Error).message}\n`);
  process.exitCode = 1;
} finally {
  leave();
}
