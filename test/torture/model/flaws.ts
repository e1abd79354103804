import type { Parts } from "./moves.ts";
import { asDesigned } from "./protocol.ts";
import { close, waysOn } from "./client.ts";
import { lockAt } from "./service.ts";
import { exchangeOf, openOf, type Store } from "./state.ts";
import { carry, counted, type StoreSteps } from "./store.ts";

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
const probed = "a gateway in front of the service that answers probes";
const silent = "a gateway in front of the service that is silent";
const imported = "a gateway, imports and misread errors";
const { client, steps } = asDesigned;
export const decides = (change: Partial<Parts["client"]>): Parts => ({
  ...asDesigned,
  client: { ...client, ...change },
});
export const writes = (change: Partial<StoreSteps>): Parts => ({
  ...asDesigned,
  steps: { ...steps, ...change },
});
const supersede = (store: Store, number: number | undefined): void => {
  for (const each of store.generations) if (each.number === number) each.standing = "superseded";
};

export const flaws: Flaw[] = [
  {
    mistake: "② after the end call",
    in: free,
    breaks: /^order: .* durable/,
    parts: decides({ afterSuccess: ["deliver", "send-end", "started", "ending"] }),
  },
  {
    mistake: "③ after the end call",
    in: free,
    breaks: /^order: .* ③/,
    parts: decides({ afterSuccess: ["started", "deliver", "send-end", "ending"] }),
  },
  {
    mistake: "the end call before the delivery",
    in: free,
    breaks: /^order: .* delivered/,
    parts: decides({ afterSuccess: ["started", "ending", "send-end", "deliver"] }),
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
      started(store, id, offered) {
        steps.started(store, id, offered);
        supersede(store, exchangeOf(store, id)?.base);
      },
    }),
  },
  {
    mistake: "a dead token means the old pair, whatever went unanswered before",
    in: free,
    breaks: /^nothing lost/,
    parts: decides({ deadToken: () => "expired" }),
  },
  {
    mistake: "a refusal marks a pair as superseded",
    in: "imports and misread errors",
    breaks: /^nothing lost/,
    parts: writes({
      refused(store, id, counts) {
        steps.refused(store, id, counts);
        supersede(store, exchangeOf(store, id)?.base);
      },
    }),
  },
  {
    mistake: "get drops an exchange whose end call may have arrived",
    in: free,
    breaks: /^one exchange at a time: a start/,
    parts: decides({
      toSettle: (store, command) =>
        openOf(store)?.state === "ending" ? "by the start" : client.toSettle(store, command),
    }),
  },
  {
    mistake: "a left exchange is not ended by the success of the next start",
    in: free,
    breaks: /^one exchange at a time: two/,
    parts: writes({
      started(store, id, offered) {
        const left = openOf(store);
        const state = left?.state;
        steps.started(store, id, offered);
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
        return [
          ...client.candidates(store),
          ...(old === undefined || counted(store).failed === 0 ? [] : [old.number]),
        ];
      },
    }),
  },
  {
    mistake: "the guard is off by one for failed accesses",
    in: free,
    breaks: /^never the locking request: the 3rd/,
    parts: decides({
      guardRefuses: (store) =>
        counted(store).failed >= lockAt.failed || counted(store).unacked + 1 >= lockAt.unacked,
    }),
  },
  {
    mistake: "the guard is off by one for starts",
    in: free,
    breaks: /^never the locking request: the 5th/,
    parts: decides({
      guardRefuses: (store) =>
        counted(store).failed + 1 >= lockAt.failed || counted(store).unacked >= lockAt.unacked,
    }),
  },
  {
    mistake: "a start is counted only once it is answered",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({
      intent(store, intent) {
        steps.intent(store, intent);
        Object.assign(exchangeOf(store, intent.id) ?? {}, { outcome: "nothing" });
      },
    }),
  },
  {
    mistake: "a start that went unanswered is taken back",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({ noWholeAnswer: (store, id) => steps.takenBack(store, id) }),
  },
  {
    mistake: "a success zeroes the starts",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({
      started(store, id, offered) {
        steps.started(store, id, offered);
        carry(store, { ...counted(store), unacked: 0, unanswered: 0 });
      },
    }),
  },
  {
    mistake: "a second start that is no trial",
    in: free,
    breaks: /^the breaker: .* no trial/,
    parts: decides({ isOpen: () => false }),
  },
  {
    mistake: "a start whose process has died does not open the breaker",
    in: free,
    breaks: /^the breaker: .* no trial/,
    parts: decides({ isOpen: ({ breaker }) => breaker.isOpen }),
  },
  {
    mistake: "time alone lets a trial out, although the service answers probes",
    in: probed,
    breaks: /^the breaker: a trial goes out without a probe/,
    parts: decides({ isTriedByTime: () => true }),
  },
  {
    mistake: "a service that never answers probes is never tried again",
    in: silent,
    breaks: /^(stopped for nothing: .* network|in a circle: get is network)/,
    parts: decides({ isTriedByTime: () => false }),
  },
  {
    mistake: "an answered probe closes the breaker",
    in: probed,
    breaks: /^the breaker/,
    parts: decides({ heard: close }),
  },
  {
    mistake: "a trial goes past the guard",
    in: silent,
    breaks: /^never the locking request/,
    parts: decides({
      guardRefuses: (store, command) =>
        !client.isOpen(store) && client.guardRefuses(store, command),
    }),
  },
  {
    mistake: "a trial leaves two before each limit",
    in: silent,
    breaks: /^(stopped for nothing: .* guard|in a circle)/,
    parts: decides({
      guardRefuses: (store, command) =>
        client.guardRefuses(store, command) ||
        (client.isOpen(store) && counted(store).unacked + 1 > lockAt.unacked - 2),
    }),
  },
  {
    mistake: "an unanswered start of sole credentials counts as possibly failed",
    in: silent,
    breaks: /^stopped for nothing: .* guard/,
    parts: writes({
      intent(store, intent) {
        steps.intent(store, intent);
        Object.assign(exchangeOf(store, intent.id) ?? {}, { isSole: false });
      },
    }),
  },
  {
    mistake: "④ leaves the possible failures of starts that its token disproves",
    in: silent,
    breaks: /^stopped for nothing: .* guard/,
    parts: writes({
      acknowledged(store, id) {
        const before = new Map(store.exchanges.map((each) => [each, each.isSole]));
        steps.acknowledged(store, id);
        for (const [each, isSole] of before) each.isSole = isSole;
      },
    }),
  },
  {
    mistake: "the success of a start with the new credentials leaves the starts before counted",
    in: free,
    breaks: /^counting: .* a later one has shown it/,
    parts: writes({
      started(store, id, offered) {
        const { unacked } = counted(store);
        steps.started(store, id, offered);
        carry(store, { ...counted(store), unacked, unanswered: 0 });
      },
    }),
  },
  {
    mistake: "guard --reset --unanswered leaves the starts counted",
    in: silent,
    breaks: /^(in a circle: a reset|counting: .* a later one has shown it)/,
    parts: writes({
      guardReset(store, to) {
        const { unacked } = counted(store);
        steps.guardReset(store, to);
        if (to === "unanswered") carry(store, { ...counted(store), unacked });
      },
    }),
  },
  {
    mistake: "a reset to what the audit log shows is zeroed by an acknowledgement of before",
    in: free,
    breaks: /^counting: .* starts/,
    parts: writes({
      guardReset(store, to) {
        steps.guardReset(store, to);
        if (typeof to === "string") return;
        store.upTo = null;
        for (const each of store.exchanges) each.outcome = "nothing";
      },
    }),
  },
  {
    mistake: "starts that were shown to have arrived still pass for unanswered",
    in: "imports and misread errors",
    breaks: /^counting: the service has counted more starts/,
    parts: writes({
      guardReset(store, to) {
        const { unanswered } = counted(store);
        steps.guardReset(store, to);
        if (typeof to !== "string" && store.carried !== null)
          store.carried.unanswered = Math.min(unanswered, to.unacked);
      },
    }),
  },
  {
    mistake: "a refused start counts as unacknowledged",
    in: imported,
    breaks: /^(stopped for nothing|in a circle|no way|counting: .* a later one has shown it)/,
    parts: writes({
      refused(store, id, counts) {
        const { unacked } = counted(store);
        steps.refused(store, id, counts);
        carry(store, { ...counted(store), unacked });
      },
    }),
  },
  {
    mistake: "a refusal is erased by the doubt that it causes",
    in: "imports and misread errors",
    breaks: /^never what was refused before/,
    parts: writes({
      refused(store, id, counts) {
        steps.refused(store, id, counts);
        const next = openOf(store)?.next;
        const offered = store.generations.find((g) => g.number === next)?.pair;
        store.refused = store.refused.filter((pair) => pair !== offered);
      },
    }),
  },
  {
    mistake: "the last start before the lock is sent although its acknowledgement waits",
    in: silent,
    breaks: /^never the locking request: the last start before it/,
    parts: decides({ guardRefuses: (store) => client.guardRefuses(store) }),
  },
  {
    mistake: "exit 8 names an administrator, although the service has locked nothing",
    in: silent,
    breaks: /^no way on: get is guard/,
    parts: decides({
      waysOn: (its, store, code) =>
        code === "guard" ? ["guard --reset"] : waysOn(its, store, code),
    }),
  },
  {
    mistake: "exit 8 names vault ack, and exit 12 vault get",
    in: silent,
    breaks: /^in a circle: get is guard, next: ack; ack is in-doubt, next: get/,
    parts: decides({
      waysOn(its, store, code) {
        if (openOf(store)?.state !== "in-doubt") return waysOn(its, store, code);
        return code === "guard" ? ["ack"] : ["get"];
      },
    }),
  },
  {
    mistake:
      "exit 8 names vault get alone for credentials that were refused twice and imported since",
    in: imported,
    breaks: /^in a circle: .* get is guard, next: get$/,
    parts: decides({
      waysOn: (its, store, code) => {
        const ways = waysOn(its, store, code);
        return ways.includes("get --generation N --force") ? ["get"] : ways;
      },
    }),
  },
  {
    mistake: "exit 6 does not name the import of the right credentials",
    in: imported,
    breaks: /^in a circle/,
    parts: decides({
      waysOn: (its, store, code) =>
        waysOn(its, store, code).map((way) => (way === "import" ? "get" : way)),
    }),
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
    parts: decides({
      toSettle: (store, command) =>
        openOf(store)?.state === "in-doubt" ? "in-doubt" : client.toSettle(store, command),
    }),
  },
  {
    mistake: "writes of a process that has lost its lock take effect",
    in: "two processes, and a lock that breaks",
    breaks: /^(order: a start is sent without ①|the breaker: .* no trial)/,
    parts: { ...asDesigned, isFenced: false },
  },
];
