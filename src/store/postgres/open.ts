import { hostname } from "node:os";
import type { Clock, Waiting } from "../../exchange/ports.ts";
import type { KeySource } from "../../secrets/key-source.ts";
import type { SealingKey } from "../../secrets/sealing.ts";
import type { Address } from "./address.ts";
import { addressHere, userName } from "./address.ts";
import { passwordFromFile } from "./password-file.ts";
import { PostgresStore } from "./store.ts";

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
  waiting: Waiting;
  keys: Map<string, SealingKey>;
  /** Receives the password. */
  learnSecret: (secret: string) => void;
}

/**
 * The state of several machines at an address. Nothing is read before the first call.
 * @throws `usage` for an address that cannot be used
 */
export function openShared({
  location,
  env,
  pid,
  learnSecret,
  ...options
}: Opening): PostgresStore {
  const address = addressHere(location, env, options.warn);
  if (address.password !== undefined) learnSecret(address.password);
  const findPassword: Address["findPassword"] = (at) => {
    const password = passwordFromFile(env["HOME"], { ...address, ...at }, options.warn);
    if (password !== undefined) learnSecret(password);
    return password;
  };
  const holder = { host: hostname(), pid, user: userName() };
  return new PostgresStore({ ...options, address: { ...address, findPassword }, holder });
}
