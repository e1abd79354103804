import type { Operation } from "../../../src/protocol/endpoints.ts";
import type { EmulatedService, CallResult } from "./emulated-service.ts";
import { kindIn, stepIn, duration, lockWords } from "./emulated-service.ts";
import type { EventKind } from "../../../src/audit/fold/events.ts";
import type { Rules } from "../../../src/documents/audit.ts";

/** Rules that the emulated service supports. */
export type ReenactmentRules = Omit<Rules, "release" | "failure">;

/** An event to re-enact. */
export interface ReenactedStep {
  uuid: string;
  /** Milliseconds since the epoch. */
  time: number;
  event: EventKind;
  /** Line of the item. */
  line: number;
  /** Endpoint of the item, if any, which names the kind of the vault. */
  kindHint?: string;
}

/** What re-enactment remembers about a vault. */
export interface Note {
  /** Time of the last item, in milliseconds since the epoch. */
  time: number;
  /** Whether the counters are known: the log has its creation, an acknowledgement or an unlock. */
  hasKnownCounters: boolean;
  /** The last exchange started, until it is acknowledged. */
  open?: { operation: Operation; time: number; line: number };
  /** The start that locked the vault in the service, although its item does not say that it was refused. */
  locking?: { time: number; line: number };
  /** The first item at which log and service disagree. */
  difference?: { time: number; line: number; text: string };
  impossible?: string;
}

