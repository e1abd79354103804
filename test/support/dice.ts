const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** Random values that are the same for the same seed, fast enough for millions of items (sfc32). */
export class Dice {
  #a = 0x9e3779b9;
  #b = 0x243f6a88;
  #c = 0xb7e15162;
  #counter = 1;

  constructor(seed: string) {
    for (const character of seed) {
      this.#a = (this.#a ^ (character.codePointAt(0) ?? 0)) | 0;
      this.word();
    }
    for (let i = 0; i < 16; i += 1) this.word();
  }

  /** 32 bits. */
  word(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** At least 0, less than 1. */
  fraction(): number {
    return this.word() / 0x1_0000_0000;
  }

  /** A whole number, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.fraction() * (most - least + 1));
  }

  chance(probability: number): boolean {
    return this.fraction() < probability;
  }

  pick<T>(list: readonly T[]): T {
    return list[Math.floor(this.fraction() * list.length)] as T;
  }

  /** By weight. */
  draw<T extends { weight: number }>(list: readonly T[]): T {
    let left = this.fraction() * list.reduce((sum, { weight }) => sum + weight, 0);
    return list.find(({ weight }) => (left -= weight) < 0) ?? (list.at(-1) as T);
  }

  /** A waiting time with this mean, at most four times as long, at least 1. */
  wait(mean: number): number {
    return 1 + Math.floor(Math.min(4, -Math.log(1 - this.fraction())) * mean);
  }

  /** Version 4. */
  uuid(): string {
    const byte = (word: number, shift: number): string => hex[(word >>> shift) & 0xff] ?? "";
    const [a, b, c, d] = [
      this.word(),
      (this.word() & 0xffff0fff) | 0x4000,
      (this.word() & 0x3fffffff) | 0x80000000,
      this.word(),
    ];
    const whole = (word: number): string =>
      byte(word, 24) + byte(word, 16) + byte(word, 8) + byte(word, 0);
    const [second, third] = [whole(b), whole(c)];
    return `${whole(a)}-${second.slice(0, 4)}-${second.slice(4)}-${third.slice(0, 4)}-${third.slice(4)}${whole(d)}`;
  }
}
