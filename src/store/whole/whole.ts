import type { Waiting } from "../../exchange/ports.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { ContentRow, Contents } from "../contents.ts";
import { joined } from "../contents.ts";
import type { Marks } from "./marks.ts";

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

/** All that a state holds, but for its journal. */
export async function readWhole(whole: WholeReader): Promise<Contents> {
  const parts = [];
  for await (const part of whole.parts()) parts.push(part);
  return joined(parts);
}
