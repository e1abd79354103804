// npm run demo, npm run demo:team: demo.ts main|team [PROGRAM], with the built program as child processes.
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Service, Stage } from "./demo-stage.ts";
import {
  ask,
  environment,
  expectStatus,
  expectThat,
  fault,
  narrate,
  perform,
  prompt,
  run,
  runInBackground,
  startService,
} from "./demo-stage.ts";
import { postgres } from "../support/postgres.ts";

/** The main job, on a sandbox and a state that are thrown away. */
async function playMain(stage: Stage): Promise<void> {
  narrate("The service, emulated: a vault of each kind, for this demo only");
  const service = await startService(stage);
  Object.assign(stage.env, service.env);
  const [online, card, note] = service.vaults;

  narrate("The credentials of three vaults go into the state of this machine, sealed");
  await run(stage, "vault import --file vaults.ndjson", ["import", "--file", "vaults.ndjson"]);
  for (const [name, uuid] of Object.entries({ ONLINE: online, CARD: card, NOTE: note }))
    prompt(`${name}=${uuid}`);

  narrate("What this machine knows before the first read");
  await run(stage, "vault status", ["status"]);

  narrate("An online credit-card vault: the read replaces generation 1 of its credentials");
  await run(stage, "vault get $ONLINE", ["get", online]);
  narrate("An offline credit-card vault");
  await run(stage, "vault get $CARD", ["get", card]);
  narrate("An offline generic vault, its content alone");
  await run(stage, "vault get $NOTE --field vault.content", [
    "get",
    note,
    "--field",
    "vault.content",
  ]);
  await expectStatus(stage, { [online]: "ready 2", [card]: "ready 2", [note]: "ready 2" });

  narrate("From now on no acknowledgement reaches the service");
  await fault(stage, "get-end:drop-before*all");
  narrate(
    "The program is killed (SIGKILL) between start and end: the contents are there,",
    "the acknowledgement is not",
  );
  const killed = runInBackground(stage, "vault get $CARD --verbose", ["get", card, "--verbose"]);
  await Promise.all([killed.until(/Reference/), killed.until(/^acknowledging$/m)]);
  const { signal } = await killed.stop("SIGKILL");
  expectThat(signal === "SIGKILL", "the program was not killed");
  process.stdout.write("Killed\n");

  narrate(
    "Nothing is lost: the old and the new credentials are kept, and the exchange",
    "can be finished",
  );
  await run(stage, "vault status", ["status"]);
  await expectStatus(stage, { [card]: "acknowledging 2" });

  narrate("The network is back, and ack finishes the exchange");
  await fault(stage, "--clear");
  await run(stage, "vault ack $CARD", ["ack", card]);
  narrate("What this machine knows now");
  await run(stage, "vault status", ["status"]);
  await expectStatus(stage, { [online]: "ready 2", [card]: "ready 3", [note]: "ready 2" });

  narrate("The proof: the service accepts the new credentials");
  await run(stage, "vault get $CARD --field vault.creditCard.name", [
    "get",
    card,
    "--field",
    "vault.creditCard.name",
  ]);
  await expectStatus(stage, { [card]: "ready 4" });
  await service.stop();
}

const password = "for-this-demo";