export interface StepContext {
  service: EmulatedService;
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
export function perform(context: StepContext, step: ReenactedStep): Performed {
  if (
    [
      "not-performed",
      "unauthorized",
      "application",
      "other",
      "unanswered-start",
      "unanswered-ack",
      "gone",
      "unclear-start",
      "unclear-ack",
    ].includes(step.event)
  )
    return agreed;
  const { service, note } = context;
  const isFirst = service.look(step.uuid) === undefined;
  if (isFirst) service.create(step.uuid, kindIn(step.kindHint) ?? "credit-card/offline");
  switch (step.event) {
    case "create":
      return isFirst
        ? agreed
        : { difference: "the log creates the vault, which already exists in the sandbox" };
    case "read":
      return start(context, step, "get");
    case "update":
      return start(context, step, "update");
    case "ack-read":
      return acknowledge(context, step, "get");
    case "ack-update":
      return acknowledge(context, step, "update");
    case "delete":
      return remove(context, step);
    case "failed-delete":
      return failed(service.delete(step.uuid, false));
    case "failed-read":
    case "failed-update":
    case "failed-attempt":
    case "failed-device":
    case "failed-pin":
    case "refused":
      return failed(startWrong(context, step));
    case "locking-failure":
      return lockingFailure(context, step);
    case "locking-start":
      return lockingStart(context, step);
    case "lock-noted":
    case "refused-locked":
      return refused(context, step, isFirst);
    case "failed-ack":
      service.end(step.uuid, "get", false);
      return agreed;
    case "lock":
    case "unlock":
      if (service.look(step.uuid)?.state === "deleted")
        return { difference: afterDeletion(`an administrator's ${step.event}`) };
      service[step.event](step.uuid);
      if (step.event === "unlock") reset(note);
      return agreed;
    case "not-performed":
    case "unauthorized":
    case "application":
    case "other":
    // Calls without a response: it is unknown whether they counted.
    case "unanswered-start":
    case "unanswered-ack":
    case "gone":
    case "unclear-start":
    case "unclear-ack":
      return agreed;
  }
}

/** Performs a failed attempt that locked the vault, as its item says. If the counters are unknown, that is no difference. */
function lockingFailure(context: StepContext, step: ReenactedStep): Performed {
  const { service, note } = context;
  const performed = failed(startWrong(context, step));
  if (service.look(step.uuid)?.state !== "active") return performed;
  service.lock(step.uuid);
  return note.hasKnownCounters
    ? { difference: "the item records a lock, but the sandbox did not lock the vault" }
    : performed;
}

const updateOfOnline: Performed = {
  impossible: "an update of an online vault, which is not part of the interface",
};

function start(context: StepContext, step: ReenactedStep, operation: Operation): Performed {
  const { service } = context;
  const result = service.start(step.uuid, operation);
  if (result === "impossible") return updateOfOnline;
  if (result === "deleted") return { difference: afterDeletion("a start that succeeded") };
  if (result !== "locked-already") {
    noteStart(context, step, operation, result);
    return agreed;
  }
  const difference = whileLocked(context, step, "the start succeeded");
  noteStart(context, step, operation, service.start(step.uuid, operation));
  return { difference };
}

function noteStart(
  { note }: StepContext,
  { time, line }: ReenactedStep,
  operation: Operation,
  result: CallResult,
): void {
  note.open = { operation, time, line };
  if (result === "locked-now") note.locking = { time, line };
}

function acknowledge(context: StepContext, step: ReenactedStep, operation: Operation): Performed {
  const { service, note } = context;
  const { open, hasKnownCounters } = note;
  if (open === undefined && !hasKnownCounters) {
    // Its start was before the log begins; the counters are zero from now on.
    if (service.look(step.uuid)?.state === "active") {
      service.unlock(step.uuid);
      reset(note);
      return agreed;
    }
  }
  const result = service.end(step.uuid, operation);
  if (result === "accepted") {
    reset(note);
    return agreed;
  }
  if (result === "impossible") return updateOfOnline;
  if (result === "deleted")
    return { difference: afterDeletion("an acknowledgement that succeeded") };
  const isLocked = result === "locked-already";
  const difference = isLocked
    ? whileLocked(context, step, "the acknowledgement succeeded")
    : refusedToken(context, step, operation);
  // Matches the log: acknowledged, both counters zero.
  if (!isLocked || service.end(step.uuid, operation) !== "accepted") service.unlock(step.uuid);
  reset(note);
  return { difference };
}

function refusedToken(
  { note, rules }: StepContext,
  step: ReenactedStep,
  operation: Operation,
): string {
  const { open } = note;
  const says = `in the log the acknowledgement of ${named(operation)} succeeded; the sandbox refused it`;
  const rest = "its counters were then reset to continue";
  if (open === undefined) return `${says}, as no exchange is open; ${rest}`;
  if (open.operation !== operation)
    return `${says}, as the exchange started last (line ${open.line}) is ${named(open.operation)}; ${rest}`;
  const age = duration(step.time - open.time);
  return `${says}, as its start (line ${open.line}) was ${age} before and the token lifetime is ${duration(rules.tokenLifetimeMs)}; ${rest}`;
}

/** Deletes a vault. A locked vault can be deleted in the console or by its expiryDate: if the item names no call, that is no difference. */
function remove(context: StepContext, step: ReenactedStep): Performed {
  const { service } = context;
  const result = service.delete(step.uuid);
  if (result === "accepted") return agreed;
  if (result === "deleted") return { difference: afterDeletion("another deletion") };
  const difference =
    kindIn(step.kindHint) === undefined
      ? undefined
      : whileLocked(context, step, "the deletion succeeded");
  if (difference === undefined) service.unlock(step.uuid);
  service.delete(step.uuid);
  return difference === undefined ? agreed : { difference };
}

/** Starts with wrong credentials. The operation does not matter to the counters; every kind has a read. */
const startWrong = ({ service }: StepContext, step: ReenactedStep): CallResult => {
  const result = service.start(step.uuid, step.event === "failed-update" ? "update" : "get", false);
  return result === "impossible" ? service.start(step.uuid, "get", false) : result;
};

/** Compares a failed attempt. For a locked vault it is refused as well. */
function failed(result: CallResult): Performed {
  return result === "deleted" ? { difference: afterDeletion("a failed attempt") } : agreed;
}

function lockingStart(context: StepContext, step: ReenactedStep): Performed {
  const { service, rules, note } = context;
  const wanted = stepIn(step.kindHint) === "update-start" ? "update" : "get";
  const result = service.start(step.uuid, wanted);
  if (result === "locked-now") note.locking = { time: step.time, line: step.line };
  if (result === "deleted") return { difference: afterDeletion("a start") };
  if (result !== "accepted") return agreed;
  const count = service.look(step.uuid)?.unackedStarts ?? 0;
  service.lock(step.uuid);
  const of = `${count} of ${rules.limits.unackedStarts} unacknowledged starts`;
  const rest = "the vault was then locked to continue";
  return {
    difference: `in the log this start reached the limit and locked the vault; the sandbox accepted it (${of}); ${rest}`,
  };
}

function refused({ service, note }: StepContext, step: ReenactedStep, isFirst: boolean): Performed {
  const state = service.look(step.uuid)?.state;
  if (state === "deleted")
    return { difference: afterDeletion("a call that was refused because the vault was locked") };
  if (state === "locked") {
    service.start(step.uuid, "get");
    return agreed;
  }
  service.lock(step.uuid);
  // The lock may be older than the log.
  if (isFirst && !note.hasKnownCounters) return agreed;
  const rest = "it was then locked to continue";
  return {
    difference: `in the log the vault is already locked here; in the sandbox it is active; ${rest}`,
  };
}

/** Unlocks the vault in the service, because the log implies it, and returns the difference. */
function whileLocked(
  { service, rules, note }: StepContext,
  step: ReenactedStep,
  what: string,
): string {
  const vault = service.look(step.uuid);
  const since = note.locking === undefined ? "" : ` since line ${note.locking.line}`;
  const why = vault === undefined ? "" : ` (${lockWords(vault, rules)})`;
  service.unlock(step.uuid);
  reset(note);
  return `in the log ${what}; in the sandbox the vault was locked${since}${why}, and the call was refused. An unlock may be missing from the log; the vault was then unlocked to continue`;
}

/** Notes that both counters are zero. */
function reset(note: Note): void {
  note.hasKnownCounters = true;
  delete note.open;
  delete note.locking;
}

const named = (operation: Operation): string => (operation === "get" ? "a read" : "an update");

const afterDeletion = (what: string): string =>
  `the log has ${what} here; in the sandbox the vault is deleted`;
