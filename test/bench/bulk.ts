import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { Store } from "../../src/exchange/ports.ts";
import { defaults } from "../../src/protocol/limits.ts";
import { openService } from "../../src/service/open-service.ts";
import { openShared } from "../../src/store/postgres/open.ts";
import { openStore } from "../../src/store/sqlite/store.ts";
import { createRedactor } from "../../src/terminal/redactor.ts";
import { dataStream } from "../../src/terminal/streams.ts";
import { openWriteAll } from "../../src/terminal/write-all.ts";
import { endFile } from "../support/end-of-file.ts";
import { startServer } from "../support/postgres.ts";
import { readWith, realClock } from "../support/read-with.ts";

/**
 * How many exchanges a second one process runs, each with another vault, many at a time, against a sandbox in a process of its own
 * that has no rate limit: with the state and the contents on this disk, and in memory (/dev/shm), where a sync costs nothing; with
 * `shared` in PostgreSQL, with and without its syncs. Cases take turns, so that whatever else the machine does hits them alike.
 */
const isShared = process.argv.includes("shared");
const [vaultCount = 1000, concurrency = 64, rounds = 3] = process.argv
  .slice(2)
  .filter((word) => word !== "shared")
  .map(Number);
const root = join(import.meta.dirname, "..", "..");
const clock = realClock;
const nothing = (): undefined => undefined;
const ownSignal = new AbortController().signal;

/** A place with a state in it. */
interface Case {
  name: string;
  folder: string;
  store: Store;
  /** Exchanges a second, of each round. */
  rates: number[];
}

const home = mkdtempSync(join(tmpdir(), "vault-bulk-"));
const sandbox = await startSandbox();
const { baseUrl, application } = sandbox.ready;
const serviceName = `${baseUrl}${defaults.apiPrefix}`;
const clients = await openService({
  baseUrl,
  apiPrefix: defaults.apiPrefix,
  application,
  version: "bench",
  timeoutMs: 30_000,
  limit: { rate: 0, clock, reserveSlot: async () => Promise.resolve(0) },
});
const cases = isShared
  ? [await sharedCase("on"), await sharedCase("off")]
  : [localCase("on disk", home), localCase("in memory", "/dev/shm")];

function localCase(where: string, parent: string): Case {
  const folder = mkdtempSync(join(parent, "vault-bulk-"));
  const keySource = { type: "file", path: join(folder, "config", "state.key") } as const;
  const store = openStore({ directory: join(folder, "state"), keySource, clock, platform: process.platform, warn: nothing });
  return { name: `SQLite, ${where}`, folder, store, rates: [] };
}

async function sharedCase(fsync: "on" | "off"): Promise<Case> {
  const folder = mkdtempSync(join(tmpdir(), "vault-bulk-"));
  const config = join(folder, "config");
  const location = `${(await startServer({ fsync })).location("bulk")}${fsync === "off" ? "&durable=assumed" : ""}`;
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, VAULTSVC_CONFIG_DIR: config };
  const args = [join(root, "bin", "vault.js"), "state", "init", "--state", location];
  const { status } = spawnSync(process.execPath, args, { env, stdio: ["ignore", "ignore", "inherit"] });
  if (status !== 0) throw new Error("the shared state cannot be made");
  const keySource = { type: "file", path: join(config, "state.key") } as const;
  const waiting = { deadline: Number.POSITIVE_INFINITY, signal: ownSignal };
  const place = { directory: join(folder, "state"), platform: process.platform, keys: new Map(), waiting };
  const { store } = openShared({ location, env: {}, pid: process.pid, keySource, clock, warn: nothing, learnSecret: nothing, ...place });
  return { name: `PostgreSQL, fsync ${fsync}`, folder, store, rates: [] };
}

interface Ready {
  baseUrl: string;
  application: { uuid: string; apiKey: string };
  vaults: { uuid: string; kind: "generic/offline"; credentials: { encryptedData: string; payload: string } }[];
}

