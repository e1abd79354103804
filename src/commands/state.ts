import { existsSync } from "node:fs";
import { actorWords } from "../actor.ts";
import { command, listed, type Command } from "../cli/command.ts";
import { confirmOrFail } from "../cli/prompts.ts";
import type { Document } from "../documents/schemas.ts";
import type { RestoredVault } from "../documents/state.ts";
import { VaultError } from "../errors.ts";
import { checkWritable } from "../handover/pass-on.ts";
import { givenKey, keyPlace, parseGivenKey } from "../secrets/keys.ts";
import { checkLocation, isShared, passwordSeen } from "../settings/location.ts";
import { count } from "../terminal/count.ts";
import { listTable } from "../terminal/tables.ts";
import { relativeTime } from "../terminal/time.ts";
import { command as wayTo, noted } from "../way.ts";

const init = command({
  description:
    "Create the state and its encryption key, if there are none. Only a shared state (postgres://…) needs this; a state on this " +
    "machine is created on first use.",
  options: {
    "--grant <role>": "PostgreSQL: give this role the rights that all other commands need",
  },
  examples: ["vault state init", "vault state init --state ./new-state"],
  async run({ io, state }, options) {
    const opened = await state.store();
    const { created, keyId } = await opened.create(options.grant);
    const { source, file } = keyPlace(opened.parts.keySource, keyId);
    const document: Document<"state init"> = { state: opened.shown, keyFile: file, created };
    const place = `${opened.isShared ? "shared state" : "state"} ${opened.shown}`;
    const what = created ? `Created the ${place}` : `The ${place} already exists`;
    await io.output.printDone(
      document,
      `${what} (${file === null ? `key ${keyId}, ${source}` : source})`,
    );
    if (created)
      io.narrator.note(
        opened.isShared
          ? "Other machines need the same key: copy the key file there, or give it with VAULTSVC_STATE_KEY."
          : "Keep a copy of the key away from the state: nothing can be opened without it.",
      );
  },
});

const move = command({
  description:
    "Move the whole state, with its key, to another directory, or to or from PostgreSQL. Commands that still use the old place " +
    "fail, name the new one and send nothing. Safe to interrupt; run it again.",
  options: {
    "--to <location>": "the new place: a directory, or postgres://… (after state init)",
    "--yes": "do not ask",
  },
  examples: ["vault state move --to ./moved", "vault state move --to ./moved --json"],
  async run({ io, state }, options) {
    const { to: location, yes = false } = options;
    if (location === undefined)
      throw new VaultError("usage", "--to: the new place is missing", {
        next: [wayTo`vault state move --to LOCATION`],
      });
    const local = await state.open();
    const from = local.state.shown;
    checkLocation(location, "--to");
    const seen = passwordSeen(location, "--to");
    if (seen !== undefined) io.narrator.warn(seen);
    const { to, run } = await local.move(location);
    await confirmOrFail(
      io.ask,
      yes,
      `Move the state from ${from} to ${to}? Nobody can use it meanwhile.`,
    );
    const { vaults } = await run(io.waiting);
    const document: Document<"state move"> = { moved: { from, to, vaults } };
    await io.output.printDone(
      document,
      `Moved the state to ${to}${vaults === null ? "" : ` (${count(vaults, "vault")})`}`,
    );
    const where = isShared(to) ? "on every machine, which needs the same key" : "on this machine";
    const note = `${where}, if neither --state nor VAULTSVC_STATE is given`;
    io.narrator.note("", [noted(wayTo`vault config set state ${to}`, note)]);
  },
});

const claim = command({
  description:
    "Use a copied shared state in place of its original, or a state whose move was interrupted, or went to a place that is gone for good. Nobody may " +
    "use the other one any more: the two would replace each other's credentials, and vaults would be lost. No credentials count as " +
    "verified afterwards.",
  options: { "--yes": "do not ask" },
  examples: ["vault state claim --help", "vault state claim --help --no-color"],
  async run({ io, state }, options) {
    const opened = await state.open();
    const { shown } = opened.state;
    const claim = await opened.claim();
    await confirmOrFail(
      io.ask,
      options.yes === true,
      `Use ${shown} from now on? If its original, or the place that it was moved to, is still used anywhere, vaults will be lost.`,
    );
    await claim(io.waiting);
    const document: Document<"state claim"> = { claimed: { state: shown } };
    await io.output.printDone(
      document,
      `Claimed ${shown}; no credentials count as verified until they are used again`,
    );
  },
});

