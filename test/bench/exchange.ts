import { join } from "node:path";
import { endFile } from "../support/cleanup.ts";
import { secure, startServer } from "../support/postgres.ts";
import { bin, medians, openStage } from "./in-turns.ts";

/**
 * What one exchange over loopback costs, as ratios of medians within one run: with a shared state (PostgreSQL, a proven password, no
 * TLS) against one on this machine, and each against the same exchange by a shell script with curl and jq (left out where one is
 * missing).
 */
const runs = Number(process.argv[2] ?? 40);
const server = await startServer();
await secure(server);
// A password belongs into the environment.
const stage = await openStage({ VAULTSVC_STATE: server.location("bench") });
const [one, two] = stage.vaults;
if (one === undefined || two === undefined) throw new Error("the sandbox has no vaults");
const here = ["--state", join(stage.folder, "state")];
await stage.timed([process.execPath, bin, "state", "init"]);
await stage.begin(one, ...here);
await stage.begin(two);

const [local, team] = ["vault get", "vault get (shared)"];
const cases = {
  [local]: [process.execPath, bin, "get", one.uuid, "--json", ...here],
  [team]: [process.execPath, bin, "get", two.uuid, "--json"],
  ...(stage.script && { "curl and jq": stage.script }),
};
const times = await medians(stage, cases, runs);
const lines = [...times].map(([name, time]) => {
  const against = [local, "curl and jq"].flatMap((other) => {
    const base = times.get(other);
    return base === undefined || other === name ? [] : `${(time / base).toFixed(2)} of ${other}`;
  });
  return `${name.padEnd(20)} ${time.toFixed(1).padStart(7)} ms  ${against.join(", ")}`;
});
process.stdout.write(`${lines.join("\n")}\n`);
await endFile();
await stage.close();
