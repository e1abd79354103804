/** Rules for verdicts, from service-facts and section 9. Options override each of them. */
export interface Rules {
  /** Consecutive starts without acknowledgement, and consecutive failed attempts, that lock a vault. */
  limits: { unackedStarts: number; failedAttempts: number };
  /** Milliseconds: an assumption, because the specification does not give it. */
  tokenLifetimeMs: number;
  /** Milliseconds without a successful start; generic vaults have no such limit (section 8). */
  autoLockAfterMs: number;
  /** The service's release, X.Y.Z (section 9). */
  release: string;
  /** Regular expression for failed attempts with unusual wording. */
  failure: string | null;
}

/** The latest release in section 9. */
export const newestRelease = "1.2.28";

/** Whether a release is older than another; both are X.Y.Z. */
export function beforeRelease(release: string, other: string): boolean {
  const [a, b] = [release, other].map((text) => text.split(".").map(Number)) as [
    number[],
    number[],
  ];
  const at = b.findIndex((part, index) => part !== a[index]);
  return at >= 0 && (a[at] ?? 0) < (b[at] as number);
}
