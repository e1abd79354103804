import type {
  Contradiction,
  ItemReference,
  Rules,
  Tally,
  TimelineEvent,
  VaultReport,
} from "../../documents/audit.ts";
import { counted } from "../../terminal/count.ts";
import type { Line } from "./words.ts";
import {
  advisedCommand,
  contradictionWords,
  counters,
  eventWords,
  few,
  ownWords,
  ruleWords,
  span,
  stateWords,
} from "./words.ts";

const maxExchanges = 3;

/** Facts of one line. */
export type FactName = "refused" | "rule" | "open" | "counters" | "items";

/** Whose call it was. */
export type OriginName = keyof VaultReport["who"];

/** An item that led to the lock or counts toward lockout. */
export interface Step {
  item: ItemReference;
  event: string;
  /** Reference and address. */
  who: string | undefined;
  /** Whether the item locked the vault. A call that finds it locked did not. */
  locks: boolean;
}

/** What is said of a vault, in this order. A writer leaves out kinds for which it has no room. */
export type VaultBlock =
  | { kind: "cause"; line: Line }
  | { kind: "fact"; name: FactName; line: Line }
  /** Certainty of the verdict, and why; `isRepeated`: the rule has the same reason. */
  | { kind: "confidence"; line: Line; isRepeated: boolean }
  /** The acknowledgement that replaced refused credentials, if any, then the items, oldest first. */
  | { kind: "steps"; replaced: Step | undefined; steps: readonly Step[] }
  | { kind: "origin"; name: OriginName; values: readonly Tally[] }
  /** Exchanges of this machine. */
  | { kind: "exchanges"; lines: readonly Line[] }
  | { kind: "contradictions"; all: readonly Odd[]; more: number }
  | { kind: "advice"; to: "support" | "developer"; text: string }
  /** Those that the advice names. */
  | { kind: "commands"; commands: readonly string[] };

/** A contradiction in the log. */
export interface Odd extends Pick<Contradiction, "at" | "text" | "item"> {
  words: string;
}

/** Returns the outline of the report on a vault, without its timeline. */
export function outlineOf(vault: VaultReport, rules: Rules): VaultBlock[] {
  const { cause, certainty, reason, advice, who } = vault;
  const { support, developer } = advice;
  const { starts, failed } = counters(vault, rules);
  const chain = cause?.chain ?? vault.counting;
  const replaced = cause?.refused?.replacedBy?.acknowledgement;
  const exchanges = few([...new Set(chain.flatMap((item) => ownWords(item) ?? []))], maxExchanges);
  const odd = contradictionsOf(vault);
  const commands = [...new Set(`${support} ${developer}`.match(advisedCommand))];
  const blocks: (VaultBlock | undefined)[] = [
    cause && { kind: "cause", line: [{ sentence: cause.text }] },
    cause?.refused && fact("refused", [{ sentence: cause.refused.text }]),
    cause &&
      fact("rule", [
        `${ruleWords[cause.rule]}, `,
        { certainty: cause.certainty },
        ": ",
        { sentence: cause.reason },
      ]),
    {
      kind: "confidence",
      line: [{ certainty }, ": ", { sentence: reason }],
      isRepeated: cause?.reason === reason,
    },
    openFact(vault),
    fact("counters", [`${starts} unacknowledged starts, ${failed} failed attempts in a row`]),
    chain.length === 0 && replaced === undefined
      ? undefined
      : {
          kind: "steps",
          replaced: replaced && stepOf(vault, replaced),
          steps: chain.map((item) => stepOf(vault, item)),
        },
    ...origins.map((name): VaultBlock | undefined =>
      who[name].length === 0 ? undefined : { kind: "origin", name, values: who[name] },
    ),
    exchanges.shown.length === 0
      ? undefined
      : {
          kind: "exchanges",
          lines: [
            ...exchanges.shown.map((words): Line => [{ sentence: words }]),
            ...(exchanges.more > 0
              ? [[`and ${counted(exchanges.more, "more exchange")} of this machine`]]
              : []),
          ],
        },
    fact("items", [
      `${counted(vault.items, "item")}, from `,
      { time: vault.firstAt },
      " to ",
      { time: vault.lastAt },
    ]),
    odd,
    { kind: "advice", to: "support", text: support },
    { kind: "advice", to: "developer", text: developer },
    commands.length === 0 ? undefined : { kind: "commands", commands },
  ];
  return blocks.filter((block) => block !== undefined);
}

const origins: readonly OriginName[] = ["addresses", "externalRefs", "endpoints", "applications"];

const fact = (name: FactName, line: Line): VaultBlock => ({ kind: "fact", name, line });

/** Returns the contradictions of a vault, if it has any. */
export function contradictionsOf({
  contradictions,
  moreContradictions,
}: VaultReport): Extract<VaultBlock, { kind: "contradictions" }> | undefined {
  if (contradictions.length + moreContradictions === 0) return undefined;
  const all = contradictions.map(({ kind, ...each }) => ({
    ...each,
    words: contradictionWords[kind],
  }));
  return { kind: "contradictions", all, more: moreContradictions };
}