const backup = command({
  description:
    "Copy the whole state into one file, consistently, while other commands run. Secrets stay encrypted, and the key is not in the " +
    "file: keep a copy of it elsewhere. A backup goes stale: each exchange replaces the credentials of its vault.",
  arguments: { file: { term: "<file>", help: "the backup" } },
  options: { "--force": "replace a file that exists" },
  examples: ["vault state backup vault-backup.db", "vault state backup backup-2026-11.db --json"],
  async run({ io, settings, state }, options) {
    const file = io.host.resolve(options.file);
    checkWritable({ io, settings }, "FILE", options.file);
    if (options.force !== true && existsSync(file))
      throw new VaultError("invalid-input", `FILE: ${file} already exists; nothing was written`, {
        hint: "name another file, or replace this one with --force",
      });
    const opened = await state.store();
    const facts = await (await opened.whole()).backup(file, io.waiting.signal);
    const key = keyPlace(opened.parts.keySource, facts.keyId);
    const document: Document<"state backup"> = {
      backup: { ...facts, key: { inBackup: false, ...key } },
    };
    const where = key.file === null ? `the key, ${key.source}` : key.source;
    const copied = `Copied ${count(facts.vaults, "vault")}${pendingOf(facts)} to ${file}`;
    const missing = `Not in it: ${where}. The backup cannot be opened without it; keep a copy of it elsewhere.`;
    const lines = facts.keyId === null ? [copied] : [copied, missing];
    await io.output.printDone(document, () => lines);
  },
});

const restore = command({
  description:
    "Check a backup and restore it into the state, vault by vault, while other commands go on: what was lost comes back, and nothing is lost. " +
    "Reports what became of each vault. Safe to interrupt; run it again.",
  arguments: { file: { term: "<file>", help: "the backup" } },
  options: {
    "--backup-key <secret>": "key of the backup, if the state has another one: @FILE, -, env:NAME",
    "--yes": "do not ask",
  },
  examples: [
    "vault state backup b.db && vault state restore b.db",
    "vault state backup c.db && vault state restore c.db --state ./restored",
  ],
  async run({ io, state }, options) {
    const file = io.host.resolve(options.file);
    const opened = await state.store();
    const flag = "--backup-key";
    const key =
      options.backupKey === undefined
        ? undefined
        : givenKey(await io.secretOption(options.backupKey, flag), flag);
    const place = opened.shown;
    const { backup, isEmpty, run } = await (await opened.whole()).prepareRestore(file, key);
    const what = count(backup.vaults, "vault");
    const question = `Restore ${what} from the backup into the state in ${place}? What is there stays.`;
    if (!isEmpty) await confirmOrFail(io.ask, options.yes === true, question);
    const facts = await run(io.waiting);
    const { vaults } = facts;
    const { keyId, format } = backup;
    const pending = vaults.filter(({ exchange }) => exchange !== null).length;
    const restored = { file, pending, keyId, format, state: place, vaults };
    const failed = facts.failed.map(({ error, ...vault }) => ({ ...vault, error: error.toJSON() }));
    const document: Document<"state restore"> = { restored, failed };
    const [first] = facts.failed;
    const failure =
      vaults.length === 0 && failed.length === 1
        ? first?.error
        : first &&
          new VaultError(
            "partial",
            `${count(failed.length, "vault")} could not be restored, the first: vault ${first.uuid}: ${first.error.message}`,
            { next: [noted(wayTo`vault state restore ${file}`, "restores what is missing")] },
          );
    const known = vaults.filter(({ reason }) => reason === "known").length;
    const lines = [
      `Merged ${count(vaults.length, "vault")}${pendingOf(restored)} from ${file}`,
      ...vaults.flatMap(becomeOf),
      ...(known === 0 ? [] : [`${count(known, "vault")}: ${reasons.known}`]),
    ];
    await io.output.printDone(document, () => lines, failure);
    io.narrator.note("", [wayTo`vault status`]);
  },
});

const pendingOf = ({ pending }: { pending: number }): string =>
  pending === 0 ? "" : ` (${count(pending, "exchange")} pending)`;

/** Why a vault is as it was here, as in the file, or both. */
const reasons: Readonly<Record<RestoredVault["reason"], string>> = {
  known: "nothing in the backup is new",
  older: "the credentials of the backup were superseded here",
  gone: "it was deleted since the backup; vault import brings it back",
  taken: "it was not known here",
  returned: "it was forgotten here",
  first: "the credentials of the backup are tried first",
  after: "the credentials of the backup are tried after those here",
};

