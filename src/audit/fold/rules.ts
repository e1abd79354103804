/** What the verdicts rest on: service-facts and section 9, each overridable. */
export interface Rules {
  /** Consecutive failed accesses that lock a vault. */
  lockAfterFailed: number;
  /** Consecutive starts without acknowledgement that lock a vault. */
  lockAfterUnacked: number;
  /** Milliseconds. Not shown by the specification: an assumption. */
  tokenLifetimeMs: number;
  /** Milliseconds without a successful start; vaults of generic kinds have no such limit (section 8). */
  autoLockAfterMs: number;
  /** The service's release, X.Y.Z (section 9). */
  release: string;
  /** What marks a failed access, where it is not the usual wording: a regular expression. */
  failure: string | null;
}

/** Section 9, the newest release that the specification knows. */
export const newestRelease = "1.2.28";

/** Whether a release is older than another; both X.Y.Z. */
export function beforeRelease(release: string, other: string): boolean {
  const [a, b] = [release, other].map((text) => text.split(".").map(Number)) as [number[], number[]];
  const at = b.findIndex((part, index) => part !== a[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] as number);
}
