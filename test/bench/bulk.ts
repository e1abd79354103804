import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import type { StartDocument } from "../../src/documents/sandbox.ts";
import { atEndOfFile, endFile, tempDir } from "../support/cleanup.ts";
import { startServer } from "../support/postgres.ts";

/**
 * What `vault get --all` does in a second, a process of its own against `vault sandbox start` in another: without a rate limit, with
 * the state and the contents on this disk and where a sync costs nothing (in memory; PostgreSQL without fsync), and against a process
 * for each vault; and how much of the default rate it uses. Rates without a limit are of the whole command, from its start to its
 * end; at a limit they are those of the summary. Words among the arguments choose groups, a number is that of the rounds; the cases
 * of a group take turns, so that whatever else the machine does hits them alike.
 */
const memory = "/dev/shm";
const root = join(import.meta.dirname, "..", "..");
const [node, vault] = [process.execPath, join(root, "bin", "vault.js")];
const many = '"$NODE" "$VAULT" get --all -o ndjson > out';

/** Cases that are compared with the first one. */
interface Group {
  vaults: number;
  rounds: number;
  /** Options of the sandbox. */
  sandbox: readonly string[];
  cases: Readonly<
    Record<string, { state: "on disk" | "in memory" | "fsync on" | "fsync off"; command: string }>
  >;
}

const limited = { vaults: 300, rounds: 1 };
const groups: Record<string, Group> = {
  local: {
    vaults: 2000,
    rounds: 5,
    sandbox: ["--rate", "0"],
    cases: {
      "SQLite, in memory": { state: "in memory", command: many },
      "SQLite, on disk": { state: "on disk", command: many },
    },
  },
  shared: {
    vaults: 500,
    rounds: 5,
    sandbox: ["--rate", "0"],
    cases: {
      "PostgreSQL, fsync off": { state: "fsync off", command: many },
      "PostgreSQL, fsync on": { state: "fsync on", command: many },
    },
  },
  xargs: {
    vaults: 100,
    rounds: 3,
    sandbox: ["--rate", "0"],
    cases: {
      "xargs -P8 -n1 vault get": {
        state: "on disk",
        command: 'xargs -P8 -n1 "$NODE" "$VAULT" get --json < vaults > out',
      },
      "vault get --all": { state: "on disk", command: many },
    },
  },
  rate: {
    ...limited,
    sandbox: [],
    cases: {
      "25/s, SQLite": { state: "on disk", command: many },
      "25/s, PostgreSQL": { state: "fsync on", command: many },
    },
  },
  latency: {
    ...limited,
    sandbox: ["--latency", "40ms"],
    cases: {
      "25/s and 40 ms, SQLite": { state: "on disk", command: many },
      "25/s and 40 ms, PostgreSQL": { state: "fsync on", command: many },
    },
  },
};

interface Figures {
  /** Exchanges a second without a limit; requests a second at one. */
  rate: number;
  /** Processor time of the command and its children, in milliseconds. */
  perExchangeMs: number;
  /** Calls beyond the two of each exchange, as after a 429. */
  repeated: number;
}

/** Last line of a run. */
interface Summary {
  calls: number;
  seconds: number;
}

interface Prepared {
  name: string;
  folder: string;
  env: Record<string, string>;
  command: string;
  figures: Figures[];
}

const servers = new Map<string, ReturnType<typeof startServer>>();
let schemas = 0;

/** A new place for a state: a folder, or a schema of a server that all groups share. */
async function placeFor(fsync: "on" | "off"): Promise<string> {
  const server = servers.get(fsync) ?? startServer({ fsync });
  servers.set(fsync, server);
  const location = (await server).location(`bulk_${(schemas += 1)}`);
  return fsync === "off" ? `${location}&durable=assumed` : location;
}

async function startSandbox(count: number, options: readonly string[]): Promise<StartDocument> {
  const home = tempDir("bulk");
  const [seed, readyFile] = [join(home, "seed.json"), join(home, "ready.json")];
  const creditCard = {
    number: "4111111111111111",
    name: "Ada Lovelace",
    expiryMonth: 4,
    expiryYear: 2031,
  };
  writeFileSync(
    seed,
    JSON.stringify(
      Array.from({ length: count }, () => ({ kind: "credit-card/offline", creditCard })),
    ),
  );
  const args = [vault, "sandbox", "start", ...options, "--seed", seed, "--ready-file", readyFile];
  const child = spawn(node, args, {
    env: { PATH: process.env["PATH"] ?? "", HOME: home },
    stdio: ["ignore", "ignore", "inherit"],
  });
  atEndOfFile(async () => {
    child.kill();
    await once(child, "exit");
  });
  while (!existsSync(readyFile)) await setTimeout(50);
  return JSON.parse(readFileSync(readyFile, "utf8")) as StartDocument;
}