function becomeOf({ uuid, label, reason, exchange, droppedLabel }: RestoredVault): string[] {
  if (reason === "known") return [];
  const continued = exchange?.from === "file" ? `; its ${exchange.state} exchange continues` : "";
  const unlabeled =
    droppedLabel === null ? "" : `; its label ${droppedLabel} belongs to another vault here`;
  return [`${label ?? uuid}: ${reasons[reason]}${continued}${unlabeled}`];
}

const rekey = command({
  description:
    "Encrypt the state with a new key: in a new key file, or given. The former key file stays, for backups that were made before. " +
    "Safe to interrupt; run it again.",
  options: {
    "--new-state-key <secret>":
      "new key, 32 bytes as base64: @FILE, -, env:NAME (default: in a file)",
    "--yes": "do not ask",
  },
  examples: ["vault state rekey", "vault state rekey --json"],
  async run({ io, state }, { newStateKey, yes = false }) {
    const opened = await state.store();
    const { keySource } = opened.parts;
    const flag = "--new-state-key";
    const given =
      newStateKey === undefined
        ? undefined
        : parseGivenKey(await io.secretOption(newStateKey, flag), flag);
    // A file that is made where keys are given may be on a disk that nobody keeps.
    if (given === undefined && keySource.given !== undefined)
      throw new VaultError(
        "usage",
        `${flag}: the new key is missing, as ${keySource.given.by} has the present one`,
        { next: [noted(wayTo`openssl rand -base64 32`, "makes a new one")] },
      );
    await confirmOrFail(
      io.ask,
      yes,
      `Change the encryption key of ${opened.shown}? Earlier backups need the former one.`,
    );
    const rekeyed = await (await opened.whole()).rekey(given, io.waiting);
    const { from, to, values, machines } = rekeyed;
    const keyFile = given === undefined ? keyPlace(keySource, to).file : null;
    const document: Document<"state rekey"> = {
      rekeyed: {
        from: from === null ? [] : [from],
        to,
        source: given === undefined ? "file" : "given",
        keyFile,
        states: [opened.shown],
        values,
        machines,
      },
    };
    const where = keyFile === null ? "" : `, in ${keyFile}`;
    const line = `Encrypted ${count(values, "value")} of ${opened.shown} with key ${to}${where}`;
    await io.output.printDone(document, line);
    const others = machines.filter((host) => host !== io.host.actor.host).join(", ");
    const what = keyFile === null ? "that key" : "a copy of that file, at the same place";
    const used = others === "" ? "" : ` (those that have used it: ${others})`;
    if (opened.isShared) io.narrator.note(`Every other machine needs ${what}${used}.`);
    io.narrator.note(
      keyFile === null
        ? "Keep the new key away from the state, and set it with VAULTSVC_STATE_KEY or the config key stateKeyCommand: nothing can be opened without it."
        : `Keep a copy of ${keyFile} elsewhere: nothing can be opened without it.`,
    );
    if (from === null) return;
    const { file } = keyPlace(keySource, from);
    const kept = opened.isShared ? ", what machines keep until their next command," : "";
    io.narrator.note(
      `${file ?? `Key ${from}`} now opens only earlier backups${kept} and secrets of a profile of version 0.2.0; it may be removed with them.`,
      [wayTo`vault state backup FILE`],
    );
  },
});

const locks = command({
  description:
    "List who is using which vault, and since when. In a shared state a lock also ends by itself, if nobody renews it.",
  examples: ["vault state locks", "vault state locks --json"],
  async run({ io, state }) {
    const locks = await (await state.store()).locks();
    const document: Document<"state locks"> = { locks };
    await io.output.print(document, (view) => {
      const { isTTY, now } = view;
      if (isTTY && locks.length === 0) return "No vault is in use.\n";
      const rows = locks.map(({ uuid, holder, since, endsAt }) => [
        uuid,
        actorWords(holder, "process"),
        ...(isTTY ? [relativeTime(Date.parse(since), now)] : [since, endsAt ?? ""]),
      ]);
      return listTable(["Vault", "Used by", "Since"], rows, view);
    });
  },
});

export const state: Command = {
  description:
    "Manage the state: all vaults with their credentials, in a directory, or in a database of PostgreSQL that several machines share (--state).",
  examples: ["vault state init", "vault state backup vault-backup.db"],
  commands: listed("Commands:", {
    init: ["create the state and its encryption key", () => ({ init })],
    move: ["move the state to another place", () => ({ move })],
    claim: ["use a copied shared state, in place of its original", () => ({ claim })],
    backup: ["copy the whole state into one file", () => ({ backup })],
    restore: ["restore a backup into the state", () => ({ restore })],
    rekey: ["change the encryption key", () => ({ rekey })],
    locks: ["list the locks on vaults", () => ({ locks })],
  }),
};
