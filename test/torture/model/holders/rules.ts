import type { Model } from "../checker.ts";
import { client, isRefused } from "../client.ts";
import type { Parts } from "../moves.ts";
import { lockAt } from "../service.ts";
import { generationOf, openOf, type Command, type Process, type Store } from "../state.ts";
import { counted, isSuperseded, liveWith } from "../store.ts";
import { editHolders, firstHolders, keyOf, letters, pairsOf, prune, storeAt } from "./state.ts";
import { take } from "./papers.ts";
import type { HolderBounds, Holders } from "./state.ts";
import { holderSteps } from "./world.ts";

/** What holds where a pair is known to more than one holder: a document, an export, a copied state. */
export function holdersModel(bounds: HolderBounds, parts: Parts): Model<Holders> {
  const recoverable = new Map<string, boolean>();
  return {
    initial: [firstHolders(bounds)],
    steps: (holders) => {
      const found = holderSteps(parts, bounds, holders);
      for (const { to } of found) prune(to);
      return found;
    },
    key: (holders) => keyOf(holders, true),
    isGoal: () => true,
    violation(holders) {
      const { service, machines, papers, fault } = holders;
      if (fault !== null) return fault;
      if (bounds.alone && service.locked)
        return "the vault is locked, and only one state has sent anything";
      if (service.deleted) return undefined;
      for (const [place, machine] of machines.entries()) {
        const { store, process } = machine;
        if (isSuperseded(store, service.pair))
          return `${letters[place]} has superseded what the service accepts`;
        // A copy does not tell the original.
        const isVoid =
          !bounds.events.includes("copy") &&
          store.generations.some((g) => g.pair === service.pair && g.standing === "void");
        if (isVoid && liveWith(store, service.pair) === undefined)
          return `${letters[place]} calls void what the service accepts`;
        const mistake = process?.at === "send-start" ? aboutToSend(machine, process) : undefined;
        if (mistake !== undefined) return mistake;
      }
      if (machines.some(({ process }) => process !== null)) return undefined;
      const isHeld = machines.some(({ store }) =>
        store.generations.some((g) => g.pair === service.pair && g.standing !== "superseded"),
      );
      if (!isHeld && !papers.some((paper) => pairsOf(paper).includes(service.pair)))
        return "nobody holds what the service accepts";
      return canRecover(parts, bounds, holders, recoverable)
        ? undefined
        : "no way leads back into step without --force";
    },
  };
}

/** What must be so when a start leaves. */
function aboutToSend(
  { store, truth }: Holders["machines"][number],
  { pairs: [number], forced, repeated, command, tried, trial }: Process,
): string | undefined {
  const base = generationOf(store, number ?? null);
  if (forced || base === undefined) return undefined;
  if (truth.isSilent && trial === null)
    return "a start that is no trial is sent while the breaker is open";
  if (truth.refused.includes(base.pair)) return "refused credentials are sent again";
  const isDead =
    base.standing === "superseded" ||
    (!base.proven &&
      store.generations.some((g) => g.pair === base.pair && g.standing === "superseded"));
  if (isDead) return "superseded credentials are sent";
  // Its own is among those that are possible: nothing has come back yet.
  const before = { ...store, exchanges: store.exchanges.slice(0, -1) };
  if (counted(store).failed >= lockAt.failed) return "the last attempt before the lock is sent";
  const fresh = client.candidates(store).filter((each) => !isRefused(store, each));
  const isGuess =
    client.isForAPerson(before, fresh) && !command.chooses && !repeated && tried.length === 0;
  return isGuess ? "the last free attempt is spent on a guess" : undefined;
}

const isInStep = ({ service, machines }: Holders): boolean =>
  machines.some(({ store, process }) => {
    const current = store.generations.find((g) => g.standing === "current");
    const { unacked, failed } = counted(store);
    const isCalm = process === null && openOf(store) === undefined && unacked === 0 && failed === 0;
    return isCalm && current?.pair === service.pair && current.proven;
  });

const personal: Command[] = [
  { name: "get --generation N", do: "get", chooses: true },
  { name: "get", do: "get" },
  { name: "ack", do: "ack" },
  { name: "get --discard-pending", do: "get", discard: true },
];

/** A person who knows which credentials are right gets back into step: nothing fails on the way, nothing is forced. */
function canRecover(
  parts: Parts,
  bounds: HolderBounds,
  from: Holders,
  known: Map<string, boolean>,
): boolean {
  const able: HolderBounds = { ...bounds, commands: personal };
  const tried = new Set<string>();
  const reaches = (holders: Holders): boolean => {
    const key = keyOf(holders, false);
    const before = known.get(key);
    if (before !== undefined) return before;
    if (tried.has(key)) return false;
    tried.add(key);
    if (!isInStep(holders) && !personMoves(parts, able, holders).some((to) => reaches(to)))
      return false;
    known.set(key, true);
    return true;
  };
  const found = reaches(from);
  if (!found) known.set(keyOf(from, false), false);
  return found;
}

/** What seems to lead on comes first. */
function personMoves(parts: Parts, bounds: HolderBounds, holders: Holders): Holders[] {
  const running = holderSteps(
    parts,
    bounds,
    { ...holders, left: { runs: 9, faults: 0, events: 9 } },
    true,
  ).map(({ to }) => to);
  const found: Holders[] = [];
  if (holders.machines.every(({ process }) => process === null)) {
    for (const [place, { store }] of holders.machines.entries()) {
      const go = (change: (to: Holders, store: Store) => void | false): void => {
        const to = editHolders(holders);
        if (change(to, storeAt(to, place)) !== false) found.push(to);
      };
      const { locked, failed } = holders.service;
      const ours = counted(store);
      const definite = ours.failed - ours.possibly;
      const mayBeUnanswered = ours.possibly > 0 && failed <= definite;
      const isSpent =
        parts.client.guardRefuses(store) && (!mayBeUnanswered || definite + 1 >= lockAt.failed);
      if (locked || isSpent || ours.unacked + 1 >= lockAt.unacked) {
        go((to, kept) => {
          Object.assign(to.service, { locked: false, failed: 0, unacked: 0 });
          parts.steps.guardReset(kept, "all");
        });
      }
      if (mayBeUnanswered) go((_, kept) => parts.steps.guardReset(kept, "unanswered"));
      for (const paper of holders.papers)
        if (pairsOf(paper).includes(holders.service.pair))
          go((to) => take(parts, to, place, paper));
    }
  }
  const all = [...found, ...running];
  for (const to of all) prune(to);
  return all;
}
