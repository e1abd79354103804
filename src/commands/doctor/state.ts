import type { DirectoryFacts, ServerFacts, StateFacts } from "../../parts/state.ts";
import { leastFreeBytes, type UnsafeFileSystem } from "../../files/disk.ts";
import { restoring } from "../../files/state-error.ts";
import type { Finding } from "../../documents/schemas.ts";
import { count } from "../../terminal/count.ts";
import { command, noted } from "../../way.ts";
import { bad, failed, ok, unverified, warning } from "./finding.ts";

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

const megabyte = 1024 * 1024;
const littleFreeBytes = 20 * megabyte;

function keyFinding({ vaults }: StateFacts, { key, damage }: DirectoryFacts): Finding {
  if (key.problem !== null) return failed("key", key.problem);
  if (key.id === null) return ok("key", `none yet; the first read or import creates ${key.source}`);
  const fits =
    key.opened === 0
      ? "nothing is encrypted yet"
      : `opens all ${count(key.opened, "encrypted value")}`;
  const unread = vaults === null || damage.length > 0 ? "" : `, ${fits}`;
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
  const [first] = damage;
  if (first !== undefined)
    return bad("state", `${directory} is damaged: ${first}`, restoring(directory));
  return ok("state", `${directory}: intact, ${count(vaults, "vault")}`);
}

function diskFinding({ vaults }: StateFacts, { disk, directory }: DirectoryFacts): Finding {
  const unknown = unverified("disk", "this system does not report free space");
  if (disk === null) return unknown;
  const bytes = disk.freeBytes ?? Number.POSITIVE_INFINITY;
  const free =
    bytes < 1024 * megabyte
      ? `${Math.floor(bytes / megabyte)} MiB`
      : `${Math.floor(bytes / megabyte / 1024)} GiB`;
  const hint = `free some space, or use another directory with --state (now ${directory})`;
  if (bytes < leastFreeBytes) return bad("disk", `${free} free, too little for the state`, hint);
  const { unsafe } = disk;
  if (unsafe?.is === "network" || unsafe?.is === "host") {
    const { name, is } = unsafe;
    const message = `the state is on a file system that other machines may use (${name}), where locks and SQLite's WAL cannot be trusted`;
    const local = "use a directory on a local disk with --state";
    return is === "network" ? bad("disk", message, local) : warning("disk", message, local);
  }
  if (unsafe !== null) {
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
  if (disk.freeBytes === null) return unknown;
  return bytes < littleFreeBytes
    ? warning("disk", `${free} free`, hint)
    : ok("disk", `${free} free, local`);
}

const lossOf = ({ name, is }: UnsafeFileSystem): string =>
  is === "memory"
    ? `in memory (${name}): it is gone when this machine restarts`
    : `in a container's own layer (${name}): it is gone when that container is removed`;

function keyDiskFinding({ keyDisk, key: { file } }: DirectoryFacts): Finding[] {
  const unsafe = keyDisk?.unsafe;
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