/** Three machines with one state in a real PostgreSQL, one of them killed while it uses a vault. */
async function playTeam(stage: Stage): Promise<void> {
  narrate("A PostgreSQL with a role for the team, and the emulated service");
  const server = await postgres();
  await server.sql(`CREATE ROLE team LOGIN PASSWORD '${password}'`);
  const service = await startService(stage);
  const location = server.location("vaultsvc");
  const shared = location.replace("postgres:password@", "team@").replace(/\?.*/, "");
  const [ann, ben, cleo] = ["ann", "ben", "cleo"].map((name) =>
    machine(stage, name, service, shared),
  ) as [Stage, Stage, Stage];
  const [online, card, note] = service.vaults;

  narrate("The owner of the database makes the state, and the key on Ann's machine");
  await run(
    { ...ann, env: { ...ann.env, VAULTSVC_STATE: location } },
    "vault state init --grant team",
    ["state", "init", "--grant", "team"],
  );
  narrate("Ben and Cleo need the key; the database never sees it");
  for (const { name = "", folder } of [ben, cleo]) {
    prompt(`scp -r config/keys ${name}:config/`, ann);
    mkdirSync(join(folder, "config"), { mode: 0o700 });
    cpSync(join(ann.folder, "config", "keys"), join(folder, "config", "keys"), { recursive: true });
  }
  narrate("From now on all three use the rights of the team");
  for (const each of [ann, ben, cleo]) prompt(`export VAULTSVC_STATE=${shared}`, each);
  await run(ann, "vault import --file vaults.ndjson", [
    "import",
    "--file",
    join(stage.folder, "vaults.ndjson"),
  ]);
  for (const [name, uuid] of Object.entries({ ONLINE: online, CARD: card, NOTE: note }))
    prompt(`${name}=${uuid}`, ann);

  narrate("All three read one vault at the same time: each read replaces its credentials");
  await together([ann, "NOTE", note], [ben, "NOTE", note], [cleo, "NOTE", note]);
  narrate("They took turns: three reads, generation 4, and no failed attempt");
  await run(cleo, "vault status", ["status"]);
  await expectStatus(cleo, { [note]: "ready 4" });

  narrate("Ben reads a vault; the service takes his acknowledgement and never responds");
  await fault(stage, "get-end:hang");
  const killed = runInBackground(ben, "vault get $CARD --verbose", ["get", card, "--verbose"]);
  await Promise.all([killed.until(/Reference/), killed.until(/^acknowledging$/m)]);
  narrate(`Who is using it? Ben's process ${killed.pid}`);
  await run(cleo, "vault state locks", ["state", "locks"]);
  narrate("Ben's process is killed (SIGKILL). The old credentials do not work any more");
  expectThat((await killed.stop("SIGKILL")).signal === "SIGKILL", "the program was not killed");

  narrate(
    "Nobody can tell a dead process from a slow one: Ann waits for the end of Ben's",
    "lease (15 s at most), then finishes his read and does hers. Cleo does not wait",
  );
  const other = runInBackground(cleo, ...reading("ONLINE", online));
  await run(ann, ...reading("CARD", card));
  await other.end;
  await expectStatus(ann, { [online]: "ready 2", [card]: "ready 3" });

  narrate("The proof: each vault can be read, none is in use, and none is near a lock");
  await together([ann, "ONLINE", online], [ben, "CARD", card], [cleo, "NOTE", note]);
  await run(cleo, "vault state locks", ["state", "locks"]);
  await run(cleo, "vault guard", ["guard"]);
  await expectStatus(cleo, { [online]: "ready 3", [card]: "ready 4", [note]: "ready 5" });
  const { vaults } = (await ask(cleo, ["guard"])) as {
    vaults: { unackedStarts: number; failedAttempts: number }[];
  };
  expectThat(
    vaults.every(({ unackedStarts, failedAttempts }) => unackedStarts + failedAttempts === 0),
    "a vault is closer to a lock than before",
  );
  await service.stop();
}

/** A machine of its own: home, configuration and local state. */
function machine(stage: Stage, name: string, service: Service, state: string): Stage {
  const folder = join(stage.folder, name);
  mkdirSync(folder);
  return {
    ...stage,
    name,
    folder,
    env: { ...environment(folder), ...service.env, VAULTSVC_STATE: state, PGPASSWORD: password },
  };
}

/** The command that reads a vault, as it is shown and as it is run. */
function reading(name: string, uuid: string): [shown: string, args: string[]] {
  const field = name === "NOTE" ? "vault.content" : "vault.creditCard.name";
  return [`vault get $${name} --field ${field}`, ["get", uuid, "--field", field]];
}

/** Reads at the same time, which all succeed. */
async function together(...reads: [reader: Stage, name: string, uuid: string][]): Promise<void> {
  const ends = reads.map(async ([reader, name, uuid]) => {
    const { code } = await runInBackground(reader, ...reading(name, uuid)).end;
    expectThat(code === 0, `vault get $${name} ended with ${code}`);
  });
  await Promise.all(ends);
}

await perform(process.argv[2] === "team" ? playTeam : playMain);
