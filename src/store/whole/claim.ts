import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { WholeState } from "../state.ts";
import type { Fence, Marks } from "./marks.ts";
import { notHere, withPredecessors } from "./marks.ts";
import type { WholePlace } from "./whole.ts";
import { marksAt } from "./whole.ts";
import { command, noted } from "../../way.ts";

/**
 * Prepares a claim of a state as it is, and returns what does it: it is then used though a copy, or
 * moved to a place that is gone. Nothing counts as proven: it may have been used elsewhere;
 * machines offer what they kept of the gone place. A move's target that answers gets a mark first,
 * so that nobody who stalled finishes the move. An unreadable one counts as gone; `warn` is told.
 * @throws `usage` for one in use anyway; `state` if the target has the state. What it returns
 * throws `busy`, `interrupted`, and `state` if a move has begun or ended since
 */
export async function prepareClaim(
  from: WholeState,
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
  const isTarget = (marks: Marks): boolean => {
    const isThere = marks.state === move?.target;
    if (isThere && seen !== null && marks.taken.includes(move.move))
      throw notHere(shown, seen, true);
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
    await from.transact("claim", waiting, async (whole) => {
      const { fence, moved, copies, doubts } = whole.marks;
      if (fence?.move !== seen?.fence?.move || moved?.move !== seen?.moved?.move)
        throw new VaultError(
          "state",
          `the state ${shown} was moved or claimed meanwhile; nothing was changed`,
          { next: [noted(command`vault status --state ${shown}`, "says where it is")] },
        );
      const gone = [moved, fence].flatMap((each) => each?.target ?? []);
      const predecessors = withPredecessors(whole.marks, gone);
      await whole.mark({
        fence: null,
        moved: null,
        predecessors,
        copies: copies + 1,
        doubts: doubts + 1,
      });
      await whole.note("claimed", store.now(), { from: shown });
    });
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
