import type { Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";
import { anyText, wholeNumber } from "../cli/values.ts";

import { contentsFlags, exchangeFlags, extended, newVaultFlags } from "../input/flags.ts";

const descriptor = {
  name: "create",
  summary: "create a vault (extended)",
  description:
    "Create a vault. Its credentials are stored durably before anything is printed. If the response is lost (exit 10) or the program is " +
    "killed, a vault may exist whose credentials nobody has: look for its external reference in the console. " +
    extended,
  options: {
    kind: newVaultFlags.kind,
    ...contentsFlags,
    hashedPin: {
      flag: "--hashed-pin <secret>",
      help: "online vaults: base64, required by every read: @FILE, -, env:NAME",
    },
    maxUsage: {
      flag: "--max-usage <n>",
      help: "offline vaults: how often it can be read",
      parse: wholeNumber,
    },
    expiryDate: {
      flag: "--expiry-date <date>",
      help: "offline vaults: when the service deletes it (ISO 8601)",
    },
    metadata: {
      flag: "--metadata <key=value...>",
      help: "up to 50 entries; letters, digits, dashes, underscores and spaces",
      parse: anyText,
    },
    externalRef: exchangeFlags.externalRef,
    label: newVaultFlags.label,
  },
  examples: [
    "vault create --kind generic/offline --content @note.txt --label note",
    "vault create --kind generic/offline --content @note.txt --max-usage 3",
    "vault create --kind generic/offline --content @note.txt --metadata team=ops",
    "vault create --kind credit-card/offline --card @card.json --json",
  ],
} as const satisfies Descriptor;

export type CreateOptions = OptionsOf<typeof descriptor>;

export const create = loaded(descriptor, async () => (await import("./create/run.ts")).runCreate);
