import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { ensurePrivateDirectory } from "../../files/private-directory.ts";
import { systemCode } from "../../files/state-error.ts";
import type { KnownVault } from "../sqlite/known-vaults.ts";
import type { Incarnation } from "./about.ts";
import { addressHere, isSamePlace } from "./address.ts";

/** What this machine has seen of a shared state the last time. */
export interface SeenState extends Omit<Incarnation, "keyId" | "noted" | "original"> {
  /** As in messages. */
  address: string;
  /** Whether the connection was made with TLS. */
  tls: boolean;
}

/** Where this machine keeps something, and how it tells that it cannot. */
export interface MachinePlace {
  /** The state directory of this machine, where `machineDirectory` names no other. */
  directory: string;
  machineDirectory?: () => string;
  warn: (message: string) => void;
}

/** The folder in the state directory of this machine, with a file for each state, and one for its vaults. */
const folderOf = ({ directory, machineDirectory }: Omit<MachinePlace, "warn">): string =>
  join(machineDirectory?.() ?? directory, "shared");

const [ofState, ofVaults] = [".state.json", ".vaults.json"];

/**
 * What this machine knows of shared states by itself: where they were and how far, and their vaults for completion. It is a hint: a file
 * that is damaged is moved aside, and one that cannot be written is a warning.
 */
export class MachineRecord {
  readonly #folder: string;
  readonly #warn: (message: string) => void;

  constructor(place: MachinePlace) {
    this.#folder = folderOf(place);
    this.#warn = place.warn;
  }

  state(state: string): SeenState | null {
    const path = join(this.#folder, `${state}${ofState}`);
    return readHint<SeenState>(path, ["state", "address", "server"], this.#warn);
  }

  /** All states that this machine has used. */
  states(): SeenState[] {
    return namesIn(this.#folder, ofState).flatMap(
      (name) => this.state(name.slice(0, -ofState.length)) ?? [],
    );
  }

  noteState(seen: SeenState): void {
    this.#write(`${seen.state}${ofState}`, seen);
  }

  /** Notes how far a state had got, if it was noted before. */
  notePosition({ state, position, now }: Pick<SeenState, "now" | "position" | "state">): void {
    const seen = this.state(state);
    if (seen !== null && seen.position < position) this.noteState({ ...seen, position, now });
  }

  /** Notes all vaults that the state lists. */
  noteVaults(state: string, vaults: readonly KnownVault[]): void {
    const name = `${state}${ofVaults}`;
    const path = join(this.#folder, name);
    try {
      if (readFileSync(path, "utf8") === JSON.stringify(vaults)) return;
    } catch {
      // It is written anew.
    }
    this.#write(name, vaults);
  }

  /** Why nothing can be kept, as the system's code; null if it can. */
  unwritable(): string | null {
    let folder = this.#folder;
    while (!existsSync(folder)) folder = dirname(folder);
    try {
      accessSync(folder, constants.W_OK | constants.X_OK);
      return null;
    } catch (error) {
      return String(systemCode(error));
    }
  }

  #write(name: string, record: unknown): void {
    try {
      ensurePrivateDirectory(this.#folder);
      const path = join(this.#folder, name);
      const temporary = `${path}.${crypto.randomUUID()}`;
      writeFileSync(temporary, JSON.stringify(record), { mode: 0o600 });
      renameSync(temporary, path);
    } catch (error) {
      this.#warn(
        `what this machine has seen of the shared state could not be written: ${(error as Error).message}`,
      );
    }
  }
}

/** Reads a file of JSON that has these texts; null if there is none. One that is damaged is moved aside, with a warning. */
export function readHint<T extends object>(
  path: string,
  texts: readonly (keyof T)[],
  warn: (message: string) => void,
): T | null {
  if (!existsSync(path)) return null;
  try {
    const hint = JSON.parse(readFileSync(path, "utf8")) as T | null;
    if (hint !== null && texts.every((name) => typeof hint[name] === "string")) return hint;
    throw new Error("a part of it is missing");
  } catch (error) {
    warn(setAside(path, error));
    return null;
  }
}

/** Names in a folder with an ending; none where it cannot be read. */
export function namesIn(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith(ending));
  } catch {
    return [];
  }
}

/** Gives a file that is of no use another name, if that is possible. Returns a warning. */
export function setAside(path: string, error: unknown): string {
  const what = `${path} cannot be used (${(error as Error).message})`;
  try {
    renameSync(path, `${path}.damaged`);
    return `${what}, and is ${path}.damaged now`;
  } catch {
    return what;
  }
}

/**
 * The vaults of a shared state that this machine has seen, for completion: no connection is made. Changes nothing.
 * @throws `usage` for an address that cannot be used; what the file system or `JSON.parse` throws
 */
export function readKnownShared(
  directory: string,
  location: string,
  env: Readonly<Record<string, string | undefined>>,
): KnownVault[] {
  const { shown } = addressHere(location, env, () => undefined);
  const folder = folderOf({ directory });
  // What others can write is not believed.
  if (!existsSync(folder) || (statSync(folder).mode & 0o022) !== 0) return [];
  const read = (name: string): unknown => JSON.parse(readFileSync(join(folder, name), "utf8"));
  return namesIn(folder, ofVaults)
    .filter((name) => {
      const { address } = read(name.replace(ofVaults, ofState)) as SeenState;
      return isSamePlace(address, shown);
    })
    .flatMap((name) => read(name) as KnownVault[])
    .toSorted((a, b) => (orderOf(a) < orderOf(b) ? -1 : 1));
}

/** Labels come first. */
const orderOf = ({ label, uuid }: KnownVault): string =>
  label === null ? `2 ${uuid}` : `1 ${label}`;
