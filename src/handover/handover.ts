import { hash } from "node:crypto";
import type { Basics, Io } from "../parts/basics.ts";
import { fieldText, isContents, isWhole, type Output } from "../cli/output.ts";
import type { View } from "../cli/vault-view.ts";
import { VaultError } from "../errors.ts";
import { summarize } from "../exchange/records.ts";
import { HandoverFailure, format, type Delivery, type Handover } from "../exchange/recovery.ts";
import type { Start } from "../exchange/start/start.ts";
import type { GetDocument, UpdateDocument } from "../documents/exchange.ts";
import type { CredentialsOut } from "./credentials-out.ts";
import type { VaultsOptions } from "../input/flags.ts";
import type { Program } from "./program.ts";
import { withWords, type Way } from "../way.ts";

/** What a command line says of its vaults; a program receives what is read, in place of stdout. */
export type RunOptions = VaultsOptions & { program?: Program };

/** Where the contents of a read go, and then the recovery document. */
export interface Outputs {
  options: RunOptions;
  /** Name of the run, which names the deliveries of --exec. */
  run: string;
  /** Receives the contents, whatever the output masks, if the options name no other place than stdout. */
  print?: ((document: GetDocument, delivery: Delivery) => Promise<void>) | undefined;
  /** Ends the delivery. */
  stop: AbortSignal;
  /** --credentials-out */
  out?: CredentialsOut | undefined;
  /** What repeats the command, if its own line does not. */
  line?: Way | undefined;
}

function getDocument({ uuid, label, vault, kind, exchange, settled }: Delivery): GetDocument {
  const { state: _, ...shown } = summarize(exchange);
  return { uuid, label, vault, kind, exchange: shown, settled };
}

/** What an update prints, once its outcome is known. */
export function updateDocument(delivery: Delivery): UpdateDocument {
  const { state, acknowledgedAt } = delivery.exchange;
  const document = getDocument(delivery);
  return { ...document, exchange: { ...document.exchange, state, acknowledgedAt } };
}

/** Prints the contents (a read), then serves --credentials-out and --save-cmd: in this order, all before an end call. */
export function createHandover(basics: Basics, outputs: Outputs, start: Start): Handover {
  const { io } = basics;
  const { out, options } = outputs;
  const { saveCmd, withCredentials, outDir, exec, program } = options;
  const isPassed = (options.out ?? outDir ?? exec ?? program) !== undefined;
  const pass = async (document: GetDocument): Promise<void> =>
    await (await import("./pass-on.ts")).passContents(basics, outputs, document);
  const handed = isPassed ? { ...outputs, print: pass } : outputs;
  const { uuid, given } = start;
  const leaves = out !== undefined || saveCmd !== undefined;
  const handover: Handover = {
    leavesState: leaves,
    passesCredentials: withCredentials === true,
    line: outputs.line ?? (options.vaults.length > 0 ? io.line : withWords(io.line, uuid)),
    replaces: given?.exact === undefined ? undefined : hash("sha256", given.exact),
    async deliver(delivery) {
      if (start.operation === "get") await deliverContents(io, delivery, handed, start);
      if (!leaves) return;
      const { unread: _, ...document } = await delivery.recovery();
      out?.write(document);
      if (saveCmd === undefined) return;
      const { saveRecovery } = await import("./pass-on.ts");
      handover.replaces = await saveRecovery(basics, saveCmd, document, handover.replaces ?? null);
    },
    async confirm({ kind, credentials }) {
      const device = given?.type === "pair" ? given.device : undefined;
      const label = start.label ?? given?.label ?? null;
      out?.write({ format, uuid, label, kind, credentials, device });
      return Promise.resolve();
    },
  };
  return handover;
}

/**
 * Delivers the contents whole. The last read of a limited vault is not if the output masks it, nor any if a person does not want it
 * shown: with --no-ack it is printed nevertheless, because nothing is acknowledged.
 * @throws HandoverFailure
 */
async function deliverContents(
  io: Io,
  delivery: Delivery,
  outputs: Outputs,
  { noAck }: Start,
): Promise<void> {
  const document = getDocument(delivery);
  if (delivery.lastRead && outputs.options.program?.takesAll(document) === false)
    throw masked(delivery, "the program would not receive its whole contents", "--stdin");
  const { print } = outputs;
  if (print !== undefined)
    return await orHeld(outputs, async () => await print(document, delivery));
  const { lastRead, exchange } = delivery;
  const { field } = io.output;
  const isMasked = exchange.limited && !showsContents(io.output);
  const isAsked = isMasked && io.ask.isPossible && field === undefined;
  const left = lastRead
    ? "This is the last read of this vault"
    : `This vault has ${exchange.usesRemaining} reads left, this one included`;
  const isWanted =
    isAsked && (await io.ask.confirm(`${left}, and the contents would be masked. Show them?`));
  const reveal = isWanted ? "contents" : io.output.reveal;
  // A person who does not want to see the contents has no use for the read.
  const isDelivered = !isMasked || isWanted || !(lastRead || isAsked);
  const flag = field === undefined ? "--reveal" : "--field=vault";
  const failure = masked(delivery, "the output would not show its contents", flag);
  if (!isDelivered && !noAck) throw failure;
  // Other fields are optional.
  if (field !== undefined && isContents(field) && fieldText(document, field) === undefined)
    throw new HandoverFailure("delivery", `the service's response has no ${field}`);
  await orHeld(outputs, async () => {
    await io.output.print(document, async (view) => await tableOf(delivery, { ...view, reveal }));
  });
  if (!isDelivered) throw failure;
}

/** What a read shows to a person. */
export async function tableOf(delivery: Delivery, view: View): Promise<string> {
  const { delivered, vaultTable } = await import("../cli/vault-view.ts");
  return vaultTable({ ...delivered(delivery), readsNote: " (this one included)" }, view);
}

/** A read of a limited vault is not used up if nobody receives its contents. */
function masked({ lastRead }: Delivery, why: string, flag: string): HandoverFailure {
  const what = `${lastRead ? "the last" : "a"} read of a limited vault was not used up, because ${why}`;
  return new HandoverFailure("masked", what, [flag]);
}

/** Whether the chosen output holds the contents whole. */
const showsContents = ({ field, format, reveal }: Output): boolean =>
  field === undefined ? format !== "table" || reveal : isWhole(field);

/** @throws HandoverFailure if the contents cannot be written, and `interrupted` */
async function orHeld({ stop }: Outputs, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (stop.aborted)
      throw new VaultError("interrupted", "interrupted while delivering the contents", {
        cause: error,
      });
    if (error instanceof HandoverFailure) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "EPIPE" ? "the output was closed" : code === "ENOSPC" ? "the disk is full" : message;
    throw new HandoverFailure("delivery", `the contents could not be delivered: ${why}`);
  }
}
