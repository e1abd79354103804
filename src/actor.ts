import { hostname, userInfo } from "node:os";
import { attempt } from "./attempt.ts";
import type { Actor } from "./documents/exchange.ts";

export type { Actor };

/** Who keeps others from a vault, and since when (ISO 8601). */
export interface Holder {
  by: Actor;
  since: string;
}

/** Whether two processes are of one user on one machine. */
export const isSameUser = (one: Actor, other: Actor): boolean =>
  one.host === other.host && one.user === other.user;

/** `ada@build-7 (role team)`: a role of the database that has another name. `of`: `ada@build-7 (role team, pid 4711)`. */
export function actorWords({ host, user, role = user, pid }: Actor, of?: "process"): string {
  const more = [
    ...(role === user ? [] : [`role ${role}`]),
    ...(of === undefined ? [] : [`pid ${pid}`]),
  ];
  return `${user}@${host}${more.length === 0 ? "" : ` (${more.join(", ")})`}`;
}

/** This process, by its number. */
export const actorOf = (pid: number): Actor => ({ host: hostname(), user: userName(), pid });

/** A container may run as a user without a name. */
export const userName = (): string => attempt(() => userInfo().username) ?? "unknown";
