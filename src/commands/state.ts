import type { Command, Descriptor, OptionsOf } from "../cli/command.ts";
import { loaded } from "../cli/command.ts";

const init = {
  name: "init",
  summary: "create the state and its encryption key",
  description:
    "Create the state and its encryption key, if there are none. Only a shared state (postgres://…) needs this; a state on this " +
    "machine is created on first use.",
  options: {
    grant: {
      flag: "--grant <role>",
      help: "PostgreSQL: give this role the rights that all other commands need",
    },
  },
  examples: ["vault state init", "vault state init --state ./new-state"],
} as const satisfies Descriptor;

export type StateInitOptions = OptionsOf<typeof init>;

const move = {
  name: "move",
  summary: "move the state to another place",
  description:
    "Move the whole state, with its key, to another directory, or to or from PostgreSQL. Commands that still use the old place " +
    "fail, name the new one and send nothing. Safe to interrupt; run it again.",
  options: {
    to: {
      flag: "--to <location>",
      help: "the new place: a directory, or postgres://… (after state init)",
    },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault state move --to ./moved", "vault state move --to ./moved --json"],
} as const satisfies Descriptor;

export type MoveOptions = OptionsOf<typeof move>;

const claim = {
  name: "claim",
  summary: "use a copied shared state, in place of its original",
  description:
    "Use a copied shared state in place of its original, or a state whose move was interrupted, or went to a place that is gone for good. Nobody may " +
    "use the other one any more: the two would replace each other's credentials, and vaults would be lost. No credentials count as " +
    "verified afterwards.",
  options: { yes: { flag: "--yes", help: "do not ask" } },
  examples: ["vault state claim --help", "vault state claim --help --no-color"],
} as const satisfies Descriptor;

export type ClaimOptions = OptionsOf<typeof claim>;

const backup = {
  name: "backup",
  summary: "copy the whole state into one file",
  description:
    "Copy the whole state into one file, consistently, while other commands run. Secrets stay encrypted, and the key is not in the " +
    "file: keep a copy of it elsewhere. A backup goes stale: each exchange replaces the credentials of its vault.",
  arguments: { file: { term: "<file>", help: "the backup" } },
  options: { force: { flag: "--force", help: "replace a file that exists" } },
  examples: ["vault state backup vault-backup.db", "vault state backup backup-2026-11.db --json"],
} as const satisfies Descriptor;

export type BackupOptions = OptionsOf<typeof backup>;

const restore = {
  name: "restore",
  summary: "restore a backup into the state",
  description:
    "Check a backup and restore it into the state, vault by vault, while other commands go on: what was lost comes back, and nothing is lost. " +
    "Reports, for each vault, which credentials were kept. " +
    "Safe to interrupt; run it again.",
  arguments: { file: { term: "<file>", help: "the backup" } },
  options: {
    backupKey: {
      flag: "--backup-key <secret>",
      help: "key of the backup, if the state has another one: @FILE, -, env:NAME",
    },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: [
    "vault state backup b.db && vault state restore b.db",
    "vault state backup b.db && vault state restore b.db --state ./restored",
  ],
} as const satisfies Descriptor;

export type RestoreOptions = OptionsOf<typeof restore>;

const rekey = {
  name: "rekey",
  summary: "change the encryption key",
  description:
    "Encrypt the state with a new key: in a new key file, or given. The former key file stays, for backups that were made before. " +
    "Safe to interrupt; run it again.",
  options: {
    newStateKey: {
      flag: "--new-state-key <secret>",
      help: "new key, 32 bytes as base64: @FILE, -, env:NAME (default: in a file)",
    },
    yes: { flag: "--yes", help: "do not ask" },
  },
  examples: ["vault state rekey", "vault state rekey --json"],
} as const satisfies Descriptor;

export type RekeyOptions = OptionsOf<typeof rekey>;

const locks = {
  name: "locks",
  summary: "list the locks on vaults",
  description:
    "List who is using which vault, and since when. In a shared state a lock also ends by itself, if nobody renews it.",
  examples: ["vault state locks", "vault state locks --json"],
} as const satisfies Descriptor;

export const state: Command = {
  name: "state",
  summary: "create, move, back up and restore the state; change its key",
  description:
    "Manage the state: all vaults with their credentials, in a directory, or in a database of PostgreSQL that several machines share (--state).",
  examples: ["vault state init", "vault state backup vault-backup.db"],
  commands: [
    loaded(init, async () => (await import("./state/run.ts")).runStateInit),
    loaded(move, async () => (await import("./state/run.ts")).runMove),
    loaded(claim, async () => (await import("./state/run.ts")).runClaim),
    loaded(backup, async () => (await import("./state/run.ts")).runBackup),
    loaded(restore, async () => (await import("./state/run.ts")).runRestore),
    loaded(rekey, async () => (await import("./state/rekey.ts")).runRekey),
    loaded(locks, async () => (await import("./state/run.ts")).runLocks),
  ],
};
