import type { Process, State, Store } from "./state.ts";

/** ① of the last start has no outcome: its process has died, or is about to. */
export function isFound({ exchanges, breaker }: Store): boolean {
  const last = exchanges.at(-1);
  return last?.state === "intent" && last.id > breaker.closedAfter;
}

/** Only a trial goes out: the last start, of whatever process, was not answered. */
export const isOpen = (store: Store): boolean => store.breaker.isOpen || isFound(store);

function open({ breaker }: Store): void {
  if (!breaker.isOpen) Object.assign(breaker, { isOpen: true, isHinted: false });
}

/** A start was answered, or a person says that the service works. */
export function close(store: Store): void {
  store.breaker = { isOpen: false, isHinted: false, closedAfter: store.exchanges.at(-1)?.id ?? 0 };
}

/** Who is about to start meets a start without an outcome. */
export function meet(store: Store): void {
  if (isFound(store)) open(store);
}

/** A trial is claimed with its ①: a process that dies leaves nothing to be cleaned up. */
export function claim(store: Store, trial: Process["trial"]): void {
  if (trial === "at once") store.breaker.isHinted = true;
}

/** What the reply to a start says of the service; nothing if the start is taken back. */
export function noteStart({ store, truth }: State, { reply, trial, fenced }: Process): void {
  if (reply === "not-sent" || reply === "rate" || reply === "application") {
    if (trial !== "at once") return;
    store.breaker.isHinted = false;
    truth.atOnce -= 1;
  } else if (reply === "no-answer") {
    open(store);
    if (!fenced) truth.isSilent = true;
  } else if (!fenced) {
    // Not by the answer to a start that was sent before the one that is lost. Also where it is closed, but for a success: its start may
    // stay on record without an outcome.
    if (store.breaker.isOpen || reply !== "success") close(store);
    Object.assign(truth, { isSilent: false, atOnce: 0 });
  }
}
