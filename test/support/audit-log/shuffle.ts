import type { Dice } from "../dice.ts";

/** Brings a stream out of order, but never by more than a window, and lets some of it come twice. */
export class Shuffle<T> {
  readonly #dice: Dice;
  readonly #window: number;
  readonly #duplicates: number;
  /** What leaves after so many more items; in a circle. */
  readonly #slots: T[][];
  #at = 0;

  constructor(dice: Dice, options: { window: number; duplicates: number }) {
    this.#dice = dice;
    this.#window = options.window;
    this.#duplicates = options.duplicates;
    this.#slots = Array.from(
      { length: Math.max(options.window, options.duplicates > 0 ? 200 : 0) + 1 },
      () => [],
    );
  }

  /** What leaves now. An item that waits is overtaken by as many others as it waits places, at most the window. */
  add(entry: T): readonly T[] {
    const dice = this.#dice;
    this.#put(this.#window > 0 && dice.chance(0.2) ? dice.between(1, this.#window) : 0, entry);
    if (this.#duplicates > 0 && dice.chance(this.#duplicates))
      this.#put(dice.chance(0.5) ? 0 : dice.between(1, this.#slots.length - 1), entry);
    return this.#take();
  }

  /** What has not left yet. */
  rest(): readonly T[] {
    return this.#slots.flatMap(() => this.#take());
  }

  #put(later: number, entry: T): void {
    this.#slots[(this.#at + later) % this.#slots.length]?.push(entry);
  }

  #take(): readonly T[] {
    const leaving = this.#slots[this.#at] ?? [];
    this.#slots[this.#at] = [];
    this.#at = (this.#at + 1) % this.#slots.length;
    return leaving;
  }
}
