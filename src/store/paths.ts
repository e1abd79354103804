import { isAbsolute, join } from "node:path";
import { VaultError } from "../errors.ts";
import { command, noted } from "../way.ts";

/** What decides where a user's files live. */
interface UserPlace {
  platform: string;
  env: Readonly<Record<string, string | undefined>>;
  /** Absolute path of the home directory. */
  readonly home: string;
}

const name = "vaultsvc";

/** The per-user state directory; `--state` and VAULTSVC_STATE take precedence. */
export function stateDirectory(place: UserPlace): string {
  if (place.platform === "darwin") return join(place.home, "Library", "Application Support", name);
  return join(xdg(place, "XDG_STATE_HOME") ?? join(place.home, ".local", "state"), name);
}

/**
 * The per-user configuration directory; VAULTSVC_CONFIG_DIR takes precedence. Always absolute: a
 * configuration can name commands to run, and a relative path would change with every `cd`.
 * @throws `usage` for a relative path
 */
export function configDirectory(place: UserPlace): string {
  const given = place.env["VAULTSVC_CONFIG_DIR"] ?? "";
  if (isAbsolute(given)) return given;
  if (given !== "") {
    throw new VaultError(
      "usage",
      `VAULTSVC_CONFIG_DIR: must be an absolute path, not ${given}; nothing was read`,
      {
        next: [noted(command`export VAULTSVC_CONFIG_DIR=/path/to/directory`, "or unset it")],
      },
    );
  }
  if (place.platform === "darwin") return join(place.home, "Library", "Preferences", name);
  return join(xdg(place, "XDG_CONFIG_HOME") ?? join(place.home, ".config"), name);
}

/** The value of a variable; ignores a relative path, as the XDG specification requires. */
function xdg(place: UserPlace, variable: string): string | undefined {
  const value = place.env[variable];
  return value !== undefined && isAbsolute(value) ? value : undefined;
}
