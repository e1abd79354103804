import type { Operation } from "../../protocol/endpoints.ts";
import type { Rehearsal, Went } from "./calls.ts";
import { kindIn, stepIn } from "./calls.ts";
import type { Rules } from "../fold/rules.ts";
import type { ReenactedStep } from "../replayer.ts";
import { duration, lockWords } from "./words.ts";

/** Rules that the emulated service supports. */
export type ReenactmentRules = Omit<Rules, "release" | "failure">;

/** What re-enactment remembers about a vault. */
export interface Note {
  /** Time of the last item, in milliseconds since the epoch. */
  time: number;
  /** Whether the counters are known: the log has its creation, an acknowledgement or an unlock. */
  isSure: boolean;
  /** The last exchange started, until it is acknowledged. */
  open?: { operation: Operation; time: number; line: number };
  /** The start that locked the vault in the service, although its item does not say that it was refused. */
  locking?: { time: number; line: number };
  /** The first item at which log and service disagree. */
  difference?: { time: number; line: number; text: string };
  impossible?: string;
}

export interface Stage {
  rehearsal: Rehearsal;
  rules: ReenactmentRules;
  note: Note;
}

/** Result of a step; empty if log and service agree. */
interface Performed {
  /** How log and service disagree. */
  difference?: string;
  /** Why the step cannot be performed. */
  impossible?: string;
}

const agreed: Performed = {};

/** Performs the step of one item. Creates the vault at its first item. */
export function perform(stage: Stage, step: ReenactedStep): Performed {
  if (["not-performed", "application", "other", "unanswered-start", "unanswered-ack"].includes(step.event)) return agreed;
  const { rehearsal, note } = stage;
  const isFirst = rehearsal.look(step.uuid) === undefined;
  if (isFirst) rehearsal.create(step.uuid, kindIn(step.kindHint) ?? "credit-card/offline");
  switch (step.event) {
    case "create":
      return isFirst ? agreed : { difference: "the log creates the vault, which the emulated service has already" };
    case "read":
      return start(stage, step, "get");
    case "update":
      return start(stage, step, "update");
    case "ack-read":
      return acknowledge(stage, step, "get");
    case "ack-update":
      return acknowledge(stage, step, "update");
    case "delete":
      return remove(stage, step);
    case "failed-delete":
      return failed(rehearsal.delete(step.uuid, false));
    case "failed-read":
    case "failed-update":
    case "failed-access":
    case "refused":
      return failed(startWrong(stage, step));
    case "locking-failure":
      return lockingFailure(stage, step);
    case "locking-start":
      return lockingStart(stage, step);
    case "refused-locked":
      return refused(stage, step, isFirst);
    case "failed-ack":
      rehearsal.end(step.uuid, "get", false);
      return agreed;
    case "lock":
    case "unlock":
      if (rehearsal.look(step.uuid)?.state === "deleted") return { difference: afterDeletion(`an administrator's ${step.event}`) };
      rehearsal[step.event](step.uuid);
      if (step.event === "unlock") reset(note);
      return agreed;
    case "not-performed":
    case "application":
    case "other":
    // Calls without a response: it is unknown whether they counted.
    case "unanswered-start":
    case "unanswered-ack":
      return agreed;
  }
}

/** Performs a failed attempt that locked the vault, as its item says. If the counters are unknown, that is no difference. */
function lockingFailure(stage: Stage, step: ReenactedStep): Performed {
  const { rehearsal, note } = stage;
  const performed = failed(startWrong(stage, step));
  if (rehearsal.look(step.uuid)?.state !== "active") return performed;
  rehearsal.lock(step.uuid);
  return note.isSure ? { difference: "the item says that it locked the vault, which the emulated service did not do" } : performed;
}

function start(stage: Stage, step: ReenactedStep, operation: Operation): Performed {
  const { rehearsal } = stage;
  const went = rehearsal.start(step.uuid, operation);
  if (went === "impossible") return { impossible: "an update of an online vault, which the interface does not have" };
  if (went === "deleted") return { difference: afterDeletion("a start that succeeded") };
  if (went !== "locked-already") {
    noteStart(stage, step, operation, went);
    return agreed;
  }
  const difference = whileLocked(stage, step, "the start succeeded");
  noteStart(stage, step, operation, rehearsal.start(step.uuid, operation));
  return { difference };
}

function noteStart({ note }: Stage, { time, line }: ReenactedStep, operation: Operation, went: Went): void {
  note.open = { operation, time, line };
  if (went === "locked-now") note.locking = { time, line };
}

