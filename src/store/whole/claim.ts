import { asVaultError, VaultError } from "../../errors.ts";
import type { Waiting } from "../../exchange/ports.ts";
import type { VaultColumns } from "../document.ts";
import { columnsOf, rowsOf } from "../document.ts";
import type { Since } from "../steps/rows.ts";
import { openExchangeOf, update } from "../steps/rows.ts";
import type { Marks } from "./marks.ts";
import { notHere, withPredecessors } from "./marks.ts";
import type { WholePlace } from "./whole.ts";
import { marksAt } from "./whole.ts";
import { command } from "../../way.ts";

/**
 * Lets a state be used again that was moved, or was being moved, to a place that is gone for good: nothing counts as proven, since
 * it may have been used there. `now` is in milliseconds since the epoch.
 * @throws `usage` for a state that is not being moved, `state` if somebody else moves or claims it meanwhile; what `transact` throws
 */
export async function claimMoved(place: WholePlace, waiting: Waiting, now: number): Promise<void> {
  const marks = await marksAt(place);
  if (marks === null || (marks.fence === null && marks.moved === null)) {
    throw new VaultError(
      "usage",
      `--state: ${place.shown} is in use; only a shared state (postgres://…), or one that was moved, is claimed`,
      {
        next: [command`vault state claim --help`],
      },
    );
  }
  await place.transact("claim", waiting, async (whole) => {
    expectUnmoved(place.shown, marks, whole.marks);
    for await (const vaults of whole.vaults())
      await whole.put(
        "vaults",
        vaults.map((row) => unproven(row, whole.marks, now)),
      );
    await whole.note("claimed", now, { from: place.shown });
    await whole.mark(usedAgain(whole.marks));
  });
}

/** The marks of a state that is used again. What machines have kept of the place that is gone, they offer here. */
export function usedAgain(marks: Marks): Pick<Marks, "fence" | "moved" | "predecessors"> {
  const gone = [marks.moved, marks.fence].flatMap((move) => (move === null ? [] : [move.target]));
  return { fence: null, moved: null, predecessors: withPredecessors(marks, gone) };
}

/**
 * Checks that no move has begun or ended since the marks were `seen`: a claim says nothing of that one.
 * @throws `state` if one has
 */
export function expectUnmoved(shown: string, seen: Moves, { fence, moved }: Moves): void {
  if (fence?.move === seen.fence?.move && moved?.move === seen.moved?.move) return;
  throw new VaultError(
    "state",
    `the state ${shown} was moved or claimed meanwhile; nothing was changed`,
    { next: [{ ...command`vault status --state ${shown}`, note: "says where it is" }] },
  );
}

type Moves = Pick<Marks, "fence" | "moved">;

/**
 * Checks that a state that was moved, or is being moved, is not at its new place. Returns what makes sure that a target which answers
 * never takes it. One that cannot be read is gone for good, whoever claims says; `warn` is told.
 * @throws `state` if the target has the state
 */
export async function checkGone(
  from: WholePlace,
  placeAt: (location: string) => Promise<WholePlace>,
  warn: (message: string) => void,
): Promise<(waiting: Waiting) => Promise<void>> {
  const here = await marksAt(from);
  const move = here?.moved ?? here?.fence ?? null;
  const isGone = async (): Promise<void> => await Promise.resolve();
  if (here === null || move === null) return isGone;
  const isThere = ({ state, taken }: Marks): boolean => {
    if (state === move.target && taken.includes(move.move)) throw notHere(from.shown, here, true);
    return state === move.target;
  };
  let to: WholePlace;
  let there: Marks | null;
  try {
    to = await placeAt(move.to);
    there = await marksAt(to);
  } catch (error) {
    warn(`whether the state is at ${move.to} cannot be told: ${asVaultError(error).message}`);
    return isGone;
  }
  if (there === null || !isThere(there)) return isGone;
  // Whoever comes back from a stall must not finish the move.
  return async (waiting) =>
    await to.transact("move", waiting, async (target) => {
      const { canceled } = target.marks;
      if (isThere(target.marks)) await target.mark({ canceled: [...canceled, move.move] });
    });
}

/** A vault that may have been used elsewhere. An open exchange whose token lives stays what it is: its end call asks the service. */
function unproven(row: VaultColumns, since: Since, now: number): VaultColumns {
  const rows = rowsOf({ ...row, at: new Date(now).toISOString() }, row, since);
  for (const pair of rows.credentials) update(pair, { proven: false, elsewhere: true });
  const open = openExchangeOf(rows);
  if (open !== undefined) {
    const isAlive = open.tokenExpiry !== null && Date.parse(open.tokenExpiry) > now;
    update(open, {
      state: isAlive ? open.state : "in-doubt",
      adopted: true,
      endsUnanswered: open.endsUnanswered + 1,
    });
  }
  return columnsOf(rows);
}
