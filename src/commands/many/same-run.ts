import { createHash } from "node:crypto";
import { VaultError } from "../../errors.ts";
import type { Clock } from "../../exchange/ports.ts";
import type { RunExchange } from "../../exchange/records.ts";
import { createIds } from "../../exchange/ulid.ts";
import type { Operation } from "../../protocol/endpoints.ts";
import type { Entry } from "./entry.ts";

/** A name for a run that was given none. */
export const newRun = (operation: Operation | "ack", clock: Pick<Clock, "now">): string =>
  `${operation}-${createIds(clock).next().toLowerCase()}`;

/** Tells whether two updates send the same contents. */
export const digestOf = ({ contents }: Pick<Entry, "contents">): string | undefined =>
  contents && createHash("sha256").update(JSON.stringify(contents)).digest("hex");

/**
 * Compares an entry with what its run has begun before.
 * @throws `invalid-input` if that was something else
 */
export function checkSameRun(name: string, operation: Operation, entry: Entry, begun: RunExchange | undefined): void {
  if (begun === undefined) return;
  const differs = (what: string): VaultError =>
    new VaultError("invalid-input", `--run ${name}: ${what}; nothing was sent`, {
      uuid: entry.uuid,
      hint: "choose another name for another run",
    });
  if (begun.operation !== operation) throw differs(`it is a run of vault ${begun.operation}`);
  if (begun.digest !== null && begun.digest !== digestOf(entry))
    throw differs(`the contents for vault ${entry.uuid} are not those that the run has sent before`);
}
