import { VaultError } from "../../errors.ts";
import { noMemory } from "./grow.ts";
import { noRoom, noUuid, Scanner } from "../read/scan/scanner.ts";

/** A vault's uuid (section 2.2: 36 characters of hexadecimal and dashes). */
const isUuid = /^[0-9a-f-]{36}$/i;

/** Numbers vaults from 0 in the order in which they appear. Memory is about 60 bytes a vault, all of it the scanner's. */
export class VaultTable {
  readonly scanner = new Scanner();
  /** More vaults are refused. */
  readonly limit: number;
  /** Only the first vault is wanted: all others are one, the second. */
  readonly hasOnlyOne: boolean;

  /** More vaults than `limit` throw `invalid-input`. With `only`, nothing is remembered of others. */
  constructor(limit: number, only?: string) {
    this.limit = limit;
    this.scanner.limitVaults(limit);
    if (only !== undefined) {
      this.of(only);
      this.scanner.wantOnlyFirst();
    }
    this.hasOnlyOne = only !== undefined;
  }

  get size(): number {
    return this.scanner.vaults;
  }

  /** Whether a number is of a vault that somebody asks for. */
  isWanted(number: number): boolean {
    return !this.hasOnlyOne || number === 0;
  }

  /** The vault with a uuid, in either case; -1 for what is no uuid. */
  of(text: string): number {
    if (!isUuid.test(text)) return noUuid;
    const number = this.scanner.vaultOf(text);
    if (number !== noRoom) return number;
    if (this.size === this.limit) {
      const hint = "give it the items of fewer vaults, or name one: --vault UUID";
      throw new VaultError("invalid-input", `more than ${this.limit.toLocaleString("en")} vaults in these items`, { hint });
    }
    if (!this.scanner.growVaults()) throw noMemory();
    return this.scanner.vaultOf(text);
  }

  uuid(number: number): string {
    return this.scanner.uuidOf(number);
  }
}
