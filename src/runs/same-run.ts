import { createHash } from "node:crypto";
import { VaultError } from "../errors.ts";
import type { Clock } from "../exchange/ports.ts";
import type { RunExchange } from "../exchange/records.ts";
import type { Start } from "../exchange/start/start.ts";
import { createIds } from "../exchange/ulid.ts";
import type { Operation } from "../protocol/endpoints.ts";
import type { Host } from "../host.ts";
import { realPath } from "../handover/writable-file.ts";
import type { ManyOptions } from "../input/flags.ts";

/** A name for a run that was given none. */
export const newRun = (operation: Operation | "ack", clock: Pick<Clock, "now">): string =>
  `${operation}-${createIds(clock).next().toLowerCase()}`;

/** Tells whether two updates send the same contents. */
export const digestOf = ({ newVault }: Pick<Start, "newVault">): string | undefined =>
  newVault && createHash("sha256").update(JSON.stringify(newVault)).digest("hex");

/** Tells whether two reads deliver to the same place: stdout, this folder, this command. Undefined for what delivers nothing. */
export function deliveryOf(
  host: Pick<Host, "resolve">,
  operation: Operation,
  { outDir, exec }: ManyOptions,
): string | undefined {
  if (operation !== "get") return undefined;
  const place = [outDir === undefined ? null : realPath(host.resolve(outDir)), exec ?? null];
  return createHash("sha256").update(JSON.stringify(place)).digest("hex");
}

/** A run, as a command that begins or continues it knows it. */
export interface SameRun {
  name: string;
  /** Whether the name was given, so that it may have begun before, or be shared. */
  isNamed: boolean;
  operation: Operation;
  delivery: string | undefined;
  /** Returns the path of the file that the run must have written for a vault, if that is missing. */
  missing: (uuid: string) => string | null;
}

/** Whether nothing remains to be done in the run: what somebody acknowledged undelivered is read again. */
export const isDone = ({ operation, state, delivered }: RunExchange): boolean =>
  state === "acknowledged" && (delivered || operation !== "get");

/**
 * Compares what a run has begun before with what it is to be now, and with what is asked for with the same vault, if the list has it.
 * @throws `invalid-input` if that was something else, or what it has delivered is not there any more
 */
export function checkSameRun(
  { name, operation, delivery, missing }: SameRun,
  begun: RunExchange,
  start: Pick<Start, "newVault" | "uuid"> | undefined,
): void {
  const differs = (what: string): VaultError =>
    new VaultError("invalid-input", `--run ${name}: ${what}; nothing was sent`, {
      uuid: begun.uuid,
      hint: "repeat the former command line; or choose another name for another run",
    });
  if (begun.operation !== operation) throw differs(`it is a run of vault ${begun.operation}`);
  if (begun.delivery !== null && begun.delivery !== delivery)
    throw differs("it delivers to another place (stdout, a --out-dir or a --exec)");
  if (start === undefined) return;
  if (begun.digest !== null && begun.digest !== digestOf(start))
    throw differs(
      `the contents for vault ${start.uuid} are not those that the run has sent before`,
    );
  const file = isDone(begun) ? missing(start.uuid) : null;
  if (file !== null) throw differs(`it has read vault ${start.uuid}, but ${file} is missing`);
}
