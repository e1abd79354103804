import { VaultError } from "../errors.ts";
import type { Generation, VaultRecord } from "./records.ts";

const live = (generation: Generation): boolean => ["current", "imported", "offered"].includes(generation.standing);

/** The pairs that have not been superseded, newest first. */
export const liveGenerations = (record: VaultRecord): Generation[] => record.generations.filter(live);

export const currentGeneration = (record: VaultRecord): Generation | undefined => record.generations.find((g) => g.standing === "current");

/**
 * The pairs to start with, in the order in which they are to be tried. More than one only in doubt: the new one first
 * if an end call may have left, else the old one. Otherwise the newest import, which waits to be proven, before the
 * current pair; an import that was refused comes last, so that a wrong import never stands in the way of the live pair.
 */
export function candidates(record: VaultRecord, wasRefused: (generation: Generation) => boolean): Generation[] {
  const pairs = liveGenerations(record);
  const { open } = record;
  if (open?.state === "in-doubt") {
    const old = pairs.filter((g) => g.generation === open.baseGeneration);
    const offered = pairs.filter((g) => g.generation === open.newGeneration);
    return open.endsUnanswered > 0 ? [...offered, ...old] : [...old, ...offered];
  }
  const imported = pairs.filter((g) => g.standing === "imported");
  const current = pairs.filter((g) => g.standing === "current");
  const [first] = [...imported.filter((g) => !wasRefused(g)), ...current, ...imported];
  return first === undefined ? [] : [first];
}

/** The pairs that a person may choose: also those that were offered by an exchange that was dropped or expired. */
export const sendableGenerations = (record: VaultRecord): Generation[] => record.generations.filter((g) => g.standing !== "superseded");

/** The pair that `--generation N --force` chooses. Raises `no-credentials` where it is not kept or was superseded. */
export function chosenGeneration(record: VaultRecord, number: number): Generation {
  const found = record.generations.find((g) => g.generation === number);
  if (found !== undefined && found.standing !== "superseded") return found;
  const why = found === undefined ? "is not known" : "was superseded, and a superseded pair is never sent";
  const kept = sendableGenerations(record).map((g) => g.generation);
  throw new VaultError("no-credentials", `generation ${number} of vault ${record.uuid} ${why}`, {
    vault: record.uuid,
    hint: `generations that can be sent: ${kept.join(", ") || "none"}; vault status ${record.uuid} --history shows them`,
  });
}
