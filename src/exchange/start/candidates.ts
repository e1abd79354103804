import { VaultError } from "../../errors.ts";
import { command } from "../../way.ts";
import type { Generation, VaultRecord } from "../records.ts";

const live = (generation: Generation): boolean =>
  ["current", "imported", "offered"].includes(generation.standing);

/** The pairs that are current, imported or offered, newest first. */
export const liveGenerations = (record: VaultRecord): Generation[] =>
  record.generations.filter(live);

export const currentGeneration = (record: VaultRecord): Generation | undefined =>
  record.generations.find((g) => g.standing === "current");

/**
 * The pairs that may be valid, in the order in which to try them: imported since the last proof, a successor of the current pair
 * first; those of an exchange in doubt, the new one first if an end call may have been sent; the current one; older ones. While
 * an exchange waits for its acknowledgement the pair that it began with is the only one: any other would discard it.
 */
export function candidates(record: VaultRecord): Generation[] {
  const { generations, open } = record;
  const numbered = (number: number | null): Generation[] =>
    generations.filter((g) => g.generation === number);
  if (open !== null && open.state !== "in-doubt") return numbered(open.baseGeneration);
  const imported = (placed: Generation["placed"]): Generation[] =>
    generations.filter((g) => g.standing === "imported" && g.placed === placed);
  const [older, newer] = [
    numbered(open?.baseGeneration ?? null),
    numbered(open?.newGeneration ?? null),
  ];
  const inDoubt = (
    open !== null && open.endsUnanswered > 0 ? [...newer, ...older] : [...older, ...newer]
  ).filter((g) => g.placed !== "older");
  const dropped = generations.filter((g) => g.standing === "void" || g.standing === "offered");
  // The pairs of an adopted exchange in doubt are imported too, but the exchange decides their order.
  const recent = imported(null).filter((g) => !inDoubt.includes(g));
  const current = generations.filter((g) => g.standing === "current");
  const all = [
    ...imported("successor"),
    ...recent,
    ...inDoubt,
    ...current,
    ...imported("older"),
    ...dropped,
  ];
  return [...new Set(all)].filter((g) => g.standing !== "superseded");
}

/** Those that are equally likely to be valid: neither older nor void. */
export const likely = (generations: readonly Generation[]): Generation[] =>
  generations.filter(({ placed, standing }) => placed !== "older" && standing !== "void");

/**
 * The pair that `--generation N` chooses; a superseded one only with --force.
 * @throws `no-credentials` if it is not kept or may not be sent
 */
export function chosenGeneration(record: VaultRecord, number: number, force: boolean): Generation {
  const found = record.generations.find((g) => g.generation === number);
  if (found !== undefined && (force || found.standing !== "superseded")) return found;
  const kept = record.generations
    .filter((g) => force || g.standing !== "superseded")
    .map((g) => g.generation);
  throw new VaultError(
    "no-credentials",
    `generation ${number} of vault ${record.uuid} ${found === undefined ? "is not kept" : "was superseded; it is sent only with --force"}`,
    {
      uuid: record.uuid,
      hint: `generations that can be sent: ${kept.join(", ") || "none"}`,
      next: [command`vault status ${record.uuid} --history`],
    },
  );
}
