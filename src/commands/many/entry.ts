import type { VaultError } from "../../errors.ts";
import type { GivenCredentials } from "../../exchange/recovery/document.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import type { Contents } from "../exchange/contents.ts";

/** One vault of a command that takes many (contract, Many vaults), checked as far as it can be before anything is sent. */
export interface Entry {
  uuid: string;
  label: string | null;
  kind?: Kind | undefined;
  given?: GivenCredentials | undefined;
  device?: Device | undefined;
  externalRef?: string | undefined;
  /** Updates only. */
  contents?: Contents | undefined;
}

/** Why nothing is sent for an entry. */
export type SkipReason = "held" | "locked" | "guard" | "limited";

/** What became of an entry. `earlier`: before this command, in the same run; `stopped`: the command ended before its turn. */
export type Outcome =
  | { ok: true; earlier?: true }
  | { ok: false; error: VaultError }
  | { ok: false; skipped: SkipReason | "stopped" };
