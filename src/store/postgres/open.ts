import { hostname, userInfo } from "node:os";
import type { Clock } from "../../exchange/ports.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import { parseAddress } from "./address.ts";
import { PostgresStore } from "./store.ts";
import { SharedState } from "./whole-state.ts";

interface Opening {
  /** `postgres://…` */
  location: string;
  env: Readonly<Record<string, string | undefined>>;
  pid: number;
  /** The state directory of this machine. */
  directory: string;
  platform: string;
  keySource: KeySource;
  clock: Clock;
  warn: (message: string) => void;
  /** Receives the password of the address. */
  learnSecret: (secret: string) => void;
}

/**
 * The state of several machines at an address. Nothing is read before the first call.
 * @throws `usage` for an address that cannot be used
 */
export function openShared({ location, env, pid, learnSecret, ...options }: Opening): { store: PostgresStore; whole: SharedState } {
  const user = userName();
  const address = parseAddress(location, env, user, options.warn);
  if (address.password !== undefined) learnSecret(address.password);
  const store = new PostgresStore({ ...options, address, holder: { host: hostname(), pid, user } });
  return { store, whole: new SharedState(store) };
}

/** A container may run as a user without a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "unknown";
  }
}
