import type { Found, InputReport, Origin, Selected } from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { Verdict } from "../fold/events.ts";
import { isProblem, verdicts } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import { listed, short } from "../read/clip.ts";
import { chainOf, clientOf, clientWords, inBrackets } from "./evidence.ts";
import type { Log } from "./log.ts";
import { eventsOf } from "./log.ts";
import type { Ranked } from "./report.ts";
import { judge } from "./verdict.ts";

/** Maximum number of vaults whose items are read again to find out who locked them. */
const maxRead = 500;

/** Returns the answer to "what is wrong, and who caused it" across all vaults, which are sorted worst first. */
export function foundOf(
  log: Log,
  vaults: readonly Ranked[],
  counts: Readonly<Record<Verdict, number>>,
  selected: Selected | undefined,
): Found {
  const selection = selected === undefined || selected.of === 0 ? [] : [selectionWords(selected)];
  const [worst, ...others] = verdicts.filter((one) => isProblem(one) && counts[one] > 0);
  if (worst === undefined) {
    const nothing = nothingIn(vaults.length, counts.deleted);
    const isEmpty = vaults.length === 0 && selection.length > 0;
    return { text: [...(isEmpty ? [] : [nothing]), ...selection].join(" "), by: [] };
  }
  const count = counts[worst];
  const all = vaults.slice(0, count);
  const unsure = all.filter(({ vault }) => judge(log, vault).certainty === "likely").length;
  const hasOrigin = worst === "locked" || worst === "at-risk";
  const read = hasOrigin ? all.slice(0, maxRead) : [];
  const by = tallyOrigins(read.map(({ vault }) => originOf(log, vault)));
  const condition =
    unsure === count
      ? `probably ${conditions[worst]}`
      : `${conditions[worst]}${unsure === 0 ? "" : `, ${grouped(unsure)} of them probably`}`;
  const also = others.map((one) => `${grouped(counts[one])} ${conditions[one]}`).join(", ");
  return {
    text: [
      `${counted(count, "vault")} ${condition}${blame(worst, count, read.length, by)}.`,
      ...(also === "" ? [] : [`Also ${also}.`]),
      ...selection,
    ].join(" "),
    by,
  };
}

/** Names the inputs that are cut off, if any: `audit.gz is cut off or damaged at line 812`. */
export function cutWords(inputs: readonly InputReport[]): string | undefined {
  const cut = inputs.filter(({ cutAt }) => cutAt !== undefined);
  const named = cut.map(({ name, cutAt }) => `${name} is cut off or damaged at line ${cutAt}`);
  return named.length === 0 ? undefined : listed(named);
}

/** Describes a selection: `3 of 120 vaults have an item with ref=nightly-job.` */
function selectionWords({ where, vaults, of }: Selected): string {
  const have = vaults === 0 ? "None of" : `${grouped(vaults)} of`;
  return `${have} ${counted(of, "vault")} ${vaults > 1 ? "have" : "has"} an item with ${where.map(short).join(" and ")}.`;
}

const conditions: Record<Verdict, string> = {
  locked: "locked",
  "at-risk": "at risk",
  "open-exchange": "with an open exchange",
  unknown: "without a verdict",
  deleted: "deleted",
  ok: "ok",
};

function nothingIn(vaults: number, deleted: number): string {
  if (vaults === 0) return "No vaults found.";
  const gone = deleted === 0 ? "" : `, ${grouped(deleted)} of them deleted`;
  return `No locks found in ${counted(vaults, "vault")}${gone}. Locks made in the console appear only if the export records them.`;
}

/** Returns the origin of most of the items that locked a vault, or that count toward lockout. */
function originOf(log: Log, vault: Vault): Omit<Origin, "vaults"> {
  const judgement = judge(log, vault);
  const { rule } = judgement;
  if (rule === "auto-lock" || rule === "unseen") return { rule };
  const client = clientOf(chainOf(eventsOf(log, vault).before, vault, judgement));
  return rule === "administrator" ? { rule, ...client } : client;
}

/** Counts equal origins, most frequent first. */
function tallyOrigins(origins: readonly Omit<Origin, "vaults">[]): Origin[] {
  const counts = new Map<string, Origin>();
  for (const origin of origins) {
    const { rule, externalRef, address, application } = origin;
    const key = JSON.stringify([rule, externalRef, address, application]);
    const { vaults } = counts.get(key) ?? { vaults: 0 };
    counts.set(key, { ...origin, vaults: vaults + 1 });
  }
  return [...counts.values()].sort((a, b) => b.vaults - a.vaults);
}

/** Describes who caused the problem: ` by …`, or of several origins `; 3 by …, 2 by …`. */
function blame(verdict: Verdict, count: number, read: number, by: readonly Origin[]): string {
  const [first] = by;
  if (first === undefined) return "";
  const preposition = verdict === "locked" ? "by" : "because of";
  if (by.length === 1 && read === count) return ` ${preposition} ${originWords(first)}`;
  const part = read < count ? `of the latest ${grouped(read)}, ` : "";
  const named = by.map((one) => `${grouped(one.vaults)} ${preposition} ${originWords(one)}`);
  return `; ${part}${listed(named)}`;
}

/** Describes an origin: `reference report-cron from 10.0.0.7`. */
export function originWords({ rule, ...client }: Origin): string {
  if (rule === "auto-lock") return "auto-lock";
  if (rule === "unseen") return "a cause not in the log";
  if (rule === "administrator") return `an administrator${inBrackets(client)}`;
  return clientWords(client) || "calls of unknown or mixed origin";
}