function acknowledge(stage: Stage, step: ReenactedStep, operation: Operation): Performed {
  const { rehearsal, note } = stage;
  const { open, isSure } = note;
  if (open === undefined && !isSure) {
    // Its start was before the log begins; the counters are zero from now on.
    if (rehearsal.look(step.uuid)?.state === "active") {
      rehearsal.unlock(step.uuid);
      reset(note);
      return agreed;
    }
  }
  const went = rehearsal.end(step.uuid, operation);
  if (went === "accepted") {
    reset(note);
    return agreed;
  }
  if (went === "impossible") return { impossible: "an update of an online vault, which the interface does not have" };
  if (went === "deleted") return { difference: afterDeletion("an acknowledgement that succeeded") };
  const isLocked = went === "locked-already";
  const difference = isLocked ? whileLocked(stage, step, "the acknowledgement succeeded") : refusedToken(stage, step, operation);
  // Matches the log: acknowledged, both counters zero.
  if (!isLocked || rehearsal.end(step.uuid, operation) !== "accepted") rehearsal.unlock(step.uuid);
  reset(note);
  return { difference };
}

function refusedToken({ note, rules }: Stage, step: ReenactedStep, operation: Operation): string {
  const { open } = note;
  const says = `the log says that the acknowledgement of ${named(operation)} succeeded; the emulated service refused it`;
  const rest = "its counters were then set back, so that the rest could go on";
  if (open === undefined) return `${says}, as no exchange is open; ${rest}`;
  if (open.operation !== operation) return `${says}, as the exchange started last (line ${open.line}) is ${named(open.operation)}; ${rest}`;
  const age = duration(step.time - open.time);
  return `${says}, as its start (line ${open.line}) was ${age} before and a token lives ${duration(rules.tokenLifetimeMs)}; ${rest}`;
}

/** Deletes a vault. A locked vault can be deleted in the console or by its expiryDate: if the item names no call, that is no difference. */
function remove(stage: Stage, step: ReenactedStep): Performed {
  const { rehearsal } = stage;
  const went = rehearsal.delete(step.uuid);
  if (went === "accepted") return agreed;
  if (went === "deleted") return { difference: afterDeletion("another deletion") };
  const difference = kindIn(step.kindHint) === undefined ? undefined : whileLocked(stage, step, "the deletion succeeded");
  if (difference === undefined) rehearsal.unlock(step.uuid);
  rehearsal.delete(step.uuid);
  return difference === undefined ? agreed : { difference };
}

/** Starts with wrong credentials. The operation does not matter to the counters; every kind has a read. */
const startWrong = ({ rehearsal }: Stage, step: ReenactedStep): Went => {
  const went = rehearsal.start(step.uuid, step.event === "failed-update" ? "update" : "get", false);
  return went === "impossible" ? rehearsal.start(step.uuid, "get", false) : went;
};

/** Compares a failed attempt. For a locked vault it is refused as well. */
function failed(went: Went): Performed {
  return went === "deleted" ? { difference: afterDeletion("a failed access") } : agreed;
}

function lockingStart(stage: Stage, step: ReenactedStep): Performed {
  const { rehearsal, rules, note } = stage;
  const wanted = stepIn(step.kindHint) === "update-start" ? "update" : "get";
  const went = rehearsal.start(step.uuid, wanted);
  if (went === "locked-now") note.locking = { time: step.time, line: step.line };
  if (went === "deleted") return { difference: afterDeletion("a start") };
  if (went !== "accepted") return agreed;
  const count = rehearsal.look(step.uuid)?.unackedStarts ?? 0;
  rehearsal.lock(step.uuid);
  const of = `number ${count} of ${rules.lockAfterUnacked} without acknowledgement`;
  const rest = "the vault was then locked, so that the rest could go on";
  return {
    difference: `the log says that this start was one too many and locked the vault; the emulated service accepted it (${of}); ${rest}`,
  };
}

function refused({ rehearsal, note }: Stage, step: ReenactedStep, isFirst: boolean): Performed {
  const state = rehearsal.look(step.uuid)?.state;
  if (state === "deleted") return { difference: afterDeletion("a call that was refused because the vault was locked") };
  if (state === "locked") {
    rehearsal.start(step.uuid, "get");
    return agreed;
  }
  rehearsal.lock(step.uuid);
  // The lock may be older than the log.
  if (isFirst && !note.isSure) return agreed;
  const rest = "it was then locked, so that the rest could go on";
  return { difference: `the log says that the vault was locked here already; the emulated service has it active; ${rest}` };
}

/** Unlocks the vault in the service, because the log implies it, and returns the difference. */
function whileLocked({ rehearsal, rules, note }: Stage, step: ReenactedStep, what: string): string {
  const vault = rehearsal.look(step.uuid);
  const since = note.locking === undefined ? "" : ` since line ${note.locking.line}`;
  const why = vault === undefined ? "" : ` (${lockWords(vault, rules)})`;
  rehearsal.unlock(step.uuid);
  reset(note);
  return `the log says that ${what}; the emulated service has the vault locked${since}${why} and refused it. If somebody has unlocked it, the log does not show that; it was then unlocked, so that the rest could go on`;
}

/** Notes that both counters are zero. */
function reset(note: Note): void {
  note.isSure = true;
  delete note.open;
  delete note.locking;
}

const named = (operation: Operation): string => (operation === "get" ? "a read" : "an update");

const afterDeletion = (what: string): string => `the log has ${what} here; in the emulated service the vault is deleted`;
