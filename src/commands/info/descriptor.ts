import type { Descriptor, OptionsOf } from "../../cli/command.ts";
import { vaultArgument } from "../../cli/command.ts";
import { kindList } from "../../protocol/endpoints.ts";
import { extended } from "../../input/flags.ts";

export const info = {
  name: "info",
  summary: "ask the service for a vault's dates and metadata (extended)",
  description: `Ask the service for a vault's dates, metadata and reads left. Needs no credentials and counts nothing toward lockout. ${extended}`,
  arguments: { uuid: vaultArgument },
  options: {
    kind: {
      flag: "--kind <kind>",
      help: `required for a vault that is not known here: ${kindList}`,
      value: (is) => is.kind,
    },
  },
  examples: [
    "vault info $VAULT",
    "vault info $VAULT --json",
    "vault info $VAULT --field info.autoLockDate",
  ],
  callsService: true,
} as const satisfies Descriptor;

export type InfoOptions = OptionsOf<typeof info>;
