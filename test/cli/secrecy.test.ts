import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { echoing, startHostileService } from "../support/hostile-service.ts";
import type { Lab } from "../support/lab.ts";
import {
  card,
  expectExit,
  firstGetArgs,
  note,
  offlineCard,
  offlineNote,
  onlineCard,
  openLab,
} from "../support/lab.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import type { RunResult } from "../support/run-vault.ts";
import { Secrets } from "../support/secret-search.ts";
import { keyFileOf, type Machine } from "../support/machine.ts";

/** One machine, its runs good and bad, and all the secrets that passed through them. */
describe("secrets", () => {
  const secrets = new Secrets();
  const runs: { args: string[]; result: RunResult }[] = [];
  let lab: Lab;
  let machine: Machine;

  async function run(args: string[], env: Record<string, string> = {}): Promise<RunResult> {
    const result = await machine.vaultWith({ env }, ...args);
    runs.push({ args, result });
    learn();
    return result;
  }

  /** What the service has handed out so far: each generation of each vault, tokens. */
  function learn(): void {
    for (const { uuid } of lab.service.vaults) {
      const { pair: current, pending } = lab.service.sandbox.inspect(uuid);
      for (const pair of [current, pending?.offered]) {
        secrets.add("encryptedData", pair?.encryptedData);
        secrets.add("payload", pair?.payload);
      }
      secrets.add("token", pending?.token);
    }
  }

  beforeAll(async () => {
    lab = await openLab([offlineNote, offlineCard, onlineCard]);
    machine = lab.machine();
    const [text, offline, online] = lab.service.vaults as [KnownVault, KnownVault, KnownVault];
    secrets.add("api key", lab.service.application.apiKey);
    secrets.add("card number", card.number);
    secrets.add("content", note);
    secrets.add("hashed pin", online.credentials.hashedPin);
    learn();
    const pin = ["--hashed-pin", `@${machine.file("pin", online.credentials.hashedPin)}`];
    const talk = ["--debug", "--verbose"];

    expectExit(await run([...firstGetArgs(machine, text), "--json", ...talk]), 0);
    expectExit(await run([...firstGetArgs(machine, offline), ...talk]), 0);
    expectExit(await run([...firstGetArgs(machine, online), ...pin, "--reveal", ...talk]), 0);
    // Held, so that pair and token of an open exchange are in the state and can be seen by this test.
    for (const { uuid } of lab.service.vaults)
      expectExit(await run(["get", uuid, "--no-ack", "--json", ...talk]), 0);
    for (const { uuid } of lab.service.vaults) await run(["get", uuid, "--json", ...talk]);
    await run(["status", "--json", "--history", ...talk]);
    await run(["ack", text.uuid, ...talk]);
    const faults = "start:delay=1ms start:no-credentials start:garbage start:error-after=502";
    for (const fault of [...faults.split(" "), "end:status=500", "end:cut"]) {
      lab.service.faults.clear();
      lab.faults(fault);
      await run(["get", text.uuid, "--json", "--max-wait", "1s", ...talk]);
      await run(["ack", text.uuid, "--max-wait", "100ms", ...talk]);
    }
    lab.service.faults.clear();
    await run(["guard", text.uuid, "--reset", "--yes", "--json", ...talk]);
    await run(["ack", "--all", "--json", ...talk]);
    await run(["get", text.uuid, ...machine.given(text.credentials), ...talk]);
    // Services that repeat what they are sent.
    for (const [status, property] of [
      [400, "vault.credentials"],
      [500, "x"],
      [400, "externalRef"],
      [418, ""],
      [401, "application"],
    ] as const) {
      const { baseUrl } = await startHostileService(echoing(status, property));
      const at = ["--base-url", baseUrl, "--max-wait", "1s", "--timeout", "5s", ...talk];
      for (const format of [["--json"], []]) {
        const get = firstGetArgs(machine, { ...online, credentials: text.credentials });
        await run([...get, ...pin, "--state", `${machine.home}/echo-state`, ...format, ...at]);
      }
      const recovery = {
        format: 2,
        uuid: offline.uuid,
        kind: offline.kind,
        exchange: { id: "01M7Y4M06TQXZPWE02VC5SW77D", operation: "get", tokenExpiry: null },
        status: "pending",
        old: offline.credentials,
        new: lab.service.sandbox.inspect(offline.uuid).pair,
        token: lab.service.sandbox.inspect(online.uuid).pending?.token ?? "token-of-some-exchange",
      };
      const state = ["--state", `${machine.home}/end-state-${status}`, "--json"];
      await run(["get", offline.uuid, ...machine.given(recovery), ...state, ...at]);
    }
    const bad = `@${machine.file("bad.json", `{"x": "${card.number}`)}`;
    await run(["get", offline.uuid, "--device", bad, ...talk]);
    learn();
  });

  it("were there to be found: each kind of them, in stdout of a get", () => {
    expect(secrets.count).toBeGreaterThan(12);
    const names = runs.flatMap(({ result }) => secrets.in(result.stdout));
    const shown = new Set(names.map((name) => name.split(" ")[0]));
    expect([...shown].sort()).toEqual(["card", "content", "encryptedData", "payload"]);
    const saying = (text: string): number =>
      runs.filter(({ result }) => result.stderr.includes(text)).length;
    expect(saying('"type":"request"')).toBeGreaterThan(15);
    expect(saying("«redacted»")).toBeGreaterThan(3);
  });

  it("are in no stderr: errors, --debug and --verbose, and messages of services that repeat them", () => {
    expect(runs.filter(({ result }) => secrets.in(result.stderr).length > 0)).toEqual([]);
  });

  it("are in no file of the state and of the configuration", () => {
    const folders = readdirSync(machine.home).filter((name) => /state|config/.test(name));
    expect(folders.length).toBeGreaterThan(3);
    expect(folders.flatMap((name) => secrets.inFolder(join(machine.home, name)))).toEqual([]);
    // The key itself is in its file, and nowhere else.
    const found = new Secrets();
    found.add("key", readFileSync(keyFileOf(machine), "utf8").trim());
    expect(found.count).toBeGreaterThan(0);
    expect(found.inFolder(machine.stateDir)).toEqual([]);
    expect(runs.filter(({ result }) => found.in(result.stderr + result.stdout).length > 0)).toEqual(
      [],
    );
  });

  it("are in no exported journal: status and guard show none", async () => {
    for (const args of [["status"], ["status", "--history", "--json"], ["guard", "--json"]]) {
      const { stdout, stderr } = await machine.vault(...args);
      expect(secrets.in(stdout + stderr)).toEqual([]);
    }
  });

  it.skipIf(!existsSync("/proc/self/cmdline"))(
    "are in no command line while the program runs (needs /proc)",
    async () => {
      const vault = lab.service.vaults[0] as (typeof lab.service.vaults)[0];
      const other = lab.machine();
      lab.service.sandbox.unlock(vault.uuid);
      const current = { ...vault, credentials: lab.service.sandbox.inspect(vault.uuid).pair };
      lab.faults("get-start:hang");
      const running = other.start({}, ...firstGetArgs(other, current), "--verbose");
      await running.waitFor(/start \(get\)/, "stderr");
      const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
      const lines = pids.map((pid) => readIfThere(`/proc/${pid}/cmdline`)).join("\n");
      expect(lines).toContain(vault.uuid);
      expect(secrets.in(lines)).toEqual([]);
      running.kill("SIGKILL");
      await running.exit;
    },
  );
});

/** A process may end while it is looked at. */
function readIfThere(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
