/** Returns up to three candidates that `word` is probably a misspelling or a part of, the nearest first. */
export function suggest(word: string, candidates: readonly string[]): string[] {
  const bare = word.replace(/^-+/, "");
  const near = [...new Set(candidates)]
    .map((candidate) => ({ candidate, ...compare(bare, candidate.replace(/^-+/, "")) }))
    .filter(
      ({ distance, isPart, length }) =>
        isPart || (distance <= 3 && distance / Math.max(length, 1) <= 0.4),
    )
    .toSorted((a, b) => a.distance - b.distance);
  // Next to a near match, distant ones are noise.
  const best = near[0]?.distance ?? 0;
  return near
    .filter(({ distance, isPart }) => isPart || distance <= best + 1 || best > 2)
    .map(({ candidate }) => candidate)
    .slice(0, 3);
}

function compare(
  word: string,
  candidate: string,
): { distance: number; isPart: boolean; length: number } {
  const length = Math.max(word.length, candidate.length);
  return {
    distance: distance(word.toLowerCase(), candidate.toLowerCase()),
    // `number` of `card-number`, and `exp` of `expiry`.
    isPart: word.length > 2 && `-${candidate}`.includes(`-${word}`),
    length,
  };
}

/** Edit distance with insertion, deletion, substitution and transposition (optimal string alignment). */
export function distance(a: string, b: string): number {
  const rows = Array.from({ length: a.length + 1 }, (_, i) => [
    i,
    ...Array.from({ length: b.length }, () => 0),
  ]);
  const at = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let j = 1; j <= b.length; j += 1) {
    if (rows[0] !== undefined) rows[0][j] = j;
    for (let i = 1; i <= a.length; i += 1) {
      const differs = a[i - 1] === b[j - 1] ? 0 : 1;
      const swapped =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
          ? at(i - 2, j - 2) + 1
          : Infinity;
      const row = rows[i];
      if (row !== undefined)
        row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + differs, swapped);
    }
  }
  return at(a.length, b.length);
}
