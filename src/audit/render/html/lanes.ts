import type { TimelineEvent, VaultReport } from "../../../documents/audit.ts";
import type { EventKind } from "../../fold/events.ts";
import type { Markup } from "./parts.ts";
import { html, inline } from "./parts.ts";

/** Lanes of a timeline, from top to bottom. */
export const lanes = ["starts", "acknowledgements", "failures", "other"] as const;

type Lane = (typeof lanes)[number];

export const laneWords: Record<Lane, string> = {
  starts: "Starts",
  acknowledgements: "Acknowledgements",
  failures: "Refused",
  other: "Administrator, other",
};

/** Lane of each kind of event, and a shape that distinguishes it without color. */
export const drawn: Record<EventKind, { lane: Lane; shape: Shape }> = {
  create: { lane: "other", shape: "plus" },
  read: { lane: "starts", shape: "triangle" },
  update: { lane: "starts", shape: "arrow" },
  "ack-read": { lane: "acknowledgements", shape: "disc" },
  "ack-update": { lane: "acknowledgements", shape: "disc" },
  delete: { lane: "other", shape: "minus" },
  "failed-read": { lane: "failures", shape: "cross" },
  "failed-update": { lane: "failures", shape: "cross" },
  "failed-delete": { lane: "failures", shape: "cross" },
  "failed-attempt": { lane: "failures", shape: "cross" },
  "failed-device": { lane: "failures", shape: "cross" },
  "failed-pin": { lane: "failures", shape: "cross" },
  refused: { lane: "failures", shape: "cross" },
  "locking-failure": { lane: "failures", shape: "cross" },
  "locking-start": { lane: "failures", shape: "cross" },
  "refused-locked": { lane: "failures", shape: "bar" },
  gone: { lane: "failures", shape: "dot" },
  "failed-ack": { lane: "acknowledgements", shape: "ring" },
  lock: { lane: "other", shape: "square" },
  "lock-noted": { lane: "other", shape: "square" },
  unlock: { lane: "other", shape: "frame" },
  "not-performed": { lane: "failures", shape: "dot" },
  unauthorized: { lane: "failures", shape: "dot" },
  application: { lane: "other", shape: "dot" },
  "unanswered-start": { lane: "starts", shape: "triangle" },
  "unanswered-ack": { lane: "acknowledgements", shape: "disc" },
  "unclear-start": { lane: "starts", shape: "triangle" },
  "unclear-ack": { lane: "acknowledgements", shape: "disc" },
  other: { lane: "other", shape: "dot" },
};

/** Paths of the shapes, centered on 0,0 and about 14 units wide. */
const paths = {
  triangle: "M-5-6.5L7 0L-5 6.5Z",
  arrow: "M-6.5-6.5L0-6.5L7 0L0 6.5L-6.5 6.5L-1.5 0Z",
  disc: "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0-6 0Z",
  ring: "M-6 0A6 6 0 1 0 6 0A6 6 0 1 0-6 0ZM-3 0A3 3 0 1 1 3 0A3 3 0 1 1-3 0Z",
  cross:
    "M-6.5-4.2L-4.2-6.5L0-2.3L4.2-6.5L6.5-4.2L2.3 0L6.5 4.2L4.2 6.5L0 2.3L-4.2 6.5L-6.5 4.2L-2.3 0Z",
  bar: "M-7-2.5H7V2.5H-7Z",
  plus: "M-2-6.5H2V-2H6.5V2H2V6.5H-2V2H-6.5V-2H-2Z",
  minus: "M-6.5-6.5H6.5V6.5H-6.5ZM-4-1.5V1.5H4V-1.5Z",
  square: "M-6-6H6V6H-6Z",
  frame: "M-6-6H6V6H-6ZM-3.2-3.2V3.2H3.2V-3.2Z",
  dot: "M-3.5 0A3.5 3.5 0 1 0 3.5 0A3.5 3.5 0 1 0-3.5 0Z",
} as const;

