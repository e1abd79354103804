import type { Model } from "./checker.ts";
import { client } from "./client.ts";
import { keyOf, prune } from "./keys.ts";
import type { Parts } from "./moves.ts";
import { isInStep, violation } from "./rules.ts";
import { firstState, type Command, type State } from "./state.ts";
import { carry, storeSteps } from "./store.ts";
import { steps, type Bounds } from "./world.ts";

/** The program as it is meant to be. */
export const asDesigned: Parts = {
  client,
  steps: storeSteps,
  isFenced: true,
};

export function protocol(bounds: Bounds, parts: Parts = asDesigned): Model<State> {
  return {
    initial: [firstState(bounds.processes, bounds.uses)],
    steps: (state) => {
      const { mishaps: most, uncounted } = bounds;
      const found = steps(parts, bounds, state).filter(
        ({ isFine }) => isFine || most === undefined || state.mishaps < most,
      );
      for (const { to, isFine } of found) {
        prune(to);
        if (uncounted) forgetCounters(to);
        if (most !== undefined && !isFine) to.mishaps += 1;
      }
      return found;
    },
    key: (state) => `${state.mishaps}${keyOf(state)}`,
    violation: (state) => violation(parts, bounds, state),
    // A vault that the service has deleted, after its last read, has nothing to come back to.
    isGoal: (state) => state.service.deleted || isInStep(state),
  };
}

function forgetCounters({ service, store }: State): void {
  Object.assign(service, { failed: 0, unacked: 0 });
  carry(store, { unacked: 0, unanswered: 0, failed: 0, possibly: 0 });
  // Only whether any were refused is still asked.
  const refused = store.exchanges.filter(({ outcome }) => outcome === "refused").slice(0, -1);
  store.exchanges = store.exchanges.filter((each) => !refused.includes(each));
}

const get: Command = { name: "get", do: "get" };
const update: Command = { name: "update", do: "update" };
const ack: Command = { name: "ack", do: "ack" };
/** By somebody who knows which credentials are the right ones. */
const choose: Command = { name: "get --generation N", do: "get", chooses: true };
const plain = [get, update, ack, choose];
const noAck: Command = { name: "get --no-ack", do: "get", noAck: true };
const waiting: Command[] = [
  noAck,
  { name: "get --discard-pending", do: "get", discard: true },
  { name: "get, after the token", do: "get", lapsed: true },
  { name: "ack --saved", do: "ack", saved: true },
];
const unread: Command = { name: "ack --unread", do: "ack", unread: true };

const choosing: Command = {
  name: "get --generation N --force",
  do: "get",
  force: true,
  careful: true,
  chooses: true,
};

/** Each explored to the end. */
export const allBounds: Bounds[] = [
  {
    name: "a vault without limit",
    commands: [get, ack, choose],
    processes: 1,
    uses: null,
    idempotentEnd: null,
    fewFaults: true,
  },
  {
    name: "reads and updates",
    commands: plain,
    processes: 1,
    uses: null,
    idempotentEnd: false,
    fewFaults: true,
  },
  {
    name: "every kind of fault",
    commands: [get, ack, choose],
    processes: 1,
    uses: null,
    idempotentEnd: false,
  },
  {
    name: "a limited vault",
    commands: [get, ack, choose, unread],
    processes: 1,
    uses: 2,
    idempotentEnd: false,
    fewFaults: true,
  },
  {
    name: "held exchanges",
    commands: [get, update, ack, choose, ...waiting],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    saves: true,
    fewFaults: true,
  },
  {
    name: "held exchanges of a limited vault",
    commands: [get, ack, unread, choose, ...waiting],
    processes: 1,
    uses: 2,
    idempotentEnd: false,
    saves: true,
    fewFaults: true,
  },
  {
    name: "imports and misread errors",
    commands: [get, ack, choosing],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    imports: 2,
    misread: true,
    fewFaults: true,
    mishaps: 5,
  },
  {
    name: "recovery documents of others",
    commands: [get, ack, choose, { name: "get --credentials-out", do: "get", out: true }],
    processes: 1,
    uses: null,
    idempotentEnd: null,
    imports: 2,
    documents: true,
    fewFaults: true,
    mishaps: 5,
  },
  ...(["answers probes", "is silent"] as const).map((gateway) => ({
    name: `a gateway in front of the service that ${gateway}`,
    commands: [get, noAck, ack, choose],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    fewFaults: true as const,
    gateway,
  })),
  {
    name: "a gateway, imports and misread errors",
    commands: [get, ack, choosing],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    imports: 1,
    misread: true,
    fewFaults: true,
    mishaps: 5,
    gateway: "is silent",
  },
  {
    name: "forced starts",
    commands: [get, ack, choose, { name: "get --force", do: "get", force: true }],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    fewFaults: true,
    mishaps: 5,
  },
  {
    name: "others who use the vault",
    commands: [get, ack, choose],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    strangers: true,
    fewFaults: true,
    mishaps: 5,
  },
  {
    name: "two processes, and a lock that breaks",
    commands: [get, ack, choosing],
    processes: 2,
    uses: null,
    idempotentEnd: false,
    lockBreaks: true,
    uncounted: true,
    fewFaults: true,
    mishaps: 3,
  },
  {
    name: "requests that arrive late",
    commands: [get, ack, choosing],
    processes: 1,
    uses: null,
    idempotentEnd: false,
    delays: true,
    fewFaults: true,
    mishaps: 6,
  },
];
