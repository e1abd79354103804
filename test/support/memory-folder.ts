import { existsSync, readFileSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";

const inMemory = "/dev/shm";

/** Half of the time of all tests would go into waiting for disks to sync. What a power loss leaves is worked out from what was written. */
export const memoryFolder = existsSync(inMemory) ? inMemory : tmpdir();

/** Whether all of the campaign can lie there: there is room, and programs and devices can be made, as on a disk. */
export function isLikeDisk(): boolean {
  if (memoryFolder !== inMemory) return false;
  const { bavail, bsize } = statfsSync(inMemory);
  const [, options = ""] =
    /^\S+ \/dev\/shm \S+ (\S+)/m.exec(readFileSync("/proc/mounts", "utf8")) ?? [];
  return bavail * bsize > 4e9 && !/\b(?:noexec|nodev)\b/.test(options);
}
