import { readFileSync, statfsSync, statSync } from "node:fs";
import { platform } from "node:os";
import { dirname } from "node:path";
import { attempt } from "../attempt.ts";
import { statIfThere } from "./private-directory.ts";
import { onState, unusable } from "./state-error.ts";

/**
 * A file system that other machines may use too: SQLite's WAL needs shared memory, which two machines do not have, and they corrupt the
 * file. So a state on a network file system is refused before it is read; what a host shares with its guests is usually used by one
 * system alone. Or one that keeps nothing after a restart of the machine, or after the removal of its container.
 */
export interface UnsafeFileSystem {
  /** As /proc/self/mountinfo names it. */
  name: string;
  is: "network" | "host" | "memory" | "container";
}

/** A container's own layer is an overlay. Other types over FUSE are local, like ntfs-3g. */
const unsafeTypes: Readonly<Record<UnsafeFileSystem["is"], RegExp>> = {
  network:
    /^(?:nfs4?|cifs|smb[23]?|smbfs|afs|ceph|lustre|gpfs|beegfs|fuse\.(?:sshfs|s3fs|s3ql|rclone|gcsfuse|goofys|juicefs|glusterfs|ceph-fuse|ceph|davfs|curlftpfs|smbnetfs|moosefs|mfs|seaweedfs))$/,
  host: /^9p$/,
  memory: /^(?:tmpfs|ramfs)$/,
  container: /^overlay$/,
};

/** Linux alone says of which type the file system of a folder is. */
export const tellsFileSystems = platform() === "linux";

/** The file system of a folder, or of the one in which it would be created, if a state is not safe there. */
export const unsafeDisk = (folder: string): UnsafeFileSystem | null =>
  attempt(() => {
    const { dev } = statSync(nearestExisting(folder));
    const name = typeOf(dev, readFileSync("/proc/self/mountinfo", "utf8"));
    const kinds = Object.keys(unsafeTypes) as UnsafeFileSystem["is"][];
    const is = kinds.find((each) => unsafeTypes[each].test(name));
    return is && { name, is };
  }) ?? null;

/** Free space that a state needs, in bytes: an exchange writes 100 kB, and several may be under way. */
const leastFreeBytes = 2 * 1024 * 1024;

/**
 * Makes sure that what follows a start can be stored: each start of which that fails counts toward lockout, and a script would go on.
 * @throws `state` if the disk of the folder is almost full
 */
export function ensureRoom(folder: string): void {
  const { blocks, bavail, bsize } = onState(folder, () => statfsSync(folder));
  const free = bavail * bsize;
  // A file system that counts no blocks does not say what is free.
  if (blocks === 0 || free >= leastFreeBytes) return;
  const left = `${Math.floor(free / 1024)} KiB free, too little for an exchange`;
  throw unusable(folder, `the disk is almost full (${left})`, {
    hint: "free some space there, then run it again",
  });
}

const nearestExisting = (folder: string): string =>
  statIfThere(folder) === null ? nearestExisting(dirname(folder)) : folder;

/** @throws `state` if the folder, or the one in which it would be created, is on a network file system */
export function refuseNetwork(folder: string): void {
  const unsafe = unsafeDisk(folder);
  if (unsafe?.is !== "network") return;
  const why = `it is on a network file system (${unsafe.name}), where SQLite cannot keep it safe`;
  throw unusable(folder, why, {
    hint: "use a directory on a local disk with --state; to move a state there, use mv while no vault command runs on any machine",
  });
}

/** The type of the file system with a device number, as makedev(3) makes it, by proc_pid_mountinfo(5). */
export function typeOf(device: number, mountinfo: string): string {
  const major = (device >>> 8) & 0xfff;
  const minor = (device & 0xff) | ((device >>> 12) & 0xfff00);
  const line = new RegExp(String.raw`^\d+ \d+ ${major}:${minor} .*? - (\S+)`, "m");
  return line.exec(mountinfo)?.[1] ?? "";
}
