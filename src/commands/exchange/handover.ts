import { createHash } from "node:crypto";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import type { Delivery, Handover } from "../../exchange/handover.ts";
import type { Attempts } from "../../exchange/records.ts";
import { HandoverFailure } from "../../exchange/handover.ts";
import type { RecoveryDocument } from "../../exchange/recovery/document.ts";
import { credentialsJson, documentWith, recoveryJson } from "../../exchange/recovery/document.ts";
import { noAttempts } from "../../exchange/recovery/reset-attempts.ts";
import { deviceOf } from "../../exchange/recovery/of-exchange.ts";
import { hasField } from "../../cli/output.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import type { RecoveryFile } from "../documents/recovery.ts";
import type { CredentialsOut } from "./credentials-out.ts";
import { ReplacedFile } from "./credentials-out.ts";
import type { GivenPair } from "./options.ts";
import { getDocument } from "./delivered.ts";
import { learnAll } from "./options.ts";
import { defined } from "../../defined.ts";

type Needs = Pick<App, "ask" | "host" | "narrator" | "output" | "redactor" | "settings">;

interface HandoverOptions {
  /** --out: the contents go there, in place of stdout. */
  outFile: string | undefined;
  out: CredentialsOut | undefined;
  saveCmd: string | undefined;
  /** --no-ack: a masked last read is printed, because nothing is acknowledged. */
  noAck: boolean;
  uuid: string;
  label: string | null;
  kind: Kind;
  /** The document of --credentials, also byte for byte. */
  given: Pick<GivenPair, "document" | "exact">;
}

/** Prints the contents (a read), then serves --credentials-out and --save-cmd: in this order, all before an end call. */
export function createHandover(app: Needs, options: HandoverOptions): Handover {
  const { out, saveCmd, uuid, label, kind, given } = options;
  const leaves = out !== undefined || saveCmd !== undefined;
  let spent: Attempts | undefined;
  let isDelivered = false;
  let replaced = given.exact === undefined ? undefined : sha256(given.exact);
  return {
    leavesState: leaves,
    takesTime: saveCmd !== undefined,
    get given() {
      return replaced;
    },
    async recordAttempts(attempts) {
      spent = attempts;
      if (out?.isState !== true || isDelivered || given.document === undefined) return;
      await count(out, uuid, documentWith(given.document, { uuid, label, kind }, attempts));
    },
    async deliver(delivery) {
      isDelivered = true;
      const isShown =
        delivery.exchange.operation !== "get" ||
        (await deliverContents(app, delivery, { ...options, saveOwed: leaves }));
      const { unread, ...recovery } = delivery.recovery;
      const document = isShown ? recovery : defined({ ...recovery, unread });
      if (out !== undefined)
        await writeRecovery(out, recoveryJson(document, spent && started(spent)), uuid);
      if (saveCmd !== undefined)
        replaced = await saveRecovery(app, saveCmd, document, replaced ?? null);
      if (!isShown) throw masked(delivery, false);
    },
    async confirm(credentials) {
      try {
        const counted = out?.isState === true && saveCmd === undefined ? soleAttempts : undefined;
        await out?.write(
          credentialsJson(
            { uuid, label, kind, credentials, device: deviceOf(given.document) },
            counted,
          ),
        );
      } catch (error) {
        if (error instanceof ReplacedFile) throw error;
        throw new Error(
          `${out?.path} could not be replaced with the new credentials (${(error as Error).message}); it still holds the recovery document`,
          { cause: error },
        );
      }
    },
  };
}

/** What a file says that is the only place of its credentials, once a start or an acknowledgement from here has proven them. */
const soleAttempts: Attempts = { ...noAttempts, sole: true };

/** The counts once a start has been accepted, which resets the failed attempts and closes the breaker. */
const started = (spent: Attempts): Attempts => ({
  ...spent,
  unansweredStarts: Math.max(0, spent.unansweredStarts - 1),
  quietStarts: 0,
  failedAttempts: 0,
  possiblyFailed: 0,
  sole: false,
  breaker: undefined,
});

/** Writes the counts durably: without that nothing may be sent. */
async function count(out: CredentialsOut, uuid: string, document: RecoveryFile): Promise<void> {
  try {
    await out.write(document);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof ReplacedFile) {
      throw new VaultError("busy", `${message}; nothing was sent`, {
        uuid,
        hint: "run it again; it starts from what the file holds now",
        cause: error,
      });
    }
    throw new VaultError(
      "state",
      `--credentials-out ${out.path} could not be written (${message}); nothing was sent`,
      {
        uuid,
        hint: "free some space there or make it writable, then run it again",
        cause: error,
      },
    );
  }
}

/**
 * Delivers the contents, and returns whether they are whole. The last read of a limited vault is not if the output masks it: with
 * --no-ack it is printed nevertheless, because nothing is acknowledged.
 * @throws HandoverFailure
 */
