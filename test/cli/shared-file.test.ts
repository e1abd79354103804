import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { killHook } from "../support/crash.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  firstGetArgs,
  note,
  offlineCard,
  card,
  offlineNote,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { errorOf, pairIn, readJson, type Machine, type Recovery } from "../support/machine.ts";
import type { RunningVault, RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

/** A vault, and a volume whose file holds its credentials: all that outlives a container. */
interface Volume {
  lab: Lab;
  file: string;
  /** A container with an empty home, which reads the credentials from the file and leaves the next ones there. */
  start(env?: Record<string, string>, ...more: string[]): RunningVault;
  run(...more: string[]): Promise<RunResult>;
}

async function openVolume(name = "volume"): Promise<Volume> {
  const lab = await openLab([offlineNote, offlineNote]);
  const { uuid, kind, credentials } = lab.vault;
  const file = join(tempDir(name), "shared.json");
  writeFileSync(file, `${JSON.stringify(credentials)}\n`);
  const given = ["--kind", kind, "--credentials", `@${file}`];
  const args = ["get", uuid, ...given, "--credentials-out", file, "--json"];
  const start = (env: Record<string, string> = {}, ...more: string[]): RunningVault =>
    lab.machine().start({ env }, ...args, ...more);
  return { lab, file, start, run: async (...more) => await start({}, ...more).exit };
}

/** Without probes, which name no vault. */
const requests = ({ lab }: Volume): number =>
  lab.service.sandbox.requests().filter(({ uuid }) => uuid === lab.vault.uuid).length;
const arrived = async (volume: Volume, count: number): Promise<void> =>
  await vi.waitFor(() => expect(requests(volume)).toBe(count), { timeout: 20_000, interval: 10 });

/** The file, and nothing but it, holds what the service accepts, and a container goes on from it. */
async function expectLive(volume: Volume): Promise<void> {
  const { lab, file } = volume;
  expect(lab.service.sandbox.accepts(lab.vault.uuid, pairIn(file))).toBe(true);
  const next = await volume.run();
  expectExit(next, 0);
  expect(JSON.parse(next.stdout)).toMatchObject({ vault: { content: note } });
  expect(readdirSync(join(file, ".."))).toEqual([".shared.json.vault-lock", "shared.json"]);
  expectFarFromLock(lab, lab.vault.uuid);
}

describe.concurrent(
  "two containers at once on one file: the second one begins with what the first one leaves",
  () => {
    it.each([
      ["the start answer of the first is slow", "get-start:delay=2500ms", 1],
      ["the end call of the first is slow", "get-end:delay=2500ms", 2],
    ])("%s", async (_, fault, seen) => {
      const volume = await openVolume();
      volume.lab.faults(fault);
      const first = volume.start();
      await arrived(volume, seen);
      const second = volume.run();
      expectExit(await first.exit, 0);
      expectExit(await second, 0);
      expect(volume.lab.service.sandbox.inspect(volume.lab.vault.uuid).counts).toMatchObject({
        starts: 2,
        acknowledged: 2,
        failed: 0,
      });
      await expectLive(volume);
    });

    it.each([1, 2])(
      "the first one is stopped before it writes the file for time %i: the second waits, or says busy",
      async (time) => {
        const volume = await openVolume();
        const whole = join(tempDir("steps"), "log");
        const hook = { NODE_OPTIONS: `--require=${killHook}`, KILL_LOG: whole };
        const other = await openVolume();
        expectExit(await other.start({ ...hook, KILL_AT: "0" }).exit, 0);
        const steps = readFileSync(whole, "utf8").split("\n");
        const renames = steps.flatMap((name, index) => (name === "renameSync" ? [index + 1] : []));
        expect(renames).toHaveLength(2);
        const at = renames[time - 1];
        const first = volume.start({ ...hook, KILL_AT: String(at), KILL_SIGNAL: "SIGSTOP" });
        const isStopped = (): void => expect(stateOf(first.pid)).toBe("T");
        await vi.waitFor(isStopped, { timeout: 20_000, interval: 10 });
        const before = requests(volume);
        const busy = await volume.run("--max-wait", "200ms");
        expectError(busy, "busy", /another run is using .*shared\.json.*nothing was sent/);
        expect(requests(volume)).toBe(before);
        const second = volume.run();
        first.kill("SIGCONT");
        expectExit(await first.exit, 0);
        expectExit(await second, 0);
        await expectLive(volume);
      },
    );
  },
);

/** As /proc has it: T is stopped. */
const stateOf = (pid: number): string =>
  /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, "utf8"))?.[1] ?? "";

