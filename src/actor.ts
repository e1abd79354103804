import { hostname, userInfo } from "node:os";

/** Who does something: a process of a user on a machine. */
export interface Actor {
  readonly host: string;
  readonly user: string;
  readonly pid: number;
}

/** Whether two processes are of one user on one machine. */
export const isSameUser = (one: Actor, other: Actor): boolean =>
  one.host === other.host && one.user === other.user;

/** `ada on build-7 (process 4711)`. */
export const actorWords = ({ host, user, pid }: Actor): string =>
  `${user} on ${host} (process ${pid})`;

/** This process, by its number. */
export const actorOf = (pid: number): Actor => ({ host: hostname(), user: userName(), pid });

/** A container may run as a user without a name. */
export function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}
