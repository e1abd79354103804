import { formatDuration } from "../../duration.ts";
import type { Finding } from "../../documents/schemas.ts";
import type { VaultError } from "../../errors.ts";
import { wording } from "../../exchange/dispositions.ts";
import type { Reply } from "../../exchange/ports.ts";
import { tellsFileSystems, type UnsafeFileSystem } from "../../files/disk.ts";
import { restoring } from "../../files/state-error.ts";
import type { Reach } from "../../parts/service.ts";
import type { DirectoryFacts, ServerFacts, StateFacts } from "../../parts/state.ts";
import { isLoopback } from "../../protocol/address.ts";
import { classify } from "../../protocol/classify.ts";
import { count } from "../../terminal/count.ts";
import { durationInWords } from "../../terminal/time.ts";
import { command, noted, type Way } from "../../way.ts";

/** What to do about a finding is a sentence, or commands. */
const of =
  (level: Finding["level"]) =>
  (check: string, message: string, advice: string | Way[] = []): Finding =>
    typeof advice === "string"
      ? { check, level, message, hint: advice, next: [] }
      : { check, level, message, next: advice };

export const ok = of("ok");
export const unverified = of("info");
const warning = of("warn");
const bad = of("error");

export const failed = (check: string, { message, facts }: VaultError): Finding => ({
  ...bad(check, message, facts.hint),
  next: facts.next ?? [],
});

/** A clock that is further off draws a warning, in seconds. */
const clockSeconds = 30;

/** What one request without credentials has shown. `service` is the service's name. */
export function reachFindings(service: string, reach: Reach): Finding[] {
  if (!reach.reached) {
    const { hint = "check the network and --base-url", untrusted = false } =
      reach.type === "not-sent" ? reach : {};
    return [bad(untrusted ? "tls" : "service", reach.cause, hint)];
  }
  const { httpStatus, sentAt, receivedAt } = reach;
  const took = formatDuration(Math.max(1, receivedAt - sentAt));
  const responds =
    httpStatus < 500
      ? ok("service", `${service} responds (in ${took})`)
      : warning(
          "service",
          `${service} responds with HTTP ${httpStatus}`,
          "try again later, or ask the operator of the service",
        );
  return [responds, tlsFinding(new URL(service)), clockFinding(reach)];
}

/** What the reply to a probe says of the application that has sent it; null if nothing. */
export function probeFinding(application: string, reply: Reply): Finding | null {
  if (reply.type !== "answer") return null;
  const is = classify(reply.answer);
  const refused = (what: string, advice: string): Finding =>
    bad("application", `${application}: ${what} (${wording(reply.answer)})`, advice);
  if (is === "missing")
    return refused("the service has no such endpoint", "check --base-url and --api-prefix");
  if (is === "application")
    return refused(
      "refused by the service",
      "check --app-uuid, --api-key and --jwt, and that this address is allowed",
    );
  if (["rate", "server", "service"].includes(is)) return null;
  return ok("application", `${application}: not refused by the service`);
}

function tlsFinding(url: URL): Finding {
  if (url.protocol === "https:") return ok("tls", "the service's certificate is trusted");
  if (isLoopback(url.hostname)) return ok("tls", "none: the service is on this machine");
  return warning(
    "tls",
    `none: everything sent to ${url.host}, secrets included, can be read on the way`,
    `use --base-url https://${url.host}`,
  );
}

/** The `Date` header is in whole seconds, and was written between sending and receiving: what that leaves open counts as right. */
function clockFinding({ date, sentAt, receivedAt }: Extract<Reach, { reached: true }>): Finding {
  if (date === null)
    return unverified("clock", "the service's response has no Date header to compare with");
  const behind = date - receivedAt;
  const ahead = sentAt - (date + 1000);
  const seconds = Math.max(0, behind, ahead) / 1000;
  const message = `this machine's clock is ${durationInWords(seconds * 1000)} ${behind > 0 ? "behind" : "ahead of"} the service's`;
  const hint = "set this machine's clock (NTP); the time left on tokens depends on it";
  return seconds > clockSeconds
    ? warning("clock", message, hint)
    : ok("clock", seconds < 1 ? "in sync" : message);
}

