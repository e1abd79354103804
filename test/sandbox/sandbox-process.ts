import { demoSeed } from "../../src/sandbox/seeds/seeds.ts";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";

/** A sandbox to be killed: `node sandbox-process.ts DATA READY`; prints its process id once it listens. */
const [dataFolder = "", readyFile = ""] = process.argv.slice(2);
await startSandbox({ now: () => Date.now(), seed: demoSeed, dataFolder, readyFile });
process.stdout.write(`${process.pid}\n`);
