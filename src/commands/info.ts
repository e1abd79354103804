import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded, vaultArgument } from "../cli/command.ts";
import { extended } from "../input/flags.ts";
import { kinds } from "../protocol/endpoints.ts";

const descriptor = {
  name: "info",
  summary: "ask the service for a vault's dates and metadata (extended)",
  description: `Ask the service for a vault's dates, metadata and reads left. Needs no credentials and does not count toward lockout. ${extended}`,
  arguments: { uuid: vaultArgument },
  options: {
    kind: {
      flag: "--kind <kind>",
      help: "required for a vault that is not known here",
      choices: kinds,
    },
  },
  examples: [
    "vault info $VAULT",
    "vault info $VAULT --json",
    "vault info $VAULT --field info.autoLockDate",
  ],
  callsService: true,
} as const satisfies Descriptor;

export type InfoOptions = OptionsOf<typeof descriptor>;

export const info = loaded(descriptor, async () => (await import("./info/run.ts")).runInfo);
