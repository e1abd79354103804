import { VaultError } from "../../errors.ts";
import { noMemory } from "./vault-records.ts";
import { noRoom, noUuid } from "../read/scan/scanner-constants.ts";
import { Scanner } from "../read/scan/scanner.ts";

/** A vault's uuid (section 2.2: 36 characters of hexadecimal and dashes). */
const isUuid = /^[0-9a-f-]{36}$/i;

/** Numbers vaults from 0 in the order of appearance. It takes about 60 bytes for a vault, in the memory of the scanner. */
export class VaultTable {
  readonly scanner = new Scanner();
  /** Maximum number of vaults. */
  readonly limit: number;
  /** Whether only the first vault is wanted. All others have the number 1. */
  readonly hasOnlyOne: boolean;

  /** `only` is the uuid of the only vault wanted. */
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

  /** Whether a vault is wanted. */
  isWanted(number: number): boolean {
    return !this.hasOnlyOne || number === 0;
  }

  /**
   * Returns the number of the vault with a uuid, in either case; -1 for a text that is not a uuid.
   *
   * @throws `invalid-input` for too many vaults.
   */
  of(text: string): number {
    if (!isUuid.test(text)) return noUuid;
    const number = this.scanner.vaultOf(text);
    if (number !== noRoom) return number;
    if (this.size === this.limit) {
      const hint = "give it the items of fewer vaults, or name one: --vault UUID";
      throw new VaultError(
        "invalid-input",
        `more than ${this.limit.toLocaleString("en")} vaults in these items`,
        { hint },
      );
    }
    if (!this.scanner.growVaults()) throw noMemory();
    return this.scanner.vaultOf(text);
  }

  uuid(number: number): string {
    return this.scanner.uuidOf(number);
  }
}
