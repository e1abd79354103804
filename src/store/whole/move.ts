import { randomUUID } from "node:crypto";
import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import { marksAt, type StoredWhole, type WholePlace } from "./stored-whole.ts";
import type { Fence, Marks } from "./marks.ts";
import { afterwards, checkHere, claiming, notHere, waysToEnd } from "./marks.ts";
import type { Whole, WholeReader } from "./whole.ts";
import { command, noted } from "../../way.ts";
import { absent, codeOf } from "../postgres/errors.ts";

/**
 * Moves a state: fences it, copies it into the target in one transaction there, and marks it moved.
 * Killed at any step it leaves at most one usable place; run again, it continues. `vaults` is null
 * if another run had copied them.
 * @throws `state` if there is nothing to move, or something in the way; then the state is as it was
 */
export async function moveState(
  from: WholePlace,
  to: WholePlace,
  waiting: Waiting,
): Promise<{ vaults: number | null }> {
  const here = await marksAt(from);
  if (here === null) throw nothingToMove(from.shown);
  const fence = here.moved ?? here.fence ?? (await close(from, to, waiting));
  const rests = async (cause: unknown): Promise<never> => {
    // What its fence means, unless that is open again.
    const left = await marksAt(from).catch(() => ({ fence }));
    if (left?.fence?.move !== fence.move) throw cause;
    const { code, message, facts } = asVaultError(cause);
    const why = `the state ${from.shown} is not used until its move is finished or given up`;
    const next = [...(facts.next ?? []), ...waysToEnd(from.shown, fence.to)];
    throw new VaultError(code, `${message}; ${why}`, { ...facts, next });
  };
  const there = await marksAt(to).catch(rests);
  if (there?.state !== fence.target)
    throw here.moved === null && fence.to === to.shown
      ? notThatOne(from.shown, fence)
      : notHere(from.shown, here);
  if (here.moved !== null) {
    if (!there.taken.includes(fence.move)) throw notThatOne(from.shown, fence);
    return { vaults: null };
  }
  const taking = to.transact("move", waiting, async (whole) => await receive(from, whole, fence));
  const vaults = await taking.catch(rests);
  const isRefused = vaults instanceof VaultError;
  const marking = from.transact("move", waiting, async (whole) => {
    const { fence: own, moved } = whole.marks;
    // A target that refuses does not take this move any more: the state is used as before.
    if (own?.move === fence.move)
      await whole.mark({ fence: null, moved: isRefused ? null : fence });
    else if (!isRefused && moved?.move !== fence.move) throw meanwhile(from.shown);
  });
  await marking.catch(rests);
  if (isRefused) throw vaults;
  return { vaults };
}

/** Fences the state for a move to an empty place, made if need be, so that it has an id. */
async function close(from: WholePlace, to: WholePlace, waiting: Waiting): Promise<Fence> {
  // Before anything is made, and before the key of the target is asked for.
  const about = async (whole: WholeReader) => ({ ...whole.marks, isEmpty: await whole.isEmpty() });
  const [here, there] = [await from.read(about), await to.read(about)];
  if (there !== null && there.state === here?.state)
    throw new VaultError("usage", "--to: the state is already there");
  if (there?.isEmpty === false) throw inTheWay(to.shown);
  if (here?.isEmpty === true) throw nothingToMove(from.shown);
  const target = await to.transact("move", waiting, async ({ marks }) => {
    checkHere(to.shown, marks);
    return await Promise.resolve(marks.state);
  });
  return await from.transact("move", waiting, async (whole) => {
    const { marks } = whole;
    if (marks.moved !== null) throw notHere(from.shown, marks);
    if (marks.fence !== null) return marks.fence;
    // What is fenced must be readable.
    await whole.openAll();
    const fence = { move: randomUUID(), to: to.shown, target };
    await whole.mark({ fence });
    return fence;
  });
}

/**
 * Takes the contents in, unless an earlier run has: returns the number of vaults, or null; or why
 * this move, recorded here as canceled, is never taken.
 */