function stepOf({ cause }: VaultReport, item: ItemReference): Step {
  const locks = cause?.item !== undefined && cause.rule !== "unseen" && isSame(item, cause.item);
  return { item, event: eventWords[item.event], who: actor(item), locks };
}

/** Names who sent an item: `nightly-report from 10.0.0.7`. */
function actor({ externalRef, address }: ItemReference): string | undefined {
  const parts = [externalRef, address].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(" from ");
}

/** Whether both are the same line of the same input. */
const isSame = (one: ItemReference, other: ItemReference): boolean =>
  one.line === other.line && one.input === other.input;

/** Returns the operation of the open exchange, and the time of its token's expiry in words. */
export function openExchange({
  exchange,
}: VaultReport): { operation: string; expiry: Line } | undefined {
  if (exchange === undefined) return undefined;
  const { operation, expired, tokenExpiry } = exchange;
  return {
    operation: operation === "get" ? "read" : "update",
    expiry: [`its token ${expired ? "expired" : "expires"} `, { time: tokenExpiry }],
  };
}

function openFact(vault: VaultReport): VaultBlock | undefined {
  const open = openExchange(vault);
  if (vault.exchange === undefined || open === undefined) return undefined;
  const started = { time: vault.exchange.startedAt };
  return fact("open", [
    `${open.operation} started `,
    started,
    ", not acknowledged; ",
    ...open.expiry,
  ]);
}

/** An event of a timeline in words. */
export interface Told {
  event: TimelineEvent;
  words: string;
  /** Action as written, for an event that has no words. */
  action: string | undefined;
  /** Time since the event before; absent for the first one. */
  after: { words: string; isSilence: boolean } | undefined;
  /** After the event, with the limits. */
  counters: { starts: string; failed: string };
  state: string;
  /** The exchange of this machine that it belongs to. */
  own: Line | undefined;
  contradictions: readonly Odd[];
}

/** Returns the newest events of a timeline, at most `most`, and contradictions before all of them. */
export function eventsOf(
  vault: VaultReport,
  { limits }: Rules,
  most = Number.POSITIVE_INFINITY,
): { told: Told[]; earlier: readonly Odd[] } {
  const events = (vault.timeline ?? []).slice(-most);
  const distances = distancesOf(events.map(({ item }) => Date.parse(item.at)));
  const placed = placeContradictions(events, contradictionsOf(vault)?.all ?? []);
  const told = events.map((event, index): Told => {
    const { item, unackedStarts, failedAttempts, state } = event;
    const before = distances[index - 1];
    const own = ownWords(item);
    return {
      event,
      words: eventWords[item.event],
      action: item.event === "other" || item.event === "application" ? item.action : undefined,
      after: before && { words: span(before.milliseconds), isSilence: before.isSilence },
      counters: {
        starts: `${unackedStarts}/${limits.unackedStarts}`,
        failed: `${failedAttempts}/${limits.failedAttempts}`,
      },
      state: stateWords[state],
      own: own === undefined ? undefined : [{ sentence: own }],
      contradictions: placed.get(index) ?? [],
    };
  });
  return { told, earlier: placed.get(-1) ?? [] };
}

/** Groups contradictions by the index of their event or, if it is not listed, of the last event before them; -1 if there is none. */
function placeContradictions(
  timeline: readonly TimelineEvent[],
  all: readonly Odd[],
): Map<number, Odd[]> {
  const placed = new Map<number, Odd[]>();
  for (const each of all) {
    const same = timeline.findIndex(({ item }) => isSame(item, each.item));
    const before = timeline.findLastIndex(({ item }) => Date.parse(item.at) <= Date.parse(each.at));
    const index = same === -1 ? before : same;
    placed.set(index, [...(placed.get(index) ?? []), each]);
  }
  return placed;
}

/** Returns the distances between sorted times (milliseconds since the epoch), and which of them to mark as a silence. */
export function distancesOf(
  times: readonly number[],
): { milliseconds: number; isSilence: boolean }[] {
  const distances = times
    .slice(1)
    .map((time, index) => Math.max(0, time - (times[index] as number)));
  const positive = distances.filter((distance) => distance > 0).sort((a, b) => a - b);
  const typical = positive[Math.floor(positive.length / 2)] ?? 0;
  return distances.map((milliseconds) => ({
    milliseconds,
    isSilence: isSilence(milliseconds, typical),
  }));
}

/** Whether a distance is a silence: a day, or an hour if it is ten times the typical distance. */
const isSilence = (milliseconds: number, typical: number): boolean =>
  milliseconds >= 86_400_000 || (milliseconds >= 3_600_000 && milliseconds >= 10 * typical);
