import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { Keyring } from "../keys/keyring.ts";
import type { Holder } from "../state.ts";
import type { Address } from "./address.ts";
import type { Database } from "./database.ts";
import type { DatabaseClock } from "./database-clock.ts";
import type { MachineRecord } from "./machine-record.ts";

export interface SharedStoreOptions {
  address: Address;
  keySource: KeySource;
  clock: Clock;
  holder: Holder;
  warn: (message: string) => void;
  /** Cached keys by id, shared by everything in one run. */
  keys?: Map<string, SealingKey>;
  /** The state directory of this machine, for what it keeps by itself. */
  directory: string;
  /** As Node names it. */
  platform: string;
  /** How long the command waits. */
  waiting?: Waiting;
  /** The database's clock; by default estimated from its answers. */
  time?: Pick<DatabaseClock, "isKnown" | "latencyMs" | "note" | "now" | "took" | "tookLogin">;
}

/** What everything that works on a shared state needs. */
export interface SharedParts extends Omit<
  SharedStoreOptions,
  "address" | "keys" | "platform" | "time" | "waiting"
> {
  schema: string;
  database: Database;
  keyring: Keyring;
  machine: MachineRecord;
}