async function receive(
  from: WholePlace,
  target: Whole,
  fence: Fence,
): Promise<number | VaultError | null> {
  const { marks } = target;
  const { state, taken, canceled } = marks;
  if (state !== fence.target) throw notThatOne(from.shown, fence);
  if (taken.includes(fence.move)) return null;
  if (canceled.includes(fence.move)) return meanwhile(from.shown);
  if (marks.fence !== null || marks.moved !== null || !(await target.isEmpty())) {
    await target.mark({ canceled: [...canceled, fence.move] });
    return inTheWay(fence.to);
  }
  return await from.read(async (source) => {
    if (source.marks.fence?.move !== fence.move) return meanwhile(from.shown);
    const count = await target.takeAll(source);
    const { copies, doubts } = source.marks;
    const predecessors = afterwards(marks, source.marks);
    await target.mark({ taken: [...taken, fence.move], predecessors, copies, doubts });
    return count;
  });
}

/**
 * Prepares a claim of a state as it is, and returns what does it: it is then used though a copy, or
 * moved to a place that is gone. Nothing counts as proven: it may have been used elsewhere;
 * machines offer what they kept of the gone place. A move's target that answers gets a mark first,
 * so that nobody who stalled finishes the move; `warn` is told of one that is absent.
 * @throws `usage` for one in use anyway; `state` if the target has the state, or cannot be read.
 * What it returns throws `busy`, `interrupted`, and `state` if a move has begun or ended since
 */
export async function prepareClaim(
  from: StoredWhole,
  placeAt: (location: string) => Promise<WholePlace>,
  warn: (message: string) => void,
): Promise<(waiting: Waiting) => Promise<void>> {
  const { shown, store } = from;
  const seen = await marksAt(from);
  const move = seen?.moved ?? seen?.fence ?? null;
  if (!store.isShared && move === null)
    throw new VaultError(
      "usage",
      `--state: ${shown} is in use; only a shared state (postgres://…), or one that was moved, is claimed`,
      { next: [command`vault state claim --help`] },
    );
  const checkTaken = ({ taken }: Marks): void => {
    if (seen !== null && move !== null && taken.includes(move.move))
      throw notHere(shown, seen, true);
  };
  const unknown = (error: unknown): null => {
    const { code, message, facts } = asVaultError(error);
    const why = `whether the state is at ${move?.to} cannot be told: ${message}`;
    // What is there may have the vaults.
    const look = "have this machine let in there, to look; or see that nothing is there any more";
    // "Run it again" would not help if it never lets anybody in.
    const hint = facts.retry === "safe" ? look : (facts.hint ?? look);
    if (codeOf(error) !== absent.code)
      throw new VaultError(code, `${why}; nothing was changed`, { ...facts, hint });
    warn(why);
    return null;
  };
  const place = move && (await placeAt(move.to).catch(unknown));
  const there = place && (await marksAt(place).catch(unknown));
  if (there !== null) checkTaken(there);
  return async (waiting) => {
    if (move !== null && there?.state === move.target)
      await place?.transact("move", waiting, async (target) => {
        checkTaken(target.marks);
        await target.mark({ canceled: [...target.marks.canceled, move.move] });
      });
    await from.transact("claim", waiting, async (whole) => {
      const { fence, moved, copies, doubts } = whole.marks;
      if (fence?.move !== seen?.fence?.move || moved?.move !== seen?.moved?.move)
        throw meanwhile(shown);
      const gone = { state: move?.target ?? whole.marks.state, predecessors: [] };
      await whole.mark({
        fence: null,
        moved: null,
        predecessors: afterwards(whole.marks, gone),
        copies: copies + 1,
        doubts: doubts + 1,
      });
      await whole.note({ at: store.time(), event: "claimed", detail: { from: shown } });
    });
  };
}

const nothingToMove = (shown: string): VaultError =>
  new VaultError("state", `there is no state to move: ${shown}`, {
    hint: "--state LOCATION (names another one)",
  });

const inTheWay = (shown: string): VaultError =>
  new VaultError("state", `another state is there already: ${shown}; nothing was changed`, {
    hint: "name an empty place with --to, bring single vaults there, or, if it is a directory, move that aside",
    next: [command`vault help shared-state`],
  });

const meanwhile = (shown: string): VaultError =>
  new VaultError(
    "state",
    `the state ${shown} was moved or claimed meanwhile; nothing was changed`,
    { next: [noted(command`vault status --state ${shown}`, "says where it is")] },
  );

const notThatOne = (shown: string, { to }: Fence): VaultError =>
  new VaultError(
    "state",
    `the state ${shown} was to be moved to ${to}, and the one there now was made anew, or was set back to before the move`,
    { hint: "bring the former one back there", next: [claiming(shown)] },
  );
