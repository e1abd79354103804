import { command, noted } from "../../way.ts";
import { startRisk } from "../../exchange/counting.ts";
import type { Circumstances } from "../../exchange/next-action.ts";
import { waysOn } from "../../exchange/ways.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { when } from "../../terminal/time.ts";
import type { Reader } from "../../terminal/who.ts";
import { bySince } from "../../terminal/who.ts";
import type { Finding } from "../../documents/setup.ts";
import { count } from "../../terminal/count.ts";
import { bad, ok, warning } from "./finding.ts";

const day = 86_400_000;
/** A date that comes sooner draws a warning. */
const soonDays = 30;

/** What the state knows of each vault that needs something done; one that is `used` by a process needs nobody. A check without a finding is one line. */
export function vaultFindings(
  vaults: readonly VaultRecord[],
  used: ReadonlySet<string>,
  circumstances: Circumstances,
  reader: Reader,
): Finding[] {
  const idle = vaults.filter(({ uuid }) => !used.has(uuid));
  const all = count(vaults.length, "vault");
  const orOk = (findings: Finding[], check: string, message: string): Finding[] =>
    findings.length > 0 ? findings : [ok(check, message)];
  return [
    ...orOk(
      idle.flatMap((vault) => pending(vault, circumstances, reader)),
      "pending",
      "no pending exchanges",
    ),
    ...orOk(
      idle.flatMap((vault) => lockRisk(vault, circumstances)),
      "lock-risk",
      `${all}, none locked or close to it`,
    ),
    ...orOk(
      vaults.flatMap((vault) => dates(vault, circumstances.clock.now(), reader)),
      "dates",
      `no vault auto-locks or expires within ${soonDays} days`,
    ),
  ];
}

const named = ({ uuid, label }: VaultRecord): string =>
  label === null ? `vault ${uuid}` : `${label} (${uuid})`;

function pending(vault: VaultRecord, given: Circumstances, reader: Reader): Finding[] {
  const { open } = vault;
  if (open === null) return [];
  const left =
    open.tokenExpiry === null ? "" : `; its token expires ${when(open.tokenExpiry, reader.now)}`;
  const isHeld = open.state === "held";
  const state = isHeld ? "held" : "waiting for its acknowledgement";
  const who = bySince(open, reader, isHeld ? " by" : ", by");
  const what =
    open.state === "in-doubt"
      ? `in doubt${who}; either the old or the new credentials are valid`
      : `${state}${who}${left}`;
  return [warning("pending", `${named(vault)}: ${open.operation} ${what}`, waysOn(vault, given))];
}

function lockRisk(vault: VaultRecord, given: Circumstances): Finding[] {
  const { unackedStarts, failedAttempts } = vault;
  const { policy } = given;
  const next = waysOn(vault, given);
  const code = vault.lastError?.code;
  if (code === "gone" || code === "locked")
    return [bad("lock-risk", `${named(vault)} is ${code}`, next)];
  if (startRisk(vault, policy).allows) return [];
  const counters = `${failedAttempts} of ${policy.failedAttempts} failed attempts, ${unackedStarts} of ${policy.unackedStarts} unacknowledged starts`;
  return [
    warning("lock-risk", `${named(vault)}: ${counters}; the guard refuses another start`, next),
  ];
}

function dates(vault: VaultRecord, now: number, reader: Reader): Finding[] {
  const { uuid, autoLockDate, expiryDate } = vault;
  if (["locked", "gone"].includes(vault.lastError?.code ?? "")) return [];
  const found = (date: string | null, will: string, did: string, note: string): Finding[] => {
    const time = date === null ? Number.NaN : Date.parse(date);
    if (Number.isNaN(time) || time - now > soonDays * day) return [];
    const at = when(time, reader.now);
    const next = [noted(command`vault get ${uuid}`, note)];
    return time > now
      ? [warning("dates", `${named(vault)} ${will} ${at}`, next)]
      : [bad("dates", `${named(vault)} ${did} ${at}`, next)];
  };
  return [
    ...found(autoLockDate, "auto-locks", "was auto-locked", "a read moves the date by a year"),
    ...found(expiryDate, "expires", "has expired", "while it can be read"),
  ];
}