export function stateFindings(facts: StateFacts): Finding[] {
  const { place, problem } = facts;
  if (place === null) return problem === null ? [] : [failed("state", problem)];
  if (place.type !== "directory") return serverFindings(facts, place);
  return [
    keyFinding(facts, place),
    directoryFinding(facts, place),
    diskFinding(facts, place),
    ...keyDiskFinding(place),
    backupFinding(facts, place),
  ];
}

function keyFinding({ vaults }: StateFacts, { key, damage }: DirectoryFacts): Finding {
  if (key.problem !== null) return failed("key", key.problem);
  if (key.id === null) return ok("key", `none yet; the first read or import creates ${key.source}`);
  const fits =
    key.opened === 0 ? "nothing is encrypted yet" : `opens every encrypted value (${key.opened})`;
  const unread = vaults === null || damage !== null ? "" : `, ${fits}`;
  const hint =
    key.file === null
      ? "keep a copy of the key; it is on no disk"
      : `keep a copy of ${key.file} elsewhere: no backup contains it`;
  return ok("key", `key ${key.id} (${key.source})${unread}`, hint);
}

function directoryFinding(
  { vaults, problem }: StateFacts,
  { directory, damage }: DirectoryFacts,
): Finding {
  if (problem !== null) return failed("state", problem);
  if (vaults === null)
    return ok("state", `none yet in ${directory}; the first read or import creates it`);
  if (damage !== null)
    return bad("state", `${directory} is damaged: ${damage}`, restoring(directory));
  return ok("state", `${directory}: intact, ${count(vaults, "vault")}`);
}

function diskFinding({ vaults }: StateFacts, { disk: unsafe }: DirectoryFacts): Finding {
  if (!tellsFileSystems) return unverified("disk", "this system does not tell file systems apart");
  if (unsafe === null) return ok("disk", "local");
  if (unsafe.is === "network" || unsafe.is === "host")
    return of(unsafe.is === "network" ? "error" : "warn")(
      "disk",
      `the state is on a file system that other machines may use (${unsafe.name}), where locks and SQLite's WAL cannot be trusted`,
      "use a directory on a local disk with --state",
    );
  const isUsed = vaults !== null && vaults > 0;
  const lost = isUsed ? `the credentials of ${count(vaults, "vault")}` : "all credentials";
  return warning(
    "disk",
    `the state is ${lossOf(unsafe)}, and with it ${lost}`,
    isUsed
      ? [noted(command`vault state move --to DIR`, "to a disk, or to a volume")]
      : "use a directory on a disk, or on a volume, with --state",
  );
}

const lossOf = ({ name, is }: UnsafeFileSystem): string =>
  is === "memory"
    ? `in memory (${name}): it is gone when this machine restarts`
    : `in a container's own layer (${name}): it is gone when that container is removed`;

function keyDiskFinding({ keyDisk: unsafe, key: { file } }: DirectoryFacts): Finding[] {
  if (unsafe?.is !== "memory" && unsafe?.is !== "container") return [];
  return [
    warning(
      "disk",
      `the key file is ${lossOf(unsafe)}, and without the key nothing can be opened`,
      `keep a copy of ${file ?? "it"} elsewhere, set VAULTSVC_CONFIG_DIR to a directory on a disk or a volume, or give the key with VAULTSVC_STATE_KEY`,
    ),
  ];
}

function backupFinding(
  { vaults, problem }: StateFacts,
  { lastBackup: last }: DirectoryFacts,
): Finding {
  if (problem !== null) return ok("backup", "not known: the state cannot be read");
  if (vaults === null || vaults === 0) return ok("backup", "nothing to back up yet");
  return last === null
    ? ok("backup", "none recorded", [command`vault state backup FILE`])
    : ok("backup", `${last.file}, ${last.at}`);
}

function serverFindings({ vaults }: StateFacts, place: ServerFacts): Finding[] {
  const { location, hasTls, keyId } = place;
  return [
    ok(
      "key",
      `key ${keyId}`,
      "keep a copy of the key away from the database: nothing can be opened without it",
    ),
    ok(
      "state",
      `${location}: ${hasTls ? "TLS verified" : "no TLS"}, ${count(vaults ?? 0, "vault")}`,
    ),
    unverified(
      "backup",
      "backups of the database, and those of vault state backup, are not known here",
    ),
  ];
}
