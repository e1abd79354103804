import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, test } from "vitest";
import type { RunningDocument } from "../../src/sandbox/control.ts";
import { demoSeed } from "../../src/sandbox/seeds.ts";
import { Bench, wrongPair } from "./support.ts";
import { tempDir } from "../support/cleanup.ts";

const node = path.resolve(import.meta.dirname, "../../node_modules/.bin/node");
/** A sandbox for a test to kill, with its arguments DATA and READY. Prints its process id once it listens. */
const sandboxProcess = `
import { demoSeed } from "../../src/sandbox/seeds.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
const [, dataFolder, readyFile] = process.argv;
await startSandbox({ now: () => Date.now(), seed: demoSeed, dataFolder, readyFile });
process.stdout.write(process.pid + "\\n");`;

describe("a data folder", () => {
  test("keeps vaults, pending exchanges, counters, audit and application", () => {
    const dataFolder = path.join(tempDir(), "data");
    const first = new Bench({ dataFolder, seed: demoSeed });
    const vault = first.offline();
    const { transactionToken, vault: given } = first.start(vault, "update").body;
    first.startWith(vault, wrongPair);
    const before = first.sandbox.inspect(vault.uuid);
    const audit = [...first.sandbox.audit()];
    first.close();
    const file = path.join(dataFolder, "sandbox.json");
    // As 0.2.0 writes it.
    const nulls = '"hashedPin":null,"content":null,"kind":';
    fs.writeFileSync(file, fs.readFileSync(file, "utf8").replaceAll('"kind":', nulls));

    const second = new Bench({ dataFolder, seed: [] });
    expect(second.sandbox.application).toEqual(first.sandbox.application);
    expect(second.sandbox.inspect(vault.uuid)).toEqual(before);
    expect(second.sandbox.audit()).toEqual(audit);
    expect(second.sandbox.vaults()).toHaveLength(6);
    expect(second.end(vault, transactionToken.token, "update").status).toBe(200);
    expect(second.sandbox.accepts(vault.uuid, given.credentials)).toBe(true);
    second.close();

    const third = new Bench({ dataFolder });
    expect(third.sandbox.accepts(vault.uuid, given.credentials)).toBe(true);
    expect(third.offline().uuid).not.toBe(vault.uuid);
    third.sandbox.reset();
    expect(third.sandbox.vaults()).toHaveLength(5);
    third.close();
  });

  test("is private, and holds what a call has changed", () => {
    const dataFolder = path.join(tempDir(), "data");
    const bench = new Bench({ dataFolder });
    const vault = bench.offline();
    const file = path.join(dataFolder, "sandbox.json");
    expect(fs.statSync(dataFolder).mode & 0o777).toBe(0o700);
    for (const name of fs.readdirSync(dataFolder))
      expect(fs.statSync(path.join(dataFolder, name)).mode & 0o777).toBe(0o600);
    bench.start(vault);
    expect(fs.readFileSync(file, "utf8")).toContain(
      bench.sandbox.inspect(vault.uuid).pending?.token,
    );
    bench.close();
  });

  test("is used by one sandbox at a time", () => {
    const dataFolder = tempDir();
    const bench = new Bench({ dataFolder });
    expect(() => new Bench({ dataFolder })).toThrow(expect.objectContaining({ code: "busy" }));
    bench.close();
    new Bench({ dataFolder }).close();
  });

  test("that is damaged, newer or unusable is refused and left as it is", () => {
    const dataFolder = tempDir();
    const bench = new Bench({ dataFolder });
    bench.offline();
    bench.close();
    const file = path.join(dataFolder, "sandbox.json");
    const good = fs.readFileSync(file, "utf8");
    const damaged = [good.slice(0, -10), "", "{}", good.replace('"version":1', '"version":2')];
    for (const text of damaged) {
      fs.writeFileSync(file, text);
      expect(() => new Bench({ dataFolder })).toThrow(expect.objectContaining({ code: "state" }));
      expect(fs.readFileSync(file, "utf8")).toBe(text);
    }
    fs.writeFileSync(file, good);
    new Bench({ dataFolder }).close();
    expect(() => new Bench({ dataFolder: path.join(file, "below") })).toThrow(
      expect.objectContaining({ code: "state" }),
    );
  });

  test("a change that cannot be saved is not answered with success", () => {
    const dataFolder = path.join(tempDir(), "data");
    const bench = new Bench({ dataFolder });
    const vault = bench.offline();
    fs.rmSync(path.join(dataFolder, "sandbox.json"));
    fs.mkdirSync(path.join(dataFolder, "sandbox.json"));
    const answer = bench.start(vault);
    expect(answer.status).toBe(500);
    expect(answer.body).not.toHaveProperty("vault");
    bench.close();
  });
});

test("kill -9 in the middle of an exchange: the next sandbox goes on where it was", async () => {
  const folder = tempDir();
  const [dataFolder, readyFile] = [path.join(folder, "data"), path.join(folder, "ready.json")];
  const first = await spawnSandbox(dataFolder, readyFile);
  const vault = first.ready.vaults[1];
  if (vault === undefined) throw new Error("no vault");
  const target = (baseUrl: string, step: string) =>
    `${baseUrl}/vaultsvc/v1-2/vault/${vault.kind}/${vault.uuid}/${step}`;
  const { application } = first.ready;
  const body = JSON.stringify({ application, vault: { credentials: vault.credentials } });
  const started = await fetch(target(first.ready.baseUrl, "get-start"), { method: "POST", body });
  const { transactionToken, vault: given } = (await started.json()) as {
    transactionToken: { token: string };
    vault: { credentials: object };
  };
  await first.kill();

  const second = await spawnSandbox(dataFolder, readyFile);
  expect(second.ready.application).toEqual(application);
  expect(second.ready.vaults[1]).toEqual(vault);
  const headers = { "x-application-uuid": application.uuid, "x-api-key": application.apiKey };
  const ended = await fetch(target(second.ready.baseUrl, "get-end"), {
    method: "PUT",
    headers,
    body: JSON.stringify({ token: transactionToken.token }),
  });
  expect(ended.status).toBe(200);
  await second.kill();

  const third = await spawnSandbox(dataFolder, readyFile);
  expect(third.ready.vaults[1]).toEqual({ ...vault, credentials: given.credentials });
  await third.kill();
});

/** Starts a sandbox in another process; resolves once it listens. */
async function spawnSandbox(
  dataFolder: string,
  readyFile: string,
): Promise<{ ready: RunningDocument; kill(): Promise<void> }> {
  const started = spawn(
    node,
    ["--input-type=module", "--eval", sandboxProcess, dataFolder, readyFile],
    {
      cwd: import.meta.dirname,
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const exited = new Promise<void>((resolve) => started.once("exit", () => resolve()));
  const lines = createInterface({ input: started.stdout })[Symbol.asyncIterator]();
  const pid = Number((await lines.next()).value);
  return {
    ready: JSON.parse(fs.readFileSync(readyFile, "utf8")) as RunningDocument,
    kill: async () => {
      process.kill(pid, "SIGKILL");
      await exited;
    },
  };
}
