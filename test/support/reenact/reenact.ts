import { VaultError } from "../../../src/errors.ts";
import type { Note, ReenactedStep, ReenactmentRules } from "./step.ts";
import { perform } from "./step.ts";
import { EmulatedService, iso, lockWords } from "./emulated-service.ts";
import type { VaultState } from "../../../src/sandbox/model/state.ts";
import type { VaultState as ReplayedState } from "../../../src/documents/audit.ts";

/** Latest time in ISO 8601 with four digits for the year. */
const year9999 = 253_402_300_799_999;
const longest = 1e15;

/** Comparison of a replay with the emulated service. */
export interface ReenactmentReport {
  vaults: number;
  agree: number;
  /** Vaults whose items could not be re-enacted, with the reason. */
  notPerformed: { uuid: string; reason: string }[];
  differences: {
    uuid: string;
    replayed: ReplayedState;
    emulated: ReplayedState;
    /** Time and line of the first item at which the two disagree. */
    at?: string;
    line?: number;
    text: string;
  }[];
}

/**
 * Re-enacts a log in a private emulated service, item by item, with the clock at the time of each item, and compares the responses. It
 * reports the first disagreement for each vault; the emulated vault is then changed to match the log, so that the rest can follow. Memory
 * grows with the vaults only; nothing is written or sent.
 *
 * A start that reaches the limit may be recorded as accepted or as refused, as long as the vault is locked from then on: exports differ.
 */
export class Reenactment {
  readonly #service: EmulatedService;
  readonly #notes = new Map<string, Note>();
  readonly #rules: ReenactmentRules;

  /** @throws `invalid-input` for a rule that the emulated service does not support. */
  constructor(rules: ReenactmentRules) {
    this.#rules = rules;
    this.#service = new EmulatedService({
      ...rules.limits,
      tokenTtlMs: Math.min(rules.tokenLifetimeMs, longest),
      autoLockAfterMs: Math.min(rules.autoLockAfterMs, longest),
    });
  }

  /** Adds the next step in order of time. A step that is earlier than the one before it for the same vault gets that one's time. */
  add(given: ReenactedStep): void {
    const step = { ...given, uuid: given.uuid.toLowerCase() };
    const note = this.#notes.get(step.uuid) ?? {
      hasKnownCounters: step.event === "create",
      time: step.time,
    };
    this.#notes.set(step.uuid, note);
    if (note.impossible !== undefined) return;
    if (!(Math.abs(step.time) <= year9999)) {
      note.impossible = `line ${step.line}: its time is not a date`;
      return;
    }
    note.time = Math.max(note.time, step.time);
    this.#service.now = note.time;
    const { hasKnownCounters } = note;
    try {
      const { difference, impossible } = perform(
        { service: this.#service, rules: this.#rules, note },
        step,
      );
      if (impossible !== undefined) note.impossible = `line ${step.line}: ${impossible}`;
      if (difference === undefined || note.difference !== undefined) return;
      const before = hasKnownCounters
        ? ""
        : "; the log begins after this vault's creation, and earlier items may explain the difference";
      note.difference = { time: step.time, line: step.line, text: `${difference}${before}` };
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      note.impossible = `line ${step.line}: ${error.message}`;
    }
  }

  /** Compares the vaults with the states found by a replay. */
  finish(
    asOf: number,
    replayed: Iterable<{ uuid: string; state: ReplayedState }>,
  ): ReenactmentReport {
    const result: ReenactmentReport = { vaults: 0, agree: 0, notPerformed: [], differences: [] };
    for (const { uuid, state } of replayed) {
      result.vaults += 1;
      const note = this.#notes.get(uuid.toLowerCase());
      this.#service.now = Math.max(note?.time ?? 0, Math.abs(asOf) <= year9999 ? asOf : 0);
      const vault = this.#service.look(uuid.toLowerCase());
      if (note === undefined || vault === undefined || note.impossible !== undefined) {
        result.notPerformed.push({ uuid, reason: note?.impossible ?? "it has no items" });
        continue;
      }
      const emulated = isAlsoPossible(vault, state) ? state : stateOf(vault);
      const found = note.difference ?? this.#differenceAtEnd(note, vault, state, emulated);
      if (found === undefined) result.agree += 1;
      else {
        const where = found.line === undefined ? {} : { at: iso(found.time), line: found.line };
        result.differences.push({ uuid, replayed: state, emulated, ...where, text: found.text });
      }
    }
    return result;
  }

  #differenceAtEnd(
    note: Note,
    vault: Readonly<VaultState>,
    replayed: ReplayedState,
    emulated: ReplayedState,
  ): { time: number; line?: number; text: string } | undefined {
    if (replayed === emulated) return undefined;
    const why = emulated === "locked" ? ` (${lockWords(vault, this.#rules)})` : "";
    const text = `at the end the vault is ${words[replayed]} in the replay and ${words[emulated]} in the sandbox${why}`;
    if (emulated === "locked" && note.locking !== undefined) return { ...note.locking, text };
    return { time: 0, text };
  }
}

const words: Record<ReplayedState, string> = {
  active: "active",
  "exchange-open": "with an exchange open",
  locked: "locked",
  deleted: "deleted",
};

function stateOf(vault: Readonly<VaultState>): ReplayedState {
  if (vault.state !== "active") return vault.state;
  return vault.pending !== null && vault.unackedStarts > 0 ? "exchange-open" : "active";
}

/** Whether a replayed state is possible too: in the service, an expired token ends an exchange and an unlock its count, unlike in a log. */
function isAlsoPossible(
  { state, pending, unackedStarts }: Readonly<VaultState>,
  replayed: ReplayedState,
): boolean {
  if (state !== "active") return state === replayed;
  if (replayed === "exchange-open") return pending !== null || unackedStarts > 0;
  return replayed === "active" && (pending === null || unackedStarts === 0);
}
