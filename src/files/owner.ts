import type { Stats } from "node:fs";
import { lstatSync, statSync } from "node:fs";
import { VaultError } from "../errors.ts";

/**
 * Checks the owner of a file or folder, and of a symbolic link by that name: an owner can exchange the contents, or redirect the
 * link. Does nothing if the path cannot be inspected, or on a system without user ids (`uid` undefined).
 * @throws `state` if it belongs to another user than `uid` or root
 */
export function checkOwner(path: string, uid: number | undefined, what: string): void {
  if (uid === undefined) return;
  const foreign = [lstatSync, statSync]
    .flatMap((look) => ownerBy(look, path))
    .find((owner) => owner !== uid && owner !== 0);
  if (foreign === undefined) return;
  throw new VaultError(
    "state",
    `${what} cannot be used: ${path} belongs to another user (uid ${foreign})`,
    {
      hint: "run it as that user, give it to yours (chown), or use another place",
    },
  );
}

function ownerBy(look: (path: string) => Stats, path: string): number[] {
  try {
    return [look(path).uid];
  } catch {
    return [];
  }
}
