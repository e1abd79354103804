import type { Descriptor, OptionsOf } from "../../cli/command.ts";

export const backup = {
  name: "backup",
  summary: "copy the whole state, sealed; --restore brings it back",
  description:
    "Copies the whole state into one file, consistently, also while other commands run. Secrets stay sealed: the key " +
    "is not in the file, so keep a copy of it elsewhere. A backup is right for as long as no vault is read or updated: each " +
    "exchange replaces the credentials.",
  arguments: { file: { term: "<file>", help: "the backup" } },
  options: {
    force: { flag: "--force", help: "replace a file that exists" },
    restore: { flag: "--restore", help: "put the backup in the place of the state, which is kept beside it" },
    serviceRestored: {
      flag: "--service-restored",
      help: "with --restore: the service was brought back to that time too, so that superseded pairs may be valid again",
    },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault backup vault-backup.db", "vault backup b.db && vault backup b.db --restore --yes"],
  fields: ({ restore }) => [restore === true ? "restored" : "backup"],
} as const satisfies Descriptor;

export type BackupOptions = OptionsOf<typeof backup>;
