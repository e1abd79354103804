import type { Stats } from "node:fs";
import { lstatSync, statSync } from "node:fs";
import { VaultError } from "../errors.ts";

/**
 * What is not there, or cannot be looked at, is for others to say; without `uid` (a system that has none) nothing is asked.
 * @throws `state` where a file or folder, or the symbolic link by that name, belongs to another user than `uid` and root: who
 * owns it can exchange what is in it, or leads us by the link to where he cannot write himself
 */
export function checkOwner(path: string, uid: number | undefined, what: string): void {
  if (uid === undefined) return;
  const foreign = [lstatSync, statSync].flatMap((look) => ownerBy(look, path)).find((owner) => owner !== uid && owner !== 0);
  if (foreign === undefined) return;
  throw new VaultError("state", `${what} cannot be used: ${path} belongs to another user (uid ${foreign})`, {
    hint: "run it as that user, give it to yours (chown), or name another place",
  });
}

function ownerBy(look: (path: string) => Stats, path: string): number[] {
  try {
    return [look(path).uid];
  } catch {
    return [];
  }
}