describe.concurrent(
  "a file that something else replaces while a run is under way is left as it is",
  () => {
    const others = '{"encryptedData":"of another program","payload":"which holds no lock"}\n';

    it("before the acknowledgement: held, 11, and it says how to go on", async () => {
      const volume = await openVolume();
      volume.lab.faults("get-start:delay=1s");
      const run = volume.start();
      await arrived(volume, 1);
      writeFileSync(volume.file, others);
      const result = await run.exit;
      expectError(result, "pending", /shared\.json was replaced by another run or program/);
      expect(errorOf(result).help).toContain(
        `--credentials @${volume.file} --credentials-out ${volume.file}`,
      );
      expect(volume.lab.service.sandbox.inspect(volume.lab.vault.uuid).counts).toMatchObject({
        starts: 1,
        ends: 0,
      });
      expect(readFileSync(volume.file, "utf8")).toBe(others);
    });

    it("after the acknowledgement: a warning", async () => {
      const volume = await openVolume();
      volume.lab.faults("get-end:delay=1s");
      const run = volume.start();
      await arrived(volume, 2);
      writeFileSync(volume.file, others);
      const result = await run.exit;
      expectExit(result, 0);
      expect(result.stderr).toMatch(
        /the exchange is acknowledged, but .*shared\.json was replaced by another run or program/,
      );
      expect(readFileSync(volume.file, "utf8")).toBe(others);
    });
  },
);

describe.concurrent(
  "a file that must not be replaced is refused before anything is sent, and stays",
  () => {
    const pair = { encryptedData: "ZW5j", payload: "cGF5" };
    const document = (uuid: string) => ({
      format: 2,
      uuid,
      kind: "generic/offline",
      exchange: { id: "01KDGQ1R8Z4T6WQ0S3VHX9BNMA", operation: "get", tokenExpiry: null },
      status: "pending",
      old: pair,
      new: { encryptedData: "bmV3", payload: "cGF6" },
      token: "dG9r",
    });
    const other = "123e4567-e89b-42d3-a456-426614174000";
    const own =
      /holds credentials that this state does not know; it may be their only copy; nothing was sent/;

    it.each<[string, (uuid: string) => unknown, RegExp]>([
      [
        "another vault's credentials",
        () => ({ format: 2, uuid: other, kind: "generic/offline", credentials: pair }),
        new RegExp(other),
      ],
      ["another vault's recovery document", () => document(other), new RegExp(other)],
      [
        "credentials of this vault that the state does not know",
        (uuid) => ({ format: 2, uuid, kind: "generic/offline", credentials: pair }),
        own,
      ],
      ["a recovery document of this vault that the state does not know", document, own],
      ["credentials of nobody knows which vault", () => pair, own],
      [
        "a document of a later format",
        (uuid) => ({ ...document(uuid), format: 3 }),
        /reads documents up to format 2/,
      ],
      [
        "something else",
        () => ({ my: "settings" }),
        /is missing.*it is not replaced; nothing was sent/,
      ],
      ["no JSON", () => "my notes", /not valid JSON; it is not replaced; nothing was sent/],
    ])("%s", async (_, content, message) => {
      const { lab, machine, uuid } = await warmLab(offlineNote);
      const file = machine.file("out.json", content(uuid));
      const before = readFileSync(file, "utf8");
      for (const more of [[], ["--dry-run"]]) {
        const get = ["get", uuid, "--json", "--credentials-out", file, ...more];
        const refused = await machine.vault(...get);
        expectError(refused, "invalid-input", message);
        if (message === own)
          expect(errorOf(refused).help).toContain(`vault get ${uuid} --credentials @${file}`);
      }
      expect(lab.service.sandbox.requests()).toHaveLength(2);
      expect(readFileSync(file, "utf8")).toBe(before);
    });

    it("another vault's, although its credentials were imported here by mistake", async () => {
      const { lab, machine, uuid } = await warmLab(offlineNote);
      const document = { format: 2, uuid: other, kind: "generic/offline", credentials: pair };
      const file = machine.file("out.json", document);
      const before = readFileSync(file, "utf8");
      await machine.ok("import", uuid, "--credentials", JSON.stringify(pair));
      const out = ["--credentials-out", file];
      for (const given of [[], ["--credentials", JSON.stringify(pair)]]) {
        const refused = await machine.vault("get", uuid, "--json", ...given, ...out);
        expectError(refused, "invalid-input", new RegExp(other));
      }
      expect(lab.service.sandbox.requests()).toHaveLength(2);
      expect(readFileSync(file, "utf8")).toBe(before);
    });

    it("what the state knows is replaced, by whichever exchange it is of", async () => {
      const { lab, machine, uuid } = await warmLab(offlineNote);
      const file = join(machine.home, "out.json");
      const get = async (...more: string[]): Promise<RunResult> =>
        await machine.vault("get", uuid, "--json", ...more);
      expectExit(await get("--credentials-out", file), 0);
      const superseded = readFileSync(file, "utf8");
      expectExit(await get("--credentials-out", file), 0);
      expectExit(await get("--no-ack", "--credentials-out", file), 0);
      expect(readJson(file)).toMatchObject({ status: "pending" });
      expectExit(await get("--discard-pending", "--credentials-out", file), 0);
      writeFileSync(file, superseded);
      expectExit(await get("--credentials-out", file), 0);
      expect(lab.service.sandbox.accepts(uuid, pairIn(file))).toBe(true);
    });
  },
);

