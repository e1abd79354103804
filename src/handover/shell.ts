import { createHash } from "node:crypto";
import type { GetDocument } from "../documents/exchange.ts";
import { HandoverFailure } from "../exchange/delivery.ts";
import type { RecoveryDocument } from "../exchange/recovery.ts";
import { learnAll } from "../input/read-start.ts";
import type { Basics } from "../parts/settings.ts";
import { environmentWithoutSecrets, runShellCommand } from "../settings/child-command.ts";

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
 * Gives the document of one vault of a run to --exec, and resolves when the command has taken it over.
 * @throws HandoverFailure
 */
export async function passContents(
  basics: Basics,
  command: string,
  run: string,
  document: GetDocument,
): Promise<void> {
  const { uuid, label } = document;
  await passTo(basics, "exec", command, document, {
    VAULTSVC_VAULT_UUID: uuid,
    VAULTSVC_VAULT_LABEL: label ?? "",
    VAULTSVC_DELIVERY_ID: `${run}-${uuid}`,
  });
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
  return sha256(text);
}

/** SHA-256 of a text, in hex. */
export const sha256 = (text: string): string =>
  createHash("sha256").update(text, "utf8").digest("hex");
