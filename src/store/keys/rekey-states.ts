import type { Clock } from "../../exchange/ports.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { MachineRecord } from "../postgres/machine-record.ts";
import type { Keyring } from "./keyring.ts";
import type { LockedState, Rekeyed, RekeyedStore, RekeyPlan } from "./rekey.ts";
import { rekey } from "./rekey.ts";

interface Options {
  directory: string;
  keySource: KeySource;
  clock: Clock;
  platform: string;
  warn: (message: string) => void;
}

/** Runs `rekey` over stores, each opened once and locked inside the one before. */
export async function rekeyStates(
  { directory, keySource, clock, platform, warn }: Options,
  keyring: Keyring,
  open: (directory: string) => RekeyedStore,
  { waiting, machineDirectory = directory, ...plan }: RekeyPlan,
): Promise<Rekeyed> {
  const stores = new Map<string, RekeyedStore>();
  const storeOf = (path: string): RekeyedStore => {
    const store = stores.get(path) ?? open(path);
    stores.set(path, store);
    return store;
  };
  const lockAll = async <T>(
    paths: readonly string[],
    work: (states: LockedState[]) => Promise<T>,
    locked: LockedState[] = [],
  ): Promise<T> => {
    const [path, ...rest] = paths;
    if (path === undefined) return await work(locked);
    return await storeOf(path).exclusively(
      waiting,
      async (database) => await lockAll(rest, work, [...locked, { directory: path, database }]),
    );
  };
  return await rekey({
    ...plan,
    directory,
    keyring,
    access: keySource.access,
    machine: new MachineRecord({ directory: machineDirectory, platform, clock, warn }),
    lockAll,
    query: async (path, query) => await storeOf(path).using(query),
    at: new Date(clock.now()).toISOString(),
    warn,
  });
}
