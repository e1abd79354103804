import type { Found, InputReport, Origin, Selected } from "../../documents/audit.ts";
import { counted, grouped } from "../../terminal/count.ts";
import type { Vault } from "../fold/vault.ts";
import type { Verdict } from "./severity.ts";
import { isProblem, verdicts } from "./severity.ts";
import { short } from "../read/clip.ts";
import { chainOf, clientOf, clientWords } from "./evidence.ts";
import type { Ranked, ReportContext } from "./report.ts";
import { judgementOf } from "./report.ts";

/** Maximum number of vaults whose items are read again to find out who locked them. */
const maxRead = 500;
/** Maximum number of origins in the text. */
const maxNamed = 3;

/** Returns the answer to "what is wrong, and who caused it" across all vaults, which are sorted worst first. */
export function foundOf(
  context: ReportContext,
  vaults: readonly Ranked[],
  counts: Readonly<Record<Verdict, number>>,
  selected: Selected | undefined,
): Found {
  const selection = selected === undefined || selected.of === 0 ? [] : [selectionWords(selected)];
  if (vaults.length === 0 && selection.length > 0) return { text: selection.join(""), by: [] };
  const [worst, ...others] = verdicts.filter((one) => isProblem(one) && counts[one] > 0);
  if (worst === undefined)
    return { text: [nothingIn(vaults.length, counts.deleted), ...selection].join(" "), by: [] };
  const count = counts[worst];
  const hasOrigin = worst === "locked" || worst === "at-risk";
  const read = hasOrigin ? vaults.slice(0, Math.min(count, maxRead)) : [];
  const by = tallyOrigins(read.map(({ vault }) => originOf(context, vault)));
  const sure = vaults.filter(
    ({ vault, verdict }) =>
      verdict === worst && judgementOf(context, vault).certainty === "certain",
  ).length;
  const also = others.map((one) => `${grouped(counts[one])} ${conditions[one]}`).join(", ");
  const text = `${counted(count, "vault")} ${conditionWords(worst, count, sure)}${blame(worst, count, read.length, by)}.`;
  return {
    text: [text, ...(also === "" ? [] : [`Also ${also}.`]), ...selection].join(" "),
    by,
  };
}

/** Names the inputs that are cut off, if any: `audit.gz is cut off or damaged at line 812`. */
export function cutWords(inputs: readonly InputReport[]): string | undefined {
  const cut = inputs.filter(({ cutAt }) => cutAt !== undefined);
  if (cut.length === 0) return undefined;
  const named = cut
    .slice(0, maxNamed)
    .map(({ name, cutAt }) => `${name} is cut off or damaged at line ${cutAt}`);
  return `${named.join(", ")}${cut.length > maxNamed ? ", …" : ""}`;
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

/** Says that a verdict is not certain, for all vaults or for some. */
function conditionWords(verdict: Verdict, count: number, sure: number): string {
  const words = conditions[verdict];
  if (verdict === "unknown" || sure === count) return words;
  return sure === 0 ? `probably ${words}` : `${words}, ${grouped(count - sure)} of them probably`;
}

/** A person asks because a vault is locked. */
const unseenLocks = "Locks made in the console appear only if the export records them.";

function nothingIn(vaults: number, deleted: number): string {
  if (vaults === 0) return "No vaults found.";
  const gone = deleted === 0 ? "" : `, ${grouped(deleted)} of them deleted`;
  return `No locks found in ${counted(vaults, "vault")}${gone}. ${unseenLocks}`;
}

/** Returns the origin of most of the items that locked a vault, or that count toward lockout. */
function originOf(context: ReportContext, vault: Vault): Omit<Origin, "vaults"> {
  const judgement = judgementOf(context, vault);
  const { rule } = judgement;
  if (rule === "auto-lock" || rule === "unseen") return { rule };
  const chain = chainOf(context.fold, vault, judgement);
  const client = clientOf(chain.map((seen) => context.references.to(seen)));
  return rule === "administrator" ? { rule, ...client } : client;
}

/** Counts equal origins, most frequent first. */
function tallyOrigins(origins: readonly Omit<Origin, "vaults">[]): Origin[] {
  const counts = new Map<string, Origin>();
  for (const origin of origins) {
    const key = JSON.stringify([
      origin.rule,
      origin.externalRef,
      origin.address,
      origin.application,
    ]);
    const known = counts.get(key);
    if (known === undefined) counts.set(key, { vaults: 1, ...origin });
    else known.vaults += 1;
  }
  return [...counts.values()].sort((a, b) => b.vaults - a.vaults);
}

/** Describes who caused the problem: ` by …` for one vault, `; both by …`, `; 3 by …, 2 by …`. */
function blame(verdict: Verdict, count: number, read: number, by: readonly Origin[]): string {
  const [first] = by;
  if (first === undefined) return "";
  const preposition = verdict === "locked" ? "by" : "because of";
  const words = (origin: Origin): string => `${preposition} ${originWords(origin)}`;
  if (count === 1) return ` ${words(first)}`;
  const part = read < count ? `of the latest ${grouped(read)}, ` : "";
  if (by.length === 1) return `; ${part}${read === 2 ? "both" : "all"} ${words(first)}`;
  const named = by.slice(0, maxNamed).map((origin) => `${grouped(origin.vaults)} ${words(origin)}`);
  const rest = by.slice(maxNamed).reduce((sum, { vaults }) => sum + vaults, 0);
  return `; ${part}${named.join(", ")}${rest === 0 ? "" : ` and ${grouped(rest)} ${preposition} others`}`;
}

/** Describes an origin: `reference report-cron from 10.0.0.7`. */
export function originWords({ rule, ...client }: Origin): string {
  if (rule === "auto-lock") return "auto-lock";
  if (rule === "unseen") return "a cause not in the log";
  const from = client.address === undefined ? "" : ` from ${short(client.address)}`;
  if (rule === "administrator") return `an administrator${from}`;
  if (client.externalRef === undefined && from !== "") return `calls${from}`;
  return clientWords(client) ?? "calls of unknown or mixed origin";
}
