// npm run demo: the main job, with the built program as child processes, on a sandbox and a state that are thrown away.
import type { Stage } from "./demo-stage.ts";
import {
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

async function play(stage: Stage): Promise<void> {
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

  narrate("An online credit-card vault: the read replaces its credentials, generation 1 by 2");
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
    "The program is killed (SIGKILL) between start and end: the contents are there, the acknowledgement is not",
  );
  const killed = runInBackground(stage, "vault get $CARD --verbose", ["get", card, "--verbose"]);
  await Promise.all([killed.until(/Reference/), killed.until(/^acknowledging$/m)]);
  const { signal } = await killed.stop("SIGKILL");
  expectThat(signal === "SIGKILL", "the program was not killed");
  process.stdout.write("Killed\n");

  narrate(
    "Nothing is lost: the old and the new credentials are kept, and the exchange can be finished",
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

await perform(play);
