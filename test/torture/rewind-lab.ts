import {
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  realpathSync,
  rmSync,
} from "node:fs";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseFault, type Faults } from "../../src/sandbox/faults.ts";
import { Sandbox } from "../../src/sandbox/sandbox.ts";
import { listen } from "../../src/sandbox/server.ts";
import type { State } from "../../src/sandbox/model.ts";
import type { VaultInput } from "../../src/sandbox/seeds.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { machineFor, copyKeys, type Machine, type MachineOptions } from "../support/machine.ts";
import { tempDir, atEndOfFile } from "../support/cleanup.ts";
import { memoryFolder } from "../support/campaign.ts";
import { expectExit } from "../support/lab.ts";
import { disconnected, SchemaCopy } from "../support/shared-state.ts";
import { postgres } from "../support/postgres.ts";

/** A service, and one machine that uses it, which can both be put back to how they were: open exchanges, tokens and all. */
export interface RewindLab {
  /** As much of a sandbox as the checks of test/support/lab.ts ask for. */
  service: {
    sandbox: Sandbox;
    faults: Faults;
    baseUrl: string;
    application: { uuid: string; apiKey: string };
  };
  vault: KnownVault;
  vaults: readonly KnownVault[];
  clock: { ahead: number };
  machine: Machine;
  /** Arms faults in the grammar of `sandbox fault`. */
  faults(...rules: string[]): void;
  /** What the service held, after each of its changes; index 0 is what `rewind` goes back to. */
  history: State[];
  /** Service and machine as they are now are what `rewind` goes back to. */
  keep(): void | Promise<void>;
  rewind(): void | Promise<void>;
  /** A copy of the machine, to be looked at without changing it. */
  aside(): Machine | Promise<Machine>;
}

/** With the state on the machine itself. */
export interface LocalRewindLab extends RewindLab {
  keep(): void;
  rewind(): void;
  aside(): Machine;
  /** Empties the home folder, for another content. */
  clear(): void;
  /** Puts the service alone to what it held at a place of its history. */
  rewindService(held: State): void;
  /** The machine's home folder as `keep` has stored it: to be read only. */
  kept: string;
}

/** The part of a lab that is the service. */
interface RewindService extends Pick<
  RewindLab,
  "service" | "vault" | "vaults" | "clock" | "faults" | "history"
> {
  /** What the service holds now is what it goes back to without an argument. */
  keepService(): void;
  rewindService(held?: State): void;
}

/** The tokens of an exchange that was left live as long as it takes to try all that can come after it. */
const tokenLife = 12 * 3_600_000;

/**
 * The program leaves its connections to the end of its process. Where its commands run in this one they are closed when their files go:
 * thousands of them would slow down each opening. Those elsewhere are none of a lab.
 */
const connections = new Set<DatabaseSync>();
const labs = join(realpathSync(memoryFolder), "vault-rewind-");
const { exec } = DatabaseSync.prototype;
DatabaseSync.prototype.exec = function (sql: string): void {
  if (this.location()?.startsWith(labs) === true) connections.add(this);
  exec.call(this, sql);
};

function closeUnder(folder: string): void {
  for (const connection of connections) {
    if (connection.isOpen && connection.location()?.startsWith(`${folder}/`) !== true) continue;
    if (connection.isOpen) connection.close();
    connections.delete(connection);
  }
}

async function openRewindService(
  seed: readonly VaultInput[],
  tokenTtlMs = tokenLife,
): Promise<RewindService> {
  const clock = { ahead: 0 };
  const history: State[] = [];
  let state: State | undefined;
  const save = (now: State): void => {
    state = now;
    history.push(structuredClone(now));
  };
  const sandbox = new Sandbox({
    now: () => Date.now() + clock.ahead,
    seed,
    policy: { rate: 0, tokenTtlMs },
    save,
  });
  const { faults } = sandbox;
  const server = await listen(sandbox.handle, 0);
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections();
  });

  const service = {
    sandbox,
    faults,
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    application: sandbox.application,
  };
  const [vault] = sandbox.vaults();
  if (vault === undefined) throw new Error("a lab needs a vault");
  let kept = structuredClone(state as State);
  return {
    service,
    vault,
    vaults: sandbox.vaults(),
    clock,
    faults: (...rules) => faults.add(rules.map(parseFault)),
    history,
    keepService: () => {
      kept = structuredClone(state as State);
      history.splice(0, history.length, structuredClone(kept));
    },
    rewindService: (held = kept) => {
      faults.clear();
      Object.assign(state as State, structuredClone(held));
      history.splice(0, history.length, structuredClone(held));
    },
  };
}

