import { environmentWithoutSecrets } from "../config/child-environment.ts";
import type { Deps } from "../deps.ts";
import { VaultError } from "../errors.ts";
import type { Delivery, Handover } from "../exchange/handover.ts";
import { HandoverFailure } from "../exchange/handover.ts";
import type { RecoveryDocument } from "../exchange/recovery.ts";
import { replaceFile } from "./credentials-file.ts";
import { serialise } from "./document.ts";
import { learnDocument } from "./exchange-options.ts";

export interface HandoverOptions {
  credentialsOut: string | undefined;
  saveCmd: string | undefined;
  /** --no-ack: a masked last read is printed all the same, because nothing is acknowledged. */
  noAck: boolean;
}

/** Prints the contents (a read), then serves --credentials-out and --save-cmd: in this order, all before an end call. */
export function createHandover(deps: Deps, options: HandoverOptions): Handover {
  return {
    leaves: options.credentialsOut !== undefined || options.saveCmd !== undefined,
    counted: async () => Promise.resolve(),
    async deliver(delivery) {
      const owed = options.credentialsOut !== undefined || options.saveCmd !== undefined;
      const isShown = delivery.exchange.operation !== "get" || (await deliverContents(deps, delivery, { ...options, saveOwed: owed }));
      const { unread, ...recovery } = delivery.recovery;
      const document = isShown ? recovery : { ...recovery, ...(unread === undefined ? {} : { unread }) };
      if (options.credentialsOut !== undefined) await writeRecovery(options.credentialsOut, document);
      if (options.saveCmd !== undefined) await saveRecovery(deps, options.saveCmd, document);
      if (!isShown) throw masked(delivery, false);
    },
    async confirm(credentials) {
      if (options.credentialsOut === undefined) return;
      try {
        await replaceFile(options.credentialsOut, `${JSON.stringify(credentials)}\n`);
      } catch (error) {
        const { message } = error as Error;
        throw new Error(
          `${options.credentialsOut} could not be replaced by the new pair alone (${message}): it holds the recovery document`,
          { cause: error },
        );
      }
    },
  };
}

/**
 * Whether the contents are delivered, as far as that can be told: the last read of a limited vault is not where the output
 * would mask it. It is printed all the same with --no-ack, which acknowledges nothing; else it raises.
 */
async function deliverContents(
  deps: Deps,
  delivery: Delivery,
  { noAck, saveOwed }: { noAck: boolean; saveOwed: boolean },
): Promise<boolean> {
  let reveal = deps.output.reveal;
  if (delivery.lastRead && !showsContents(deps, reveal)) reveal = await askToReveal(deps);
  const isWhole = !delivery.lastRead || showsContents(deps, reveal);
  if (!isWhole && !noAck) throw masked(delivery, saveOwed);
  await print(deps, delivery, reveal, saveOwed);
  return isWhole;
}

const masked = (delivery: Delivery, saveOwed: boolean): HandoverFailure =>
  new HandoverFailure("masked", "this is the last read of a limited vault, and the chosen output would not show its contents", {
    delivered: false,
    saveOwed,
    hint: `read it whole with the old pair: vault get ${delivery.recovery.uuid} --discard-pending --reveal (or --json)`,
  });

/** Whether the chosen output holds the contents whole. */
function showsContents(deps: Deps, reveal: boolean): boolean {
  const { field, format } = deps.output;
  if (field !== undefined) return ["vault", "vault.creditCard", "vault.content"].includes(field);
  return format !== "table" || reveal;
}

async function askToReveal(deps: Deps): Promise<boolean> {
  if (!deps.mayAsk || deps.output.field !== undefined) return false;
  const { confirm } = await import("../terminal/prompts.ts");
  return await confirm(deps.host, "This is the last read of this vault, and the contents would be masked. Show them?");
}

async function print(deps: Deps, delivery: Delivery, reveal: boolean, saveOwed: boolean): Promise<void> {
  const { vault, kind, exchange, settled } = delivery;
  try {
    const text =
      serialise({ vault, kind, exchange, settled }, deps.output, deps.host.stdout.isTTY) ?? (await asTable(deps, delivery, reveal));
    await deps.host.stdout.write(text);
  } catch (error) {
    if (deps.host.interrupted.aborted) throw new VaultError("interrupted", "interrupted while the contents were printed", { cause: error });
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "EPIPE" ? "the reader of the output has gone" : code === "ENOSPC" ? "the disk is full" : message;
    throw new HandoverFailure("delivery", `the contents could not be delivered: ${why}`, { delivered: false, saveOwed });
  }
}

async function asTable(deps: Deps, delivery: Delivery, reveal: boolean): Promise<string> {
  const { vaultTable } = await import("../terminal/vault-view.ts");
  return await vaultTable(delivery, { facts: deps.host.stdout, now: deps.host.now(), reveal });
}

async function writeRecovery(path: string, document: RecoveryDocument): Promise<void> {
  try {
    await replaceFile(path, `${JSON.stringify(document)}\n`);
  } catch (error) {
    throw new HandoverFailure("credentials-out", `--credentials-out ${path} could not be written: ${(error as Error).message}`, {
      delivered: true,
      saveOwed: true,
    });
  }
}

/** Hands the recovery document to --save-cmd; what the command prints becomes talk. */
export async function saveRecovery(deps: Deps, command: string, document: RecoveryDocument): Promise<void> {
  learnDocument(deps, document);
  try {
    const { runSaveCommand } = await import("./save-command.ts");
    await runSaveCommand(
      {
        command,
        timeoutMs: deps.settings.timeoutMs,
        env: environmentWithoutSecrets(deps.host.env, (text) => deps.redactor.redact(text)),
        exchangeId: document.exchangeId,
        signal: deps.host.interrupted,
        endGroup: (pid) => deps.host.endGroup(pid),
        say: (text) => void deps.host.stderr.writeColored(text),
      },
      `${JSON.stringify(document)}\n`,
    );
  } catch (error) {
    throw new HandoverFailure("save-cmd", (error as Error).message, { delivered: true, saveOwed: true });
  }
}
