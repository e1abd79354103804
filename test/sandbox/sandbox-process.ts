import { demoSeed } from "../../src/sandbox/seeds/seeds.ts";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";

/** Starts a sandbox for a test to kill: `node sandbox-process.ts DATA READY`. Prints its process id once it listens. */
const [dataFolder = "", readyFile = ""] = process.argv.slice(2);
await startSandbox({ now: () => Date.now(), seed: demoSeed, dataFolder, readyFile });
process.stdout.write(`${process.pid}\n`);
