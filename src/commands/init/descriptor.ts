import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const init = {
  name: "init",
  summary: "set up a profile",
  description:
    "Set up a profile: the service, the application and its key, which is sealed at rest. Asks for what is not given; flags of " +
    "settings, like --rate or --timeout, are kept in it too.",
  options: {
    live: { flag: "--live", help: "mark it as live: it shows itself, and asks before an update" },
    stateKeySource: {
      flag: "--state-key-source <source>",
      help: "where the key of the state is to come from: file, passphrase or keyring (file)",
      is: "keySource",
    },
    force: { flag: "--force", help: "replace a profile of this name" },
  },
  examples: [
    "vault init",
    "vault init --profile demo --app-uuid $VAULTSVC_APP_UUID --force",
    "vault init --profile prod --live --base-url https://vaults.example.com",
  ],
  fields: ["profile", "path", "current"],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export type InitOptions = OptionsOf<typeof init>;