type Shape = keyof typeof paths;

export const shape = (name: Shape): Markup =>
  inline`<path fill-rule="evenodd" d="${paths[name]}"/>`;

const legend: [Shape, Lane, string][] = [
  ["triangle", "starts", "read started"],
  ["arrow", "starts", "update started"],
  ["disc", "acknowledgements", "acknowledged"],
  ["ring", "acknowledgements", "acknowledgement refused"],
  ["cross", "failures", "refused: counts toward lockout"],
  ["bar", "failures", "refused: already locked"],
  ["plus", "other", "created"],
  ["minus", "other", "deleted"],
  ["square", "other", "locked by administrator"],
  ["frame", "other", "unlocked by administrator"],
  ["dot", "other", "other"],
];

/** Renders the legend of the shapes. */
export function legendOf(): Markup {
  const entries = legend.map(
    ([name, lane, words]) =>
      html`<li>
        <svg class="key" viewBox="-10 -10 20 20" aria-hidden="true">
          <g class="event ${lane}">${shape(name)}</g></svg
        >${words}
      </li>`,
  );
  const more: [Markup, string][] = [
    [
      html`<circle class="halo" r="9" /><g class="event failures">${shape("cross")}</g>`,
      "part of the cause, numbered",
    ],
    [html`<rect class="open" x="-10" y="-3" width="20" height="6" />`, "open exchange"],
    [html`<rect class="locked" x="-10" y="-9" width="20" height="18" />`, "locked"],
  ];
  const others = more.map(
    ([drawing, words]) =>
      html`<li>
        <svg class="key" viewBox="-10 -10 20 20" aria-hidden="true">${drawing}</svg>${words}
      </li>`,
  );
  return html`<ul class="legend">
    ${entries}${others}
  </ul>`;
}

/** A period of a timeline, in milliseconds since the epoch. */
export interface Period {
  from: number;
  to: number;
  /** How the period ended, in words. */
  end: string;
}

/** Returns the periods with an open exchange: from an accepted start until the next start, the acknowledgement or the token's expiry. */
export function openPeriods(
  timeline: readonly TimelineEvent[],
  tokenLifetimeMs: number,
  until: number,
): Period[] {
  const periods: Period[] = [];
  let open: number | undefined;
  const close = (at: number, end: string): void => {
    if (open === undefined) return;
    const expiry = open + tokenLifetimeMs;
    periods.push(
      expiry < at
        ? { from: open, to: expiry, end: "its token expired" }
        : { from: open, to: at, end },
    );
    open = undefined;
  };
  for (const { item, state } of timeline) {
    const at = Date.parse(item.at);
    const starts = item.event === "read" || item.event === "update";
    if (starts) close(at, "replaced by another start");
    else if (item.event === "ack-read" || item.event === "ack-update") close(at, "acknowledged");
    else if (state === "locked" || state === "deleted") close(at, state);
    if (starts && state === "exchange-open") open = at;
  }
  close(until, "not acknowledged yet");
  return periods;
}

/** Returns the periods of locks. A lock without an event begins at `lockedAt`, or at the first event that finds the vault locked. */
export function lockedPeriods(
  { timeline = [], lockedAt, state }: VaultReport,
  until: number,
): Period[] {
  const periods: Period[] = [];
  const known = lockedAt === undefined ? undefined : Date.parse(lockedAt);
  let from: number | undefined;
  let last = -Infinity;
  for (const event of timeline) {
    const at = Date.parse(event.item.at);
    if (event.state === "locked")
      from ??= known !== undefined && known > last && known < at ? known : at;
    else if (from !== undefined) {
      periods.push({ from, to: at, end: event.state === "deleted" ? "deleted" : "unlocked" });
      from = undefined;
    }
    last = at;
  }
  if (from === undefined && state === "locked") from = known ?? last;
  if (from !== undefined && Number.isFinite(from))
    periods.push({ from, to: Math.max(until, from), end: "still locked" });
  return periods;
}
