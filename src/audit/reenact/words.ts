import type { VaultState } from "../../sandbox/model/state.ts";

export const iso = (time: number): string => new Date(time).toISOString();

/** Describes why the emulated service locked a vault. */
export function lockWords(
  { lockReason }: Readonly<VaultState>,
  rules: { lockAfterFailed: number; lockAfterUnacked: number; autoLockAfterMs: number },
): string {
  switch (lockReason) {
    case "failed":
      return `${rules.lockAfterFailed} failed accesses in a row`;
    case "unacknowledged":
      return `${rules.lockAfterUnacked} starts without acknowledgement`;
    case "auto-lock":
      return `no successful start for ${duration(rules.autoLockAfterMs)}`;
    case "console":
    case null:
      return "an administrator";
  }
}

/** Formats a duration in its largest unit: `5 min`, `1.5 h`, `365 days`. */
export function duration(milliseconds: number): string {
  const units = [
    { name: "days", size: 86_400_000 },
    { name: "h", size: 3_600_000 },
    { name: "min", size: 60_000 },
    { name: "s", size: 1000 },
  ];
  const unit = units.find(({ size }) => milliseconds >= size) ?? { name: "ms", size: 1 };
  return `${Number((milliseconds / unit.size).toFixed(1))} ${unit.name}`;
}
