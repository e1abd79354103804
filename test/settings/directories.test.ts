import { describe, expect, it } from "vitest";
import { configDirectory, stateDirectory } from "../../src/settings/location.ts";

describe("per-user directories", () => {
  const linux = { platform: "linux", env: {}, home: "/home/ada" };
  const mac = { platform: "darwin", env: {}, home: "/Users/ada" };

  it.each([
    [linux, "/home/ada/.local/state/vaultsvc", "/home/ada/.config/vaultsvc"],
    [
      { ...linux, env: { XDG_STATE_HOME: "/s", XDG_CONFIG_HOME: "/c" } },
      "/s/vaultsvc",
      "/c/vaultsvc",
    ],
    [
      { ...linux, env: { XDG_STATE_HOME: "s", XDG_CONFIG_HOME: "" } },
      "/home/ada/.local/state/vaultsvc",
      "/home/ada/.config/vaultsvc",
    ],
    [
      mac,
      "/Users/ada/Library/Application Support/vaultsvc",
      "/Users/ada/Library/Preferences/vaultsvc",
    ],
    [{ ...linux, env: { VAULTSVC_CONFIG_DIR: "/own" } }, "/home/ada/.local/state/vaultsvc", "/own"],
    [
      { ...mac, env: { VAULTSVC_CONFIG_DIR: "/own" } },
      "/Users/ada/Library/Application Support/vaultsvc",
      "/own",
    ],
    [
      { ...mac, env: { VAULTSVC_CONFIG_DIR: "" } },
      "/Users/ada/Library/Application Support/vaultsvc",
      "/Users/ada/Library/Preferences/vaultsvc",
    ],
  ])("%j", (place, state, config) => {
    expect(stateDirectory(place)).toBe(state);
    expect(configDirectory(place)).toBe(config);
  });

  it.each(["own", ".", "~/own"])("VAULTSVC_CONFIG_DIR=%s is refused", (given) => {
    expect(() => configDirectory({ ...linux, env: { VAULTSVC_CONFIG_DIR: given } })).toThrow(
      /VAULTSVC_CONFIG_DIR: must be an absolute path/,
    );
  });
});
