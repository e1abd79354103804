import type { InputReport, Origin, ReplaySummary } from "../../documents/audit.ts";
import { count, grouped } from "../../terminal/count.ts";
import { isProblem, type Verdict, verdicts } from "../fold/events.ts";
import type { Vault } from "../fold/vault.ts";
import { listed, said, short } from "../read/clip.ts";
import { clientOf, clientWords, inBrackets, type Log } from "./log.ts";
import type { Ranked } from "./report.ts";
import { evidenceOf } from "./verdict.ts";

/** Maximum number of vaults whose items are read again to find out who locked them. */
const maxRead = 500;

/** Returns the answer to "what is wrong, and who caused it" across all vaults, which are sorted worst first. */
export function answerOf(
  log: Log,
  vaults: readonly Ranked[],
): Pick<ReplaySummary, "found" | "vaultCount" | "verdicts"> {
  const where = log.selection?.conditions.map((one) => log.pseudonyms.condition(one)) ?? [];
  const of = log.fold.vaults.filter(Boolean).length;
  const byVerdict = Map.groupBy(vaults, ({ verdict }) => verdict);
  const counts = Object.fromEntries(
    verdicts.map((one) => [one, byVerdict.get(one)?.length ?? 0]),
  ) as Record<Verdict, number>;
  const [worst = "ok", ...others] = verdicts.filter((one) => isProblem(one) && counts[one] > 0);
  const all = (isProblem(worst) && byVerdict.get(worst)) || [];
  const read = worst === "locked" || worst === "at-risk" ? all.slice(0, maxRead) : [];
  const by = tallyOrigins(read.map(({ vault }) => originOf(log, vault)));
  const unsure = all.filter(({ certainty }) => certainty === "likely").length;
  const some = unsure === 0 ? "" : `, ${grouped(unsure)} of them probably`;
  const condition =
    unsure === all.length ? `probably ${conditions[worst]}` : `${conditions[worst]}${some}`;
  const also = others.map((one) => `${grouped(counts[one])} ${conditions[one]}`).join(", ");
  const have = `${vaults.length === 1 ? "has" : "have"} an item with ${where.map(short).join(" and ")}`;
  const gone = counts.deleted === 0 ? "" : `, ${grouped(counts.deleted)} of them deleted`;
  const text = said(
    [
      all.length > 0,
      `${count(all.length, "vault")} ${condition}${blame(worst, all.length, read.length, by)}.`,
    ],
    [also !== "", `Also ${also}.`],
    [of === 0, "No vaults found."],
    [
      vaults.length > 0 && all.length === 0,
      `No locks found in ${count(vaults.length, "vault")}${gone}. Locks made in the console appear only if the export records them.`,
    ],
    [
      log.selection !== undefined && of > 0,
      `${grouped(vaults.length)} of ${count(of, "vault")} ${have}.`,
    ],
  );
  return { found: { text: text.join(" "), by }, vaultCount: vaults.length, verdicts: counts };
}

/** Names the inputs that are cut off, if any: `audit.gz is cut off or damaged at line 812`. */
export function cutWords(inputs: readonly InputReport[]): string | undefined {
  const cut = inputs.filter(({ cutAt }) => cutAt !== undefined);
  const named = cut.map(({ name, cutAt }) => `${name} is cut off or damaged at line ${cutAt}`);
  return named.length === 0 ? undefined : listed(named);
}

const conditions: Record<Verdict, string> = {
  locked: "locked",
  "at-risk": "at risk",
  "open-exchange": "with an open exchange",
  unknown: "without a verdict",
  deleted: "deleted",
  ok: "ok",
};

/** Returns the origin of most of the items that locked a vault, or that count toward lockout. */
function originOf(log: Log, vault: Vault): Omit<Origin, "vaults"> {
  const { rule, chain } = evidenceOf(log, vault);
  if (rule === "auto-lock" || rule === "unseen") return { rule };
  const client = clientOf(chain);
  return rule === "administrator" ? { rule, ...client } : client;
}

/** Counts equal origins, most frequent first. */
const tallyOrigins = (origins: readonly Omit<Origin, "vaults">[]): Origin[] =>
  [...Map.groupBy(origins, (one) => JSON.stringify(one)).values()]
    .map((same) => ({ vaults: same.length, ...same[0] }))
    .sort((a, b) => b.vaults - a.vaults);

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
