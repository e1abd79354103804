import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";

const descriptor = {
  name: "init",
  summary: "set up a profile",
  description:
    "Set up a profile: the service, the application and its key (stored encrypted), and the place of the state. Asks for what is not " +
    "given. Other settings given as flags, such as --rate or --timeout, are stored too.",
  options: {
    live: { flag: "--live", help: "production: show a banner and confirm updates" },
    force: {
      flag: "--force",
      help: "change a profile that has a service; what is not given stays",
    },
  },
  examples: [
    "vault init",
    "vault init --profile demo --app-uuid $VAULTSVC_APP_UUID",
    "vault init --profile prod --live --base-url https://vaults.example.com",
  ],
  mode: "fixes-configuration",
} as const satisfies Descriptor;

export type InitOptions = OptionsOf<typeof descriptor>;

export const init = loaded(descriptor, async () => (await import("./init/run.ts")).runInit);