/** The same settings in another home folder; where its state and its keys are is not among them. */
function inHome(
  machine: Machine,
  service: RewindLab["service"],
  at: Pick<MachineOptions, "home" | "stateDir">,
): Machine {
  const { HOME: _home, VAULTSVC_STATE: _state, VAULTSVC_CONFIG_DIR: _config, ...env } = machine.env;
  return machineFor(service, { env, ...at });
}

export async function openRewindLab(
  seed: readonly VaultInput[],
  tokenTtlMs?: number,
): Promise<LocalRewindLab> {
  const { keepService, ...served } = await openRewindService(seed, tokenTtlMs);
  const { service, rewindService } = served;
  const folder = tempDir("rewind", memoryFolder);
  const machine = machineFor(service, { home: join(folder, "home") });
  mkdirSync(machine.home, { mode: 0o700 });
  const [kept, beside] = [join(folder, "kept"), join(folder, "aside")];
  /** The file that the database was at `keep`: the program notices another one, and so that it runs on a copy. */
  const [database, keptFile] = [join(machine.stateDir, "vault.db"), join(folder, "vault.db")];

  const clear = (): void => {
    closeUnder(machine.home);
    rmSync(machine.home, { recursive: true, force: true });
  };
  return {
    ...served,
    machine,
    kept,
    keep: () => {
      rmSync(kept, { recursive: true, force: true });
      cpSync(machine.home, kept, { recursive: true, preserveTimestamps: true });
      rmSync(keptFile, { force: true });
      if (existsSync(database)) linkSync(database, keptFile);
      keepService();
    },
    rewind: () => {
      clear();
      // In place: a key file knows the states that were begun with it by their paths.
      cpSync(kept, machine.home, { recursive: true, preserveTimestamps: true });
      if (existsSync(keptFile)) {
        copyFileSync(database, keptFile);
        rmSync(database);
        linkSync(keptFile, database);
      }
      rewindService();
    },
    clear,
    aside: () => {
      closeUnder(beside);
      rmSync(beside, { recursive: true, force: true });
      cpSync(machine.home, beside, { recursive: true, preserveTimestamps: true });
      return inHome(machine, service, { home: beside });
    },
  };
}

interface SharedRewindLab extends RewindLab {
  /** The lab with another machine, which takes over when the one before is dead and its leases are over. */
  elsewhere(): Promise<RewindLab>;
}

let made = 0;

/** A service and a machine with a shared state. */
export async function openSharedRewindLab(seed: readonly VaultInput[]): Promise<SharedRewindLab> {
  const { keepService, rewindService, ...served } = await openRewindService(seed);
  const { location, sql } = await postgres();
  const schema = `rewound_${(made += 1)}`;
  const [kept, beside] = [
    new SchemaCopy(sql, schema, `${schema}_kept`),
    new SchemaCopy(sql, schema, `${schema}_aside`),
  ];
  const folder = tempDir("rewind", memoryFolder);
  const [home, keptHome] = [join(folder, "home"), join(folder, "kept")];
  mkdirSync(home, { mode: 0o700 });
  const machine = machineFor(served.service, { home, stateDir: location(schema) });
  expectExit(await machine.vault("state", "init"), 0);
  expectExit(
    await inHome(machine, served.service, { home, stateDir: location(beside.copy) }).vault(
      "state",
      "init",
    ),
    0,
  );

  /** A home folder of its own, which has nothing but the key. */
  const another = (name: string, at: string): Machine => {
    const other = inHome(machine, served.service, {
      home: join(folder, name),
      stateDir: location(at),
    });
    rmSync(other.home, { recursive: true, force: true });
    copyKeys(machine, other);
    return other;
  };
  const lab: SharedRewindLab = {
    ...served,
    machine,
    keep: async () => {
      await disconnected(sql);
      await kept.take();
      rmSync(keptHome, { recursive: true, force: true });
      cpSync(home, keptHome, { recursive: true, preserveTimestamps: true });
      keepService();
    },
    rewind: async () => {
      await disconnected(sql);
      await kept.putBack();
      rmSync(home, { recursive: true, force: true });
      cpSync(keptHome, home, { recursive: true, preserveTimestamps: true });
      rewindService();
    },
    aside: async () => {
      await beside.take();
      return another("aside", beside.copy);
    },
    elsewhere: async () => {
      await disconnected(sql);
      await sql(
        `UPDATE ${schema}.vaults SET ends_at = '-infinity'; DELETE FROM ${schema}.meta WHERE name = 'closing'`,
      );
      return { ...lab, machine: another("another", schema) };
    },
  };
  return lab;
}
