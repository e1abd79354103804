import type { Parts } from "./moves.ts";
import { asDesigned } from "./protocol.ts";
import { lockAt } from "./service-part.ts";
import type { Store } from "./state.ts";
import { exchangeOf, openOf } from "./state.ts";
import type { StoreSteps } from "./store-part.ts";

/** A mistake that the program could have made, where it can be seen, and the rule that it breaks. */
export interface Flaw {
  mistake: string;
  in: string;
  breaks: RegExp;
  /** The short form leaves it out. */
  isFoundLate?: true;
  parts: Parts;
}

const free = "a vault without limit";
const limited = "a limited vault";
const { client, steps } = asDesigned;
export const decides = (change: Partial<Parts["client"]>): Parts => ({ ...asDesigned, client: { ...client, ...change } });
export const writes = (change: Partial<StoreSteps>): Parts => ({ ...asDesigned, steps: { ...steps, ...change } });
const supersede = (store: Store, number: number | undefined): void => {
  for (const each of store.generations) if (each.number === number) each.standing = "superseded";
};

export const flaws: Flaw[] = [
  {
    mistake: "② after the end call",
    in: free,
    breaks: /^order: .* durable/,
    parts: decides({ afterSuccess: ["deliver", "send-end", "store", "ending"] }),
  },
  {
    mistake: "③ after the end call",
    in: free,
    breaks: /^order: .* ③/,
    parts: decides({ afterSuccess: ["store", "deliver", "send-end", "ending"] }),
  },
  {
    mistake: "the end call before the delivery",
    in: free,
    breaks: /^order: .* delivered/,
    parts: decides({ afterSuccess: ["store", "ending", "send-end", "deliver"] }),
  },
  {
    mistake: "④ before the answer",
    in: free,
    breaks: /^nothing lost/,
    parts: writes({
      ending(store, id, delivered) {
        steps.ending(store, id, delivered);
        supersede(store, exchangeOf(store, id)?.base);
      },
    }),
  },
  {
    mistake: "the new pair is the current one as soon as it is offered",
    in: free,
    breaks: /^nothing lost/,
    parts: writes({
      start(store, id, offered) {
        steps.start(store, id, offered);
        supersede(store, exchangeOf(store, id)?.base);
      },
    }),
  },
  {
    mistake: "a dead token means the old pair, whatever went unanswered before",
    in: free,
    breaks: /^nothing lost/,
    parts: decides({ deadToken: () => "expire" }),
  },
  {
    mistake: "a refusal marks a pair as superseded",
    in: "imports and misread errors",
    breaks: /^nothing lost/,
    parts: writes({
      reject(store, id, counts) {
        steps.reject(store, id, counts);
        supersede(store, exchangeOf(store, id)?.base);
      },
    }),
  },
  {
    mistake: "get drops an exchange whose end call may have arrived",
    in: free,
    breaks: /^one exchange at a time: a start/,
    parts: decides({
      toSettle: (store, command) => (openOf(store)?.state === "ending" ? "by the start" : client.toSettle(store, command)),
    }),
  },
  {
    mistake: "a left exchange is not ended by the success of the next start",
    in: free,
    breaks: /^one exchange at a time: two/,
    parts: writes({
      start(store, id, offered) {
        const left = openOf(store);
        const state = left?.state;
        steps.start(store, id, offered);
        if (left !== undefined && state !== undefined) left.state = state;
      },
    }),
  },
  {
    mistake: "a superseded pair is tried again after a refusal",
    in: "imports and misread errors",
    breaks: /^never a superseded pair/,
    parts: decides({
      candidates(store) {
        const old = store.generations.findLast((g) => g.standing === "superseded");
        return [...client.candidates(store), ...(old === undefined || store.failed === 0 ? [] : [old.number])];
      },
    }),
  },
  {
    mistake: "the guard is off by one for failed accesses",
    in: free,
    breaks: /^never the locking request: the 3rd/,
    parts: decides({ guardRefuses: (store) => store.failed >= lockAt.failed || store.unacked + 1 >= lockAt.unacked }),
  },
  {
    mistake: "the guard is off by one for starts",
    in: free,
    breaks: /^never the locking request: the 5th/,
    parts: decides({ guardRefuses: (store) => store.failed + 1 >= lockAt.failed || store.unacked >= lockAt.unacked }),
  },
  {
    mistake: "a start is counted only once it is answered",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({
      recordIntent(store, intent) {
        steps.recordIntent(store, intent);
        store.unacked -= 1;
      },
    }),
  },
  {
    mistake: "a start that went unanswered is taken back",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({ unanswered: (store, id) => steps.revertIntent(store, id) }),
  },
  {
    mistake: "a success zeroes the starts",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({
      start(store, id, offered) {
        steps.start(store, id, offered);
        store.unacked = 0;
      },
    }),
  },
  {
    mistake: "an unanswered start of a proven pair is no possibly failed one",
    in: free,
    breaks: /^counting: .* failed/,
    parts: writes({
      recordIntent(store, intent) {
        steps.recordIntent(store, intent);
        if (store.generations.find((g) => g.number === intent.base)?.proven !== true) return;
        Object.assign(store, { failed: store.failed - 1, possibly: store.possibly - 1 });
        Object.assign(store.exchanges.at(-1) ?? {}, { countedFailed: 0 });
      },
    }),
  },
  {
    mistake: "a second start without a probe",
    in: free,
    breaks: /^after an unanswered start/,
    parts: decides({ needsProbe: () => false }),
  },
  {
    mistake: "a left read of a limited vault is acknowledged where the guard refuses",
    in: limited,
    breaks: /^order: .* delivered/,
    parts: decides({
      toSettle(store, command) {
        const settle = client.toSettle(store, command);
        return settle === "guard" ? "acknowledge" : settle;
      },
    }),
  },
  {
    mistake: "in doubt nothing is tried",
    in: free,
    breaks: /^no way leads back/,
    isFoundLate: true,
    parts: decides({ toSettle: (store, command) => (openOf(store)?.state === "in-doubt" ? "in-doubt" : client.toSettle(store, command)) }),
  },
  {
    mistake: "writes of a process that has lost its lock take effect",
    in: "two processes, and a lock that breaks",
    breaks: /^order: a start is sent without ①/,
    parts: { ...asDesigned, isFenced: false },
  },
];