async function startSandbox(): Promise<{ ready: Ready; stop(): Promise<void>; cpuSeconds(): number }> {
  const [seed, readyFile] = [join(home, "seed.json"), join(home, "ready.json")];
  const one = {
    kind: "credit-card/offline",
    creditCard: { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2031 },
  };
  writeFileSync(seed, JSON.stringify(Array.from({ length: vaultCount * 2 }, () => one)));
  const args = ["sandbox", "start", "--rate", "0", "--seed", seed, "--ready-file", readyFile];
  const env = { PATH: process.env["PATH"] ?? "", HOME: home };
  const child = spawn(process.execPath, [join(root, "bin", "vault.js"), ...args], { env, stdio: ["ignore", "ignore", "inherit"] });
  while (!existsSync(readyFile)) await setTimeout(50);
  return {
    ready: JSON.parse(readFileSync(readyFile, "utf8")) as Ready,
    stop: async () => {
      child.kill();
      await once(child, "exit");
    },
    cpuSeconds: () => {
      const [, user = 0, system = 0] =
        /\) (?:\S+ ){11}(\d+) (\d+)/.exec(readFileSync(`/proc/${child.pid}/stat`, "utf8"))?.map(Number) ?? [];
      return (user + system) / 100;
    },
  };
}

/** Does it with each item, as many at a time as the bench says. */
async function each<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      for (const item of left) await work(item);
    }),
  );
}

async function round({ folder, store, rates }: Case, vaults: Ready["vaults"]): Promise<void> {
  const redactor = createRedactor();
  const fd = openSync(join(folder, "out.ndjson"), "a");
  const stdout = dataStream({
    facts: { isTTY: false, columns: 80, color: false },
    signal: nothing,
    openWriter: () => openWriteAll(fd, { sync: true }),
  });
  const began = performance.now();
  await each(vaults, async ({ uuid }) => {
    const secrets = redactor.scope();
    const service = clients({ learnSecret: secrets.add });
    await readWith(
      { store, clock, serviceName, service },
      uuid,
      async (vault) => await stdout.write(`${JSON.stringify({ uuid, vault })}\n`),
    );
    secrets.end();
  });
  rates.push(vaults.length / ((performance.now() - began) / 1000));
}
for (const [n, { store }] of cases.entries()) {
  await each(vaultsOf(n), async ({ uuid, kind, credentials }) => {
    const session = await store.lock(serviceName, uuid, { deadline: clock.elapsed() + 60_000, signal: ownSignal });
    await session.recordPair({ credentials, kind });
    await session.release();
  });
}

/** Each case has vaults of its own: only one state has the pair that the service accepts. */
function vaultsOf(n: number): Ready["vaults"] {
  return sandbox.ready.vaults.slice(n * vaultCount, (n + 1) * vaultCount);
}

const before = { own: process.cpuUsage(), service: sandbox.cpuSeconds() };
for (let n = 0; n < rounds; n += 1) for (const [k, one] of cases.entries()) await round(one, vaultsOf(k));
const { user, system } = process.cpuUsage(before.own);
const exchanges = cases.length * rounds * vaultCount;
const cost = (cpuSeconds: number): string => `${((cpuSeconds * 1000) / exchanges).toFixed(2)} ms`;
const median = ({ rates }: Case): number => rates.toSorted((a, b) => a - b)[Math.floor(rates.length / 2)] ?? Number.NaN;
const fastest = Math.max(...cases.map(median));
for (const one of cases) {
  const all = one.rates.map((rate) => rate.toFixed(0)).join(", ");
  process.stdout.write(
    `${one.name.padEnd(20)} ${median(one).toFixed(0).padStart(6)} exchanges/s  ${(median(one) / fastest).toFixed(2)}  (${all})\n`,
  );
}
process.stdout.write(
  `processor time of an exchange: ${cost((user + system) / 1e6)} here, ${cost(sandbox.cpuSeconds() - before.service)} in the sandbox\n`,
);
await sandbox.stop();
await endFile();
for (const { folder } of cases) rmSync(folder, { recursive: true, force: true });
rmSync(home, { recursive: true, force: true });
process.exit(0);
