/** Returns up to three candidates that `word` is probably a misspelling or a part of, the nearest first. */
export function suggest(word: string, candidates: readonly string[]): string[] {
  const bare = (name: string): string => name.replace(/^-+/, "").toLowerCase();
  const sought = bare(word);
  const near = [...new Set(candidates)]
    .map((candidate) => {
      const name = bare(candidate);
      // `number` of `card-number`, and `exp` of `expiry`.
      const isPart = sought.length > 2 && `-${name}`.includes(`-${sought}`);
      const most = Math.min(3, Math.max(name.length, sought.length) * 0.4);
      return { candidate, most, away: isPart ? 1 : distance(sought, name) };
    })
    .filter(({ away, most }) => away <= most)
    .toSorted((a, b) => a.away - b.away);
  // Next to a near match, distant ones are noise.
  const [nearest] = near;
  return near
    .filter(({ away }) => away <= (nearest?.away ?? 0) + 1)
    .map(({ candidate }) => candidate)
    .slice(0, 3);
}

/** Edit distance with insertion, deletion, substitution and transposition (optimal string alignment). */
export function distance(a: string, b: string): number {
  let last: number[] = [];
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i += 1) {
    const [before, above] = [last, row];
    [last, row] = [above, [i]];
    const at = (cells: readonly number[], j: number): number => cells[j] ?? Infinity;
    for (let j = 1; j <= b.length; j += 1) {
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      row[j] = Math.min(
        at(above, j) + 1,
        at(row, j - 1) + 1,
        at(above, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1),
        isSwapped ? at(before, j - 2) + 1 : Infinity,
      );
    }
  }
  return row[b.length] ?? 0;
}
