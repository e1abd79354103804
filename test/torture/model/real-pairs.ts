import { combinationOf } from "../../../src/exchange/start/choose-pair.ts";
import type { Pair } from "../../../src/protocol/answers.ts";
import { fingerprint } from "../../../src/secrets/fingerprints.ts";

export const service = "https://vaults.test/vaultsvc/v1-2";
export const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-000000000001";
export const kind = "credit-card/offline";

/** Which real pair, and which real token, a number of the model stands for. */
export class RealPairs {
  readonly #pairs = new Map<number, Pair>();
  readonly #numbers = new Map<string, number>();
  readonly #tokens = new Map<string, number>();
  /** Above all numbers that the model has in use. */
  #fresh = 1_000_000;

  /** The pair of a number, made up if it has none yet. */
  pair(number: number): Pair {
    const known = this.#pairs.get(number);
    if (known !== undefined) return known;
    const pair = { encryptedData: `data ${number}`, payload: `payload ${number}` };
    this.#know(number, pair);
    this.#tokens.set(this.token(number), number);
    return pair;
  }

  token(number: number): string {
    return `token ${number}`;
  }

  /** The number of a pair that the service has handed out with this token. */
  offered(pair: Pair, token: string): number {
    const known = this.#numbers.get(fingerprint(uuid, pair));
    const number = known ?? (this.#fresh += 1);
    if (known === undefined) this.#know(number, pair);
    this.#tokens.set(token, number);
    return number;
  }

  /**
   * By the pair, its fingerprint or the combination that it is refused in.
   * @throws for one that was never seen
   */
  number(what: Pair | string): number {
    const found = this.#numbers.get(typeof what === "string" ? what : fingerprint(uuid, what));
    if (found === undefined) throw new Error("a pair that nobody has handed out");
    return found;
  }

  numberOfToken(token: string): number {
    return this.#tokens.get(token) ?? -1;
  }

  combination(number: number): string {
    return combinationOf(uuid, kind, this.pair(number));
  }

  #know(number: number, pair: Pair): void {
    this.#pairs.set(number, pair);
    this.#numbers.set(fingerprint(uuid, pair), number);
    this.#numbers.set(combinationOf(uuid, kind, pair), number);
  }
}
