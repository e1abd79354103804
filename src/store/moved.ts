import { VaultError } from "../errors.ts";

/** The error for a state that was moved elsewhere, or whose move to this place has not been finished. */
export function notHere(place: string, { moved, incoming }: { moved?: string | undefined; incoming?: string | undefined }): VaultError {
  if (moved !== undefined) {
    return new VaultError("state", `the state ${place} was moved to ${moved}; nothing was sent`, {
      hint: `vault config set state '${moved}' (or --state, VAULTSVC_STATE)`,
    });
  }
  return new VaultError("state", `the move of the state from ${incoming} to ${place} was interrupted; nothing was sent`, {
    hint: `vault state move --to '${place}' --state '${incoming}' (finishes it)`,
  });
}
