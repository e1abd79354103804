import type { AsyncEntry } from "@napi-rs/keyring";
import { VaultError } from "../errors.ts";
import type { OsKeyring } from "./key-source.ts";
import { command } from "../way.ts";

/** Service name of the keys in the keyring. */
const service = "vaultsvc";

/**
 * Opens the keyring of this user: Secret Service on Linux, Keychain on macOS. Its methods reject with `state` if none answers, as
 * on a machine without a desktop session.
 * @throws `state` if its package is not installed
 */
export async function openOsKeyring(): Promise<OsKeyring> {
  const { AsyncEntry: Entry } = await load();
  // The package falls back to the kernel's keyring, which a restart clears: every vault would be lost.
  const entry = (id: string) => new Entry(service, id, { linux: { store: "secret-service" } });
  const reach = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw new VaultError(
        "state",
        `no operating system keyring responds: ${(error as Error).message}`,
        {
          hint: "use a key file on a machine without a keyring",
          next: [
            command`vault config set stateKeySource file`,
            { ...command`vault state rekey --to file`, note: "if a key already exists" },
          ],
          cause: error,
        },
      );
    }
  };
  return {
    get: async (id) => await reach(async () => (await entry(id).getPassword()) ?? null),
    set: async (id, material) => {
      await reach(async () => {
        await entry(id).setPassword(material);
        if ((await entry(id).getPassword()) !== material)
          throw new Error("it did not keep the key");
      });
    },
    remove: async (id) => {
      await reach(async () => await entry(id).deletePassword());
    },
  };
}

async function load(): Promise<{ AsyncEntry: typeof AsyncEntry }> {
  try {
    return await import("@napi-rs/keyring");
  } catch (error) {
    throw new VaultError(
      "state",
      "the operating system keyring cannot be used: the package @napi-rs/keyring is not installed",
      {
        hint: "install it beside vault (an optional dependency), or use a key file, a passphrase or a given key",
        cause: error,
      },
    );
  }
}
