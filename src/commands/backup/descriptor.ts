import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const backup = {
  name: "backup",
  summary: "back up the whole state, or --restore it",
  description:
    "Copy the whole state into one file, consistently, while other commands run. Secrets stay encrypted, and the key is not in the " +
    "file: keep a copy of it elsewhere. A backup goes stale: each exchange replaces the credentials of its vault.",
  arguments: { file: { term: "<file>", help: "the backup" } },
  options: {
    force: { flag: "--force", help: "replace a file that exists" },
    restore: { flag: "--restore", help: "replace the state with the backup; the replaced state is kept beside it" },
    serviceRestored: {
      flag: "--service-restored",
      help: "with --restore: the service was restored to that time too, so superseded credentials may be valid again",
    },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault backup vault-backup.db", "vault backup b.db && vault backup b.db --restore --state ./restored"],
  fields: ({ restore }) => [restore === true ? "restored" : "backup"],
} as const satisfies Descriptor;

export type BackupOptions = OptionsOf<typeof backup>;
