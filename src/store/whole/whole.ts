import type { ContentRow, Contents } from "../contents.ts";
import { VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { SealingKey } from "../../secrets/sealing.ts";

/** Operations on a whole state. */
export type WholeOperation = "claim" | "move" | "rekey" | "restore";

/** A whole state as of one moment. Secrets are open. */
export interface WholeReader {
  readonly marks: Marks;
  /** Whether it has never held anything. */
  isEmpty(): Promise<boolean>;
  /** What it holds, at most 200 vaults at a time; what is not of a vault comes with the first ones. */
  parts(): AsyncIterable<Contents>;
  /** The journal from its beginning, at most 200 entries at a time. */
  journal(): AsyncIterable<ContentRow[]>;
}

/** A whole state in the transaction of an operation: nobody else uses it meanwhile, and who did has lost it. */
export interface Whole extends WholeReader {
  /** Id of the key that seals it, as of now; null if nothing is sealed. */
  readonly keyId: string | null;
  /**
   * Writes what differs, sealed with `key`, or with the key of the state: rows that are sealed with another one differ, too.
   * Returns the number of sealed values that were written.
   * @throws `state` if this machine lacks the key
   */
  write(before: Contents, after: Contents, key?: SealingKey): Promise<number>;
  /** Appends entries to the journal. */
  append(entries: readonly ContentRow[]): Promise<void>;
  /** Records marks; null removes one. A state that has a fence or was moved cannot be used. */
  mark(marks: Partial<Omit<Marks, "state">>): Promise<void>;
}

/** A place where a state can be, on this machine or in a database. Its methods throw `state` if it cannot be used. */
export interface WholePlace {
  /** For messages and marks: a directory, or an address without its password. */
  readonly shown: string;
  /** Reads a snapshot while others go on; null if nothing is there. */
  read<T>(work: (whole: WholeReader) => Promise<T>): Promise<T | null>;
  /**
   * Does the work in one transaction, after who uses a vault has ended. If it throws, nothing is changed. Nobody begins anything
   * meanwhile, and a stall of any length does no harm. Makes a local state if there is none.
   * @throws `busy`, `interrupted`; `state` for one that was moved, unless that is the operation's concern
   */
  transact<T>(
    operation: WholeOperation,
    waiting: Waiting,
    work: (whole: Whole) => Promise<T>,
  ): Promise<T>;
}

/** A move that was begun: from its fence on, nobody uses the state that it leaves. */
export interface Fence {
  /** Id of the move. */
  move: string;
  /** Where to, as in messages, and the id of the state that is there. */
  to: string;
  target: string;
}

/** What a state says of itself, apart from what it holds; in `meta`, by these names. */
export interface Marks {
  /** Its id, made with it. Paths and addresses never say whether two states are the same. */
  state: string;
  /** Ids of the states whose contents came here. */
  predecessors: readonly string[];
  /** A move from here that was begun, and one that has ended. */
  fence: Fence | null;
  moved: Fence | null;
  /** Ids of the moves that came here, and of those that never will. */
  taken: readonly string[];
  canceled: readonly string[];
}

/** The marks in the rows of `meta`. */
export function marksIn(meta: Readonly<Record<string, string | undefined>>): Marks {
  const parsed = <T>(name: keyof Marks, absent: T): T =>
    meta[name] === undefined ? absent : (JSON.parse(meta[name]) as T);
  return {
    state: meta["state"] ?? "",
    predecessors: parsed("predecessors", []),
    fence: parsed("fence", null),
    moved: parsed("moved", null),
    taken: parsed("taken", []),
    canceled: parsed("canceled", []),
  };
}

/** The error for a state that was moved elsewhere, or is just being moved. */
export function notHere(
  place: string,
  { fence, moved }: Pick<Marks, "fence" | "moved">,
): VaultError {
  if (moved !== null) {
    return new VaultError(
      "state",
      `the state ${place} was moved to ${moved.to}; nothing was sent`,
      {
        hint: `vault config set state '${moved.to}' (or --state, VAULTSVC_STATE)`,
      },
    );
  }
  const to = fence?.to ?? "another place";
  return new VaultError(
    "state",
    `the move of the state from ${place} to ${to} was interrupted; nothing was sent`,
    {
      hint: `vault state move --to '${to}' --state '${place}' (finishes it); vault state move --cancel --state '${place}' (cancels it)`,
    },
  );
}
