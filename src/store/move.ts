import { VaultError } from "../errors.ts";
import type { Waiting } from "../exchange/ports.ts";
import type { Contents } from "./contents.ts";
import { checkSame } from "./contents.ts";
import { notHere } from "./moved.ts";

/** What is at a place. */
export type Standing = "empty" | "active" | { incoming: string } | { moved: string };

/** A place where a state can be, on this machine or in a database. Its methods throw `state` if it cannot be used. */
export interface MovablePlace {
  /** For messages and marks: a directory, or an address without its password. */
  readonly shown: string;
  standing(): Promise<Standing>;
  /**
   * Does the work while nobody else holds a vault.
   * @throws `busy`, `interrupted`
   */
  exclusively<T>(waiting: Waiting, work: () => Promise<T>): Promise<T>;
  /** Returns all that it holds, with its secrets opened. */
  read(): Promise<Contents>;
  /** Takes contents in, durably; unusable until it is activated. What an interrupted move has left is replaced. */
  receive(contents: Contents, from: string): Promise<void>;
  /** Makes it unusable, also for older programs, and records where the state is. */
  markMoved(to: string): Promise<void>;
  activate(): Promise<void>;
}

/**
 * Moves a state (DESIGN, Moving): copy, read back, mark the old place, activate the new one. Killed at any step, it leaves at most one
 * place that can be used; run again, it continues.
 * @throws `state` if there is nothing to move, or something in the way
 */
export async function moveState(from: MovablePlace, to: MovablePlace, waiting: Waiting): Promise<{ vaults: number | null }> {
  const there = await to.standing();
  const here = await from.standing();
  if (from.shown === to.shown) throw new VaultError("usage", "--to: that is where the state is");
  if (typeof there === "object" && "moved" in there) throw notHere(to.shown, there);
  if (typeof here === "object") {
    const isOurs = "moved" in here && here.moved === to.shown;
    if (!isOurs) throw notHere(from.shown, here);
    if (typeof there === "object" && there.incoming === from.shown) await to.exclusively(waiting, async () => await to.activate());
    return { vaults: null };
  }
  if (here !== "active")
    throw new VaultError("state", `there is no state to move: ${from.shown}`, { hint: "--state LOCATION (names another one)" });
  if (there === "active" || (typeof there === "object" && there.incoming !== from.shown)) {
    throw new VaultError("state", `another state is there already: ${to.shown}; nothing was changed`, {
      hint: "name an empty place with --to",
    });
  }
  const copy = async (): Promise<{ vaults: number | null }> => {
    const contents = await from.read();
    await to.receive(contents, from.shown);
    checkSame(contents, await to.read(), to.shown);
    await from.markMoved(to.shown);
    await to.activate();
    return { vaults: contents.vaults.filter(({ forgotten }) => forgotten === 0).length };
  };
  return await from.exclusively(waiting, async () => await to.exclusively(waiting, copy));
}