async function deliverContents(
  app: Pick<App, "ask" | "host" | "narrator" | "output">,
  delivery: Delivery,
  { outFile, noAck, saveOwed }: Pick<HandoverOptions, "outFile" | "noAck"> & { saveOwed: boolean },
): Promise<boolean> {
  if (outFile !== undefined) {
    await orHeld(app, saveOwed, async () => {
      const { writeOutFile } = await import("../many/out-file.ts");
      writeOutFile(app, outFile, getDocument(delivery));
    });
    return true;
  }
  let reveal = app.output.reveal;
  if (delivery.lastRead && !showsContents(app, reveal)) reveal = await askToReveal(app);
  const isWhole = !delivery.lastRead || showsContents(app, reveal);
  if (!isWhole && !noAck) throw masked(delivery, saveOwed);
  await print(app, delivery, reveal, saveOwed);
  return isWhole;
}

const masked = (delivery: Delivery, saveOwed: boolean): HandoverFailure =>
  new HandoverFailure(
    "masked",
    "this is the last read of a limited vault, and the chosen output would not show its contents",
    {
      delivered: false,
      saveOwed,
      hint: `vault get ${delivery.recovery.uuid} --discard-pending --reveal (or --json)`,
    },
  );

/** Whether the chosen output holds the contents whole. */
function showsContents(app: Pick<App, "output">, reveal: boolean): boolean {
  const { field, format } = app.output;
  if (field !== undefined) return ["vault", "vault.creditCard", "vault.content"].includes(field);
  return format !== "table" || reveal;
}

async function askToReveal(app: Pick<App, "ask" | "output">): Promise<boolean> {
  if (!app.ask.isPossible || app.output.field !== undefined) return false;
  return await app.ask.confirm(
    "This is the last read of this vault, and the contents would be masked. Show them?",
  );
}

const isContents = (field: string): boolean => /^vault\.(?:creditCard|content)(?:\.|$)/.test(field);

async function print(
  app: Pick<App, "host" | "narrator" | "output">,
  delivery: Delivery,
  reveal: boolean,
  saveOwed: boolean,
): Promise<void> {
  await orHeld(app, saveOwed, async () => {
    const { field } = app.output;
    const document = getDocument(delivery);
    // An optional field: the contents themselves are not, and without them nothing is acknowledged.
    if (field !== undefined && !isContents(field) && !hasField(document, field)) {
      app.narrator.warn(`--field ${field}: the service did not send it; nothing was printed`);
      return;
    }
    await app.output.print(document, async (view) => {
      const { vaultTable } = await import("../../cli/vault-view.ts");
      return await vaultTable(delivery, { ...view, reveal });
    });
  });
}

/** @throws HandoverFailure where the contents cannot be written, and `interrupted` */
async function orHeld(
  app: Pick<App, "host">,
  saveOwed: boolean,
  write: () => Promise<void>,
): Promise<void> {
  try {
    await write();
  } catch (error) {
    if (app.host.interrupted.aborted)
      throw new VaultError("interrupted", "interrupted while printing the contents", {
        cause: error,
      });
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "EPIPE" ? "the output was closed" : code === "ENOSPC" ? "the disk is full" : message;
    throw new HandoverFailure("delivery", `the contents could not be delivered: ${why}`, {
      delivered: false,
      saveOwed,
    });
  }
}

async function writeRecovery(
  out: CredentialsOut,
  document: RecoveryFile,
  uuid: string,
): Promise<void> {
  const facts = { delivered: true, saveOwed: true };
  try {
    await out.write(document);
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof ReplacedFile) {
      const hint = `vault get ${uuid} --credentials @${out.path} --credentials-out ${out.path} --discard-pending (starts again from it)`;
      throw new HandoverFailure("credentials-out", `--credentials-out: ${message}`, {
        ...facts,
        hint,
      });
    }
    throw new HandoverFailure(
      "credentials-out",
      `--credentials-out ${out.path} could not be written: ${message}`,
      facts,
    );
  }
}

/**
 * Gives the recovery document to --save-cmd, to replace the one with the hash `given`, and returns the hash of what it gave. What
 * the command prints goes to stderr.
 */
export async function saveRecovery(
  app: Pick<App, "host" | "redactor" | "settings">,
  command: string,
  document: RecoveryDocument,
  given: string | null,
): Promise<string> {
  learnAll(app, { type: "recovery", document, attempts: undefined });
  const text = `${JSON.stringify(recoveryJson(document))}\n`;
  try {
    const { childOf, runWithDocument } = await import("./document-command.ts");
    await runWithDocument(
      { ...childOf(app), flag: "--save-cmd", command, signal: app.host.interrupted },
      text,
      {
        VAULTSVC_EXCHANGE_ID: document.exchangeId,
        // Of the document that is to be replaced: a database replaces its row only where the row still has it. Empty if there is none.
        VAULTSVC_GIVEN_SHA256: given ?? "",
      },
    );
    return sha256(text);
  } catch (error) {
    throw new HandoverFailure("save-cmd", (error as Error).message, {
      delivered: true,
      saveOwed: true,
    });
  }
}

const sha256 = (text: string): string => createHash("sha256").update(text, "utf8").digest("hex");