/** Makes the states. Each has vaults of its own, because only one state has the pair that the service accepts. */
async function prepare({ vaults, sandbox, cases }: Group): Promise<Prepared[]> {
  const names = Object.keys(cases);
  const { baseUrl, application, vaults: all } = await startSandbox(vaults * names.length, sandbox);
  const prepared: Prepared[] = [];
  for (const [n, [name, { state, command }]] of Object.entries(cases).entries()) {
    const folder = tempDir("bulk", state === "in memory" ? memory : tmpdir());
    const isShared = state === "fsync on" || state === "fsync off";
    const env = {
      PATH: process.env["PATH"] ?? "",
      HOME: folder,
      NODE: node,
      VAULT: vault,
      VAULTSVC_BASE_URL: baseUrl,
      VAULTSVC_APP_UUID: application.uuid,
      VAULTSVC_API_KEY: application.apiKey,
      VAULTSVC_CONFIG_DIR: join(folder, "config"),
      VAULTSVC_STATE: isShared
        ? await placeFor(state === "fsync on" ? "on" : "off")
        : join(folder, "state"),
      ...(sandbox.includes("--rate") ? { VAULTSVC_RATE: "0" } : {}),
    };
    mkdirSync(env.VAULTSVC_CONFIG_DIR, { mode: 0o700 });
    const own = all.slice(n * vaults, (n + 1) * vaults);
    writeFileSync(join(folder, "vaults"), own.map(({ uuid }) => `${uuid}\n`).join(""));
    const lines = own.map(({ uuid, kind, credentials }) =>
      JSON.stringify({ uuid, kind, credentials }),
    );
    writeFileSync(join(folder, "pairs.ndjson"), lines.join("\n"), { mode: 0o600 });
    const run = (...args: string[]): unknown =>
      execFileSync(node, [vault, ...args], { env, stdio: ["ignore", "ignore", "inherit"] });
    if (isShared) run("state", "init");
    run("import", "--file", join(folder, "pairs.ndjson"));
    prepared.push({ name, folder, env, command, figures: [] });
  }
  return prepared;
}

/** `0m1.230000s 0m0.400000s`, in seconds together. */
function secondsOf(times: string): number {
  return [...times.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + Number(minutes) * 60 + Number(seconds),
    0,
  );
}

function measure({ folder, env, command, figures }: Prepared, { vaults, sandbox }: Group): void {
  const began = performance.now();
  const args = ["-c", `${command} && times`];
  const times = execFileSync("/bin/sh", args, {
    cwd: folder,
    env,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  const seconds = (performance.now() - began) / 1000;
  const [children = ""] = times.trimEnd().split("\n").slice(-1);
  const [summary] = readFileSync(join(folder, "out"), "utf8").trimEnd().split("\n").slice(-1);
  const { calls, seconds: sending } =
    command === many ? (JSON.parse(summary ?? "") as Summary) : { calls: vaults * 2, seconds };
  const rate = sandbox.includes("--rate") ? vaults / seconds : calls / sending;
  figures.push({
    rate,
    perExchangeMs: (secondsOf(children) * 1000) / vaults,
    repeated: calls - vaults * 2,
  });
}

function table(cases: readonly Prepared[]): string {
  const median = ({ figures }: Prepared, of: (one: Figures) => number): number =>
    figures.map(of).toSorted((a, b) => a - b)[figures.length >> 1] ?? Number.NaN;
  const [first] = cases;
  return cases
    .map((one) => {
      const rate = median(one, (figures) => figures.rate);
      const ratio = first === undefined ? 1 : rate / median(first, (figures) => figures.rate);
      const cost = median(one, (figures) => figures.perExchangeMs);
      const repeated = one.figures.reduce((sum, figures) => sum + figures.repeated, 0);
      const all = one.figures.map((figures) => figures.rate.toFixed(1)).join(" ");
      return `${one.name.padEnd(27)}${rate.toFixed(1).padStart(7)}${ratio.toFixed(2).padStart(8)}${cost.toFixed(2).padStart(9)}${String(repeated).padStart(10)}  ${all}\n`;
    })
    .join("");
}

const words = process.argv.slice(2);
const rounds = words.map(Number).find((number) => number > 0);
const chosen = words.filter((word) => Object.hasOwn(groups, word));
process.stdout.write("                           a second   ratio  ms each  repeated  rounds\n");
try {
  for (const [name, group] of Object.entries(groups)) {
    if (chosen.length > 0 && !chosen.includes(name)) continue;
    const cases = await prepare(group);
    for (let n = 0; n < (rounds ?? group.rounds); n += 1)
      for (const one of cases) measure(one, group);
    process.stdout.write(table(cases));
  }
} finally {
  await endFile();
}
process.stdout.write(`load of this machine: ${loadavg()[0]?.toFixed(1)}\n`);
process.exit(0);
