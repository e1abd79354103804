import type { Io } from "../../parts/io.ts";
import type { StatePart, OpenState } from "../../parts/state.ts";
import { VaultError } from "../../errors.ts";
import { isShared, withoutPassword } from "../../settings/location.ts";

const here = "on this machine";

/** Asks for the address of a shared state, until it has the right form; undefined for a state on this machine. */
export async function askLocation(
  { io, state }: { io: Io; state: StatePart },
  profile: string,
  former: string | undefined,
): Promise<string | undefined> {
  for (;;) {
    const location = await io.ask.text({
      message: "Place of the state, such as postgres://user@host/database",
      rule: (answer) =>
        answer === here || isShared(answer)
          ? null
          : `must be: ${here}, or an address that begins with postgres://`,
      initial: isShared(former) ? former : here,
      shown: withoutPassword,
    });
    if (location === here) return undefined;
    try {
      await state.open({ name: profile, exists: false, settings: { state: location } });
      return location;
    } catch (error) {
      if (!(error instanceof VaultError)) throw error;
      io.narrator.warn(error.message);
    }
  }
}

/** Why a shared state cannot be used yet, and the commands that change that. */
interface Obstacle {
  message: string;
  steps: string[];
}

/**
 * Looks at the state of a new profile, if it is a shared one.
 * @throws `state` if its key is not here, or if there is no key and nobody can tell whether it needs one: the profile's API key would be
 * sealed with a new key, and lost when the right one takes its place
 */
export async function obstacleTo(
  { state, keys }: OpenState,
  isKeyGiven: boolean,
): Promise<Obstacle | null> {
  if (!state.isShared) return null;
  try {
    // Needs no key.
    await state.locks();
  } catch (error) {
    if (!(error instanceof VaultError)) throw error;
    const { hint = "" } = error.facts;
    // There is none yet.
    if (hint.startsWith("vault state init --state"))
      return { message: error.message, steps: [hint] };
    if (!isKeyGiven && keys.keyEntries() === null) throw error;
    return { message: hint === "" ? error.message : `${error.message}: ${hint}`, steps: [] };
  }
  const { problem } = await (await state.whole()).inspect();
  if (problem !== null) throw problem;
  return null;
}
