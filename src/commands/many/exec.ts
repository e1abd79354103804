import type { App } from "../../app.ts";
import { HandoverFailure } from "../../exchange/handover.ts";
import type { GetDocument } from "../documents/exchange.ts";
import type { DocumentCommand } from "../exchange/document-command.ts";
import { childOf, runWithDocument } from "../exchange/document-command.ts";

/** The command of --exec, for all vaults of a run. */
export interface Exec {
  command: DocumentCommand;
  run: string;
}

/** What all children of a run have in common: the environment is searched for secrets once. Only a second signal ends them. */
export function prepareExec(
  app: Pick<App, "host" | "redactor" | "settings">,
  command: string,
  run: string,
): Exec {
  return { command: { ...childOf(app), flag: "--exec", command, signal: app.host.killed }, run };
}

/**
 * Gives the document of one vault to --exec. Resolves when the command has taken it over: read whole, and ended with 0.
 * @throws HandoverFailure for everything else
 */
export async function runForVault({ command, run }: Exec, document: GetDocument): Promise<void> {
  const { uuid, label } = document;
  try {
    await runWithDocument(command, `${JSON.stringify(document)}\n`, {
      VAULTSVC_VAULT_UUID: uuid,
      VAULTSVC_VAULT_LABEL: label ?? "",
      VAULTSVC_DELIVERY_ID: `${run}-${uuid}`,
    });
  } catch (error) {
    throw new HandoverFailure("exec", (error as Error).message, {
      delivered: false,
      saveOwed: false,
      hint: `with --discard-pending the same command line passes it on once more; vault ack ${uuid} (if it was taken over nevertheless)`,
    });
  }
}
