import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { WholeState } from "../state.ts";
import type { Fence, Marks, Moves } from "./marks.ts";
import { notHere, withPredecessors } from "./marks.ts";
import type { Whole, WholePlace } from "./whole.ts";
import { marksAt } from "./whole.ts";
import { command } from "../../way.ts";

/**
 * Prepares a claim of a state as it is now, and returns what does it. A target of its move that answers gets a mark first, so that
 * whoever comes back from a stall does not finish the move. One that cannot be read is gone for good, whoever claims says; `warn` is
 * told.
 * @throws `state` if the target has the state
 */
export async function prepareClaim(
  from: WholeState,
  placeAt: (location: string) => Promise<WholePlace>,
  warn: (message: string) => void,
): Promise<(waiting: Waiting) => Promise<void>> {
  const seen = await marksAt(from);
  const move = seen?.moved ?? seen?.fence ?? null;
  const isTarget = (marks: Marks): boolean => {
    const isThere = marks.state === move?.target;
    if (isThere && seen !== null && marks.taken.includes(move.move))
      throw notHere(from.shown, seen, true);
    return isThere;
  };
  const to = move && (await answering(move, placeAt, warn));
  const isLeft = to !== null && isTarget(to.marks);
  return async (waiting) => {
    if (isLeft && move !== null)
      await to.place.transact("move", waiting, async (target) => {
        const { canceled } = target.marks;
        if (isTarget(target.marks)) await target.mark({ canceled: [...canceled, move.move] });
      });
    await from.claim(waiting, seen);
  };
}

/** The place to which a state was moved, if it can be read. */
async function answering(
  { to }: Fence,
  placeAt: (location: string) => Promise<WholePlace>,
  warn: (message: string) => void,
): Promise<{ place: WholePlace; marks: Marks } | null> {
  try {
    const place = await placeAt(to);
    const marks = await marksAt(place);
    return marks && { place, marks };
  } catch (error) {
    warn(`whether the state is at ${to} cannot be told: ${asVaultError(error).message}`);
    return null;
  }
}

/** Checks that there is something to claim about a state that is no copy. @throws `usage` */
export function expectMoved(shown: string, seen: Moves | null): asserts seen is Moves {
  if (seen !== null && (seen.fence !== null || seen.moved !== null)) return;
  throw new VaultError(
    "usage",
    `--state: ${shown} is in use; only a shared state (postgres://…), or one that was moved, is claimed`,
    { next: [command`vault state claim --help`] },
  );
}

/**
 * Lets a state be used again as which it was `seen`. Nothing counts as proven, since it may have been used elsewhere, and machines offer
 * here what they have kept of the place that is gone. `now` is in milliseconds since the epoch.
 * @throws `state` if a move has begun or ended since: a claim says nothing of that one
 */
export async function useAgain(
  whole: Whole,
  shown: string,
  seen: Moves | null,
  now: number,
): Promise<void> {
  const { marks } = whole;
  const { fence, moved, copies, doubts } = marks;
  if (fence?.move !== seen?.fence?.move || moved?.move !== seen?.moved?.move)
    throw new VaultError(
      "state",
      `the state ${shown} was moved or claimed meanwhile; nothing was changed`,
      { next: [{ ...command`vault status --state ${shown}`, note: "says where it is" }] },
    );
  const gone = [moved, fence].flatMap((move) => (move === null ? [] : [move.target]));
  await whole.mark({
    fence: null,
    moved: null,
    predecessors: withPredecessors(marks, gone),
    copies: copies + 1,
    doubts: doubts + 1,
  });
  await whole.note("claimed", now, { from: shown });
}
