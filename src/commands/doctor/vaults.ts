import type { Policy } from "../../exchange/context.ts";
import { allows, judge } from "../../exchange/guard.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { when } from "../../terminal/time.ts";
import { nextStep } from "../status/vault-status.ts";
import type { Finding } from "../documents/setup.ts";
import { count } from "../../terminal/count.ts";
import { ok, warning } from "./finding.ts";

const day = 86_400_000;
/** A date that comes sooner draws a warning. */
const soonDays = 30;

/** What the state knows of each vault that needs something done. A check without a finding is one line. */
export function vaultFindings(vaults: readonly VaultRecord[], policy: Policy, now: number): Finding[] {
  const all = count(vaults.length, "vault");
  const orOk = (findings: Finding[], check: string, message: string): Finding[] => (findings.length > 0 ? findings : [ok(check, message)]);
  return [
    ...orOk(
      vaults.flatMap((vault) => pending(vault, now)),
      "pending",
      "no pending exchanges",
    ),
    ...orOk(
      vaults.flatMap((vault) => lockRisk(vault, policy)),
      "lock-risk",
      `${all}, none locked or close to it`,
    ),
    ...orOk(
      vaults.flatMap((vault) => dates(vault, now)),
      "dates",
      `no vault auto-locks or expires within ${soonDays} days`,
    ),
  ];
}

const named = ({ uuid, label }: VaultRecord): string => (label === null ? `vault ${uuid}` : `${label} (${uuid})`);

function pending(vault: VaultRecord, now: number): Finding[] {
  const { open, uuid } = vault;
  if (open === null) return [];
  if (open.state === "in-doubt") {
    return [
      warning(
        "pending",
        `${named(vault)}: ${open.operation} in doubt; either the old or the new credentials are valid`,
        nextStep(uuid, open),
      ),
    ];
  }
  const left = open.tokenExpiry === null ? "" : `; its token expires ${when(open.tokenExpiry, now)}`;
  const state = open.state === "held" ? "held" : "waiting for its acknowledgement";
  return [warning("pending", `${named(vault)}: ${open.operation} ${state}${left}`, nextStep(uuid, open))];
}

function lockRisk(vault: VaultRecord, policy: Policy): Finding[] {
  const { uuid, unackedStarts, failedAttempts } = vault;
  const code = vault.lastError?.code;
  if (code === "gone") {
    const hint = `vault get ${uuid} (asks the service again; check --base-url and --kind first)`;
    return [{ check: "lock-risk", level: "error", message: `${named(vault)} is gone, says the service`, hint }];
  }
  if (code === "locked") {
    const hint = `vault guard ${uuid} --reset (after an administrator has unlocked it)`;
    return [{ check: "lock-risk", level: "error", message: `${named(vault)} is locked`, hint }];
  }
  if (allows(judge(vault, policy))) return [];
  const counters = `${failedAttempts} of ${policy.failedAttempts} failed attempts, ${unackedStarts} of ${policy.unackedStarts} unacknowledged starts`;
  return [warning("lock-risk", `${named(vault)}: ${counters}; the guard refuses another start`, `vault status ${uuid} --history`)];
}

function dates(vault: VaultRecord, now: number): Finding[] {
  const { uuid, autoLockDate, expiryDate } = vault;
  if (["locked", "gone"].includes(vault.lastError?.code ?? "")) return [];
  const found = (date: string | null, will: string, did: string, hint: string): Finding[] => {
    const time = date === null ? Number.NaN : Date.parse(date);
    if (Number.isNaN(time) || time - now > soonDays * day) return [];
    const message = `${named(vault)} ${time > now ? will : did} ${when(time, now)}`;
    return [{ check: "dates", level: time > now ? "warn" : "error", message, hint }];
  };
  return [
    ...found(autoLockDate, "auto-locks", "was auto-locked", `vault get ${uuid} (a read moves the date by a year)`),
    ...found(expiryDate, "expires", "has expired", `vault get ${uuid} (while it can be read)`),
  ];
}
