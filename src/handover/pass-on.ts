import { hash } from "node:crypto";
import type { Basics } from "../parts/basics.ts";
import type { RecoveryDocument } from "../exchange/credentials.ts";
import { HandoverFailure } from "../exchange/recovery.ts";
import type { GetDocument } from "../documents/exchange.ts";
import { learnAll } from "../input/read-start.ts";
import { environmentWithoutSecrets, runShellCommand } from "../settings/child-command.ts";
import { removeLeftovers } from "../files/durable-file.ts";
import type { VaultsOptions } from "../input/flags.ts";
import { outFileOf, writeOut } from "./out-file.ts";
import type { Program } from "./program.ts";

/**
 * Writes the contents of a vault to --out or --out-dir, and gives them to --exec or a program: without the credentials, which this
 * program keeps, unless --with-credentials says otherwise.
 * @throws HandoverFailure, and what `writeOut` throws
 */
export async function passContents(
  basics: Basics,
  { options, run }: { options: VaultsOptions & { program?: Program }; run: string },
  document: GetDocument,
): Promise<void> {
  const { out, exec, program, withCredentials } = options;
  const { host } = basics.io;
  const { uuid, label } = document;
  const { credentials: _, ...vault } = document.vault;
  const passed = withCredentials === true ? document : { ...document, vault };
  // With --out-dir that would read the folder once for each vault.
  if (out !== undefined) removeLeftovers(host.resolve(out));
  const path = outFileOf(options, uuid);
  if (path !== undefined) writeOut(host, path, passed);
  if (exec !== undefined)
    await passTo(basics, "exec", exec, passed, {
      VAULTSVC_VAULT_UUID: uuid,
      VAULTSVC_VAULT_LABEL: label ?? "",
      VAULTSVC_DELIVERY_ID: `${run}-${uuid}`,
    });
  await program?.run(passed);
}

/**
 * Runs a command of the user with a document on its standard input; what it prints, on either stream, goes to stderr by whole lines.
 * Returns the text of the document.
 * @throws HandoverFailure, unless the command has read all of it and exited with 0
 */
async function passTo(
  { io: { host, redactor }, settings: { timeout: timeoutMs } }: Basics,
  reason: "exec" | "save-cmd",
  command: string,
  document: unknown,
  variables: Readonly<Record<string, string>>,
): Promise<string> {
  const input = `${JSON.stringify(document)}\n`;
  const failure = await runShellCommand(host, {
    command,
    env: { ...environmentWithoutSecrets(host.env, redactor), ...variables },
    cwd: host.cwd,
    input,
    timeoutMs,
    // Only a second signal ends the deliveries of a run.
    signal: reason === "exec" ? host.killed : host.interrupted,
    onLines: (lines) => void host.stderr.writeColored(lines),
  });
  if (failure === undefined) return input;
  throw new HandoverFailure(reason, `--${reason} ${failure}`);
}

/**
 * Gives the recovery document to --save-cmd, to replace the one with the hash `given`. Returns the hash of what it gave.
 * @throws HandoverFailure
 */
export async function saveRecovery(
  basics: Basics,
  command: string,
  document: RecoveryDocument,
  given: string | null,
): Promise<string> {
  learnAll(basics.io.redactor.add, { type: "recovery", document });
  const text = await passTo(basics, "save-cmd", command, document, {
    VAULTSVC_EXCHANGE_ID: document.exchange.id,
    // Of the document that is to be replaced: a database replaces its row only if the row still has it. Empty if there is none.
    VAULTSVC_GIVEN_SHA256: given ?? "",
  });
  return hash("sha256", text);
}