describe.concurrent("counters are kept in a state, and not in a file", () => {
  it("those that an earlier version wrote into it count nothing", async () => {
    const volume = await openVolume();
    const { uuid, kind, credentials } = volume.lab.vault;
    const attempts = { unackedStarts: 4, failedAttempts: 2, possiblyFailed: 0, refused: [] };
    const document = { format: 2, uuid, label: "checkout", kind, credentials };
    writeFileSync(volume.file, JSON.stringify({ ...document, attempts }));
    expectExit(await volume.run(), 0);
    expect(readJson(volume.file)).toEqual({ ...document, credentials: pairIn(volume.file) });
    await expectLive(volume);
  });

  it.each([
    ["--credentials-out", "FILE"],
    ["--credentials-out", "other.json"],
    ["--save-cmd", "cat >/dev/null"],
  ])("where they are kept is told with %s %s, once a new state begins", async (flag, value) => {
    const { lab, file } = await openVolume();
    const { uuid, kind } = lab.vault;
    const machine = lab.machine();
    const out = [flag, value.replace("FILE", file)];
    const first = ["get", uuid, "--kind", kind, "--credentials", `@${file}`, ...out];
    const warned = await machine.ok(...first);
    expect(warned.stderr).toBe(
      `vault: warning: counters toward lockout are kept only in a state, and ${machine.stateDir} is new; runs that begin with a new one each time can lock the vault: --state DIR names one that stays\n`,
    );
    const more = value === "FILE" ? ["--credentials", `@${file}`] : [];
    const second = await machine.vault("get", uuid, ...more, ...out);
    expect(second).toMatchObject({ code: 0, stderr: "" });
  });
});

describe.concurrent("given credentials that a new state has replaced", () => {
  const told = (machine: Machine): RegExp =>
    new RegExp(
      `^vault: warning: the credentials given no longer work; the new ones are only in ${machine.stateDir}, which this command has made$`,
      "m",
    );
  it.each(["get", "update"])(
    "%s says that they are of no use, and where the new ones are",
    async (operation) => {
      const { lab, machine, uuid } = await coldLab(offlineCard);
      const [, ...given] = firstGetArgs(machine, lab.vault);
      const contents = operation === "update" ? ["--card", `@${machine.file("card", card)}`] : [];
      const first = await machine.ok(operation, ...given, ...contents);
      expect(first.stderr).toMatch(told(machine));
      expect(first.stderr).toContain("next: vault export --all (prints them");
      const second = await machine.vault("get", uuid, "--json");
      expect(second).toMatchObject({ code: 0, stderr: "" });
    },
  );

  it("so does a run of many, once for all", async () => {
    const { lab, machine } = await coldLab([offlineNote, offlineNote]);
    const lines = lab.service.vaults.map(({ uuid, kind, credentials }) =>
      JSON.stringify({ uuid, kind, credentials }),
    );
    const from = machine.file("from", lines.join("\n"));
    const first = await machine.ok("get", "--from", from, "-o", "ndjson");
    expect(first.stderr.split("warning:")).toHaveLength(2);
    expect(first.stderr).toMatch(told(machine));
  });

  it("nothing is said where nothing was replaced, or another vault was there before", async () => {
    const lab = await openLab([offlineNote, offlineNote]);
    const [one, two] = lab.service.vaults as [KnownVault, KnownVault];
    const machine = lab.machine();
    for (const args of [[...firstGetArgs(machine, one), "--no-ack"], firstGetArgs(machine, two)])
      expect(await machine.vault(...args, "--json")).toMatchObject({ code: 0, stderr: "" });
  });
});

describe.concurrent("documents", () => {
  it("format 2 after the acknowledgement names vault and kind: a fresh machine needs no more, and no other vault takes it", async () => {
    const volume = await openVolume();
    const { lab, file } = volume;
    expectExit(await volume.run(), 0);
    const other = lab.service.vaults[1]?.uuid ?? "";
    const before = requests(volume);
    const given = ["--kind", "generic/offline", "--credentials", `@${file}`, "--json"];
    for (const command of ["get", "import"]) {
      const wrong = await lab.machine().vault(command, other, ...given);
      expectError(wrong, "invalid-input", new RegExp(lab.vault.uuid));
    }
    expect(requests(volume)).toBe(before);
    const machine = lab.machine();
    await machine.ok("import", lab.vault.uuid, "--credentials", `@${file}`);
    await machine.ok("get", lab.vault.uuid);
  });

  it("with a token expiry that cannot be read is settled within --max-wait", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack", "--save-cmd", "cat > document.json");
    const saved = readJson(join(machine.home, "document.json")) as Recovery;
    const document = { ...saved, exchange: { ...saved.exchange, tokenExpiry: "soon" } };
    lab.faults("get-end:drop-before*all");
    const before = lab.service.sandbox.requests().length;
    const given = [...machine.given(document), "--max-wait", "300ms", "--json"];
    const result = await lab.machine().vault("import", uuid, ...given);
    expectError(result, "pending");
    expect(lab.service.sandbox.requests().length - before).toBeLessThan(5);
  });
});
