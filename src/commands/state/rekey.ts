import type { Io } from "../../parts/basics.ts";
import type { OpenState } from "../../parts/state.ts";
import { VaultError } from "../../errors.ts";
import { confirmOrFail } from "../../cli/prompts.ts";
import type { Document } from "../../documents/schemas.ts";
import { keyPlace, parseGivenKey } from "../../secrets/keys.ts";
import { command } from "../../cli/command.ts";
import { joined } from "../../protocol/endpoints.ts";
import { count } from "../../terminal/count.ts";
import { command as wayTo, noted } from "../../way.ts";

/** Seals the state with another key, after a question. */
export const rekey = command(
  {
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
  },
  async ({ io, state }, { newStateKey, yes = false }) => {
    const local = await state.open();
    const { state: opened, keySource } = local;
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
        {
          next: [noted(wayTo`openssl rand -base64 32`, "makes a new one")],
        },
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
    if (opened.isShared) {
      const others = machines.filter((host) => host !== io.host.actor.host).join(", ");
      const what = keyFile === null ? "that key" : "a copy of that file, at the same place";
      const used = others === "" ? "" : ` (those that have used it: ${others})`;
      io.narrator.note(`Every other machine needs ${what}${used}.`);
    }
    io.narrator.note(
      keyFile === null
        ? "Keep the new key away from the state, and set it with VAULTSVC_STATE_KEY or the config key stateKeyCommand: nothing can be opened without it."
        : `Keep a copy of ${keyFile} elsewhere: nothing can be opened without it.`,
    );
    if (from !== null) sayFormer(io, local, from);
  },
);

/** Says what the former key is still needed for. */
function sayFormer(
  { narrator }: Io,
  { state, keySource, configuration }: OpenState,
  id: string,
): void {
  const { file } = keyPlace(keySource, id);
  const what = file ?? `Key ${id}`;
  const sealed = configuration
    .sealedWith(id)
    .map(({ profile, key }) =>
      noted(
        wayTo`vault config set ${key} @FILE --profile ${profile}`,
        "encrypts it with the key of the configuration",
      ),
    );
  const opens = [
    "earlier backups",
    ...(state.isShared ? ["what machines keep of exchanges until their next command"] : []),
    ...(sealed.length > 0 ? ["secrets of profiles"] : []),
  ];
  const end = file === null || sealed.length > 0 ? "" : "; it may be removed with them";
  narrator.note(`${what} now opens only ${joined(opens, "and")}${end}.`, [
    ...sealed,
    wayTo`vault state backup FILE`,
  ]);
}
