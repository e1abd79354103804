import type { Since } from "../steps/rows.ts";
import { VaultError } from "../../errors.ts";
import { command, noted, type Way } from "../../way.ts";

/** A move that was begun: from its fence on, nobody uses the state that it leaves. */
export interface Fence {
  move: string;
  /** Where to, as in messages, and the id of the state that is there. */
  to: string;
  target: string;
}

/** What a state says of itself, apart from what it holds; in `meta`, by these names. */
export interface Marks extends Since {
  /** Its id, made with it. Paths and addresses never say whether two states are the same. */
  state: string;
  /** Id of the key that seals it; null if it has none yet. */
  key: string | null;
  /** A move from it that was begun, and one that has ended. */
  fence: Fence | null;
  moved: Fence | null;
  /** Ids of states whose contents came here, or to which this one moved and that are gone. */
  predecessors: readonly string[];
  /** Ids of the moves that came here, and of those that never will. */
  taken: readonly string[];
  canceled: readonly string[];
}

export function marksIn(meta: Readonly<Record<string, string | undefined>>): Marks {
  const parsed = <T>(name: keyof Marks, absent: T): T =>
    meta[name] === undefined ? absent : (JSON.parse(meta[name]) as T);
  return {
    state: meta["state"] ?? "",
    key: meta["key"] ?? null,
    predecessors: parsed("predecessors", []),
    fence: parsed("fence", null),
    moved: parsed("moved", null),
    taken: parsed("taken", []),
    canceled: parsed("canceled", []),
    copies: parsed("copies", 0),
    doubts: parsed("doubts", 0),
  };
}

type Line = Pick<Marks, "state" | "predecessors">;

/** The predecessors of a state once the contents of another one have come to it. */
export const afterwards = ({ state, predecessors }: Line, other: Line): string[] =>
  [...new Set([...predecessors, other.state, ...other.predecessors])].filter((id) => id !== state);

/** How a move that was begun is ended, either way. */
export const waysToEnd = (place: string, to: string): Way[] => [
  noted(command`vault state move --to ${to} --state ${place}`, "finishes it"),
  noted(command`vault state claim --state ${place}`, "gives it up"),
];

/** The command that goes on with a place, because the other one is gone. */
export const claiming = (place: string): Way =>
  noted(command`vault state claim --state ${place}`, "if the other place is gone for good");

/** @throws `state` for a state that was or is being moved */
export function checkHere(place: string, marks: Marks): void {
  if (marks.fence !== null || marks.moved !== null) throw notHere(place, marks);
}

/** The error for a state that was or is being moved. `isThere`: the new place surely has it. */
export function notHere(place: string, { fence, moved }: Marks, isThere = false): VaultError {
  const to = (moved ?? fence)?.to ?? "another place";
  const unless = "if neither --state nor VAULTSVC_STATE is given";
  const there = noted(command`vault config set state ${to}`, unless);
  const [what, ways]: [string, Way[]] =
    moved === null
      ? [`the move of the state from ${place} to ${to} was interrupted`, waysToEnd(place, to)]
      : [`the state ${place} was moved to ${to}`, [there, claiming(place)]];
  const next = ways.slice(0, isThere ? 1 : 2);
  return new VaultError("state", `${what}; nothing was sent`, { next });
}
