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
