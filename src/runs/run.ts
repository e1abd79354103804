import { hash } from "node:crypto";
import type { App } from "../app.ts";
import { VaultError } from "../errors.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { settleInterrupted } from "../exchange/end.ts";
import { newId, type RunExchange, type RunPart } from "../exchange/records.ts";
import type { Start } from "../exchange/start/start.ts";
import type { RunOptions } from "../handover/handover.ts";
import { missingOut } from "../handover/pass-on.ts";
import { realPath } from "../cli/own-files.ts";
import type { Operation } from "../protocol/endpoints.ts";
import { count } from "../terminal/count.ts";
import { withWords, type Way } from "../way.ts";

/** A run, as a command that begins or continues it knows it. */
export interface Run {
  name: string;
  /** Whether the name was given, so that it may have begun before, or be shared. */
  isNamed: boolean;
  operation: Operation;
  /** Tells whether two reads deliver to the same place: stdout, this folder, this command. Undefined for what delivers nothing. */
  delivery: string | undefined;
  outDir: string | undefined;
  /** The command line that continues the run. */
  rest: Way;
  /** That credentials which were given are of no use any more: of many vaults once. */
  hasWarned?: boolean;
}

/** A name for a run that was given none. */
export const newRun = (operation: Operation | "ack", clock: { now(): number }): string =>
  `${operation}-${newId(clock).toLowerCase()}`;

export function runOf(
  { io: { host, line } }: Pick<App, "io">,
  { run, outDir, exec, program }: RunOptions,
  operation: Operation,
): Run {
  const place = [
    outDir === undefined ? null : realPath(host.resolve(outDir)),
    exec ?? null,
    ...(program?.line ?? []),
  ];
  const name = run ?? newRun(operation, host);
  return {
    name,
    isNamed: run !== undefined,
    operation,
    delivery: operation === "get" ? hash("sha256", JSON.stringify(place)) : undefined,
    outDir,
    rest: {
      ...(run === undefined ? withWords(line, "--run", name) : line),
      note: "does the rest, and sends nothing for what is done",
    },
  };
}

/**
 * Begins with a vault in a run. Resolves to the part that its exchange has in it, or that the run had done it before, or has now settled
 * what it had left.
 * @throws what `checkSameRun` throws
 */
export async function beginIn(
  app: App,
  context: ExchangeContext,
  run: Run,
  start: Start,
): Promise<RunPart | "earlier" | "settled"> {
  if (run.isNamed) {
    const store = await app.state.store();
    // Only now: before, another process may have had the vault.
    const [begun] = await store.run(app.settings.serviceName(), run.name, start.uuid);
    if (begun !== undefined) checkSameRun(app, run, begun, start);
    if (begun !== undefined && isDone(begun)) return "earlier";
    if (begun?.state === "ending" && begun.delivered && (await isSettled(context)))
      return "settled";
  }
  return { name: run.name, digest: digestOf(start), delivery: run.delivery };
}

/** Says that a name was used up, as by the same cron job a day before: who wants another run would take the exit code for one. */
export function warnOfNothingLeft({ io }: Pick<App, "io">, name: string, vaults: number): void {
  const all = vaults === 1 ? "its vault" : `all ${count(vaults, "vault")}`;
  io.narrator.warn(
    `run ${name} has done ${all} before; nothing was sent: another --run NAME begins anew`,
  );
}

/** Sends the end call that an earlier command of the run has left; whether nothing remains to be done then. */
async function isSettled(context: ExchangeContext): Promise<boolean> {
  const record = await context.session.read();
  if (record?.open?.state !== "ending") return false;
  const { outcome } = await settleInterrupted(context, record.open);
  return outcome === "acknowledged" || outcome === "applied";
}

/** Whether nothing remains to be done in the run: what somebody acknowledged undelivered is read again. */
export const isDone = ({ operation, state, delivered }: RunExchange): boolean =>
  state === "acknowledged" && (delivered || operation !== "get");

/**
 * Compares what a run has begun before with what it is to be now, and with what is asked for with the same vault.
 * @throws `invalid-input` if that was something else, or what it has delivered is not there any more
 */
export function checkSameRun(
  { io: { host } }: Pick<App, "io">,
  { name, operation, delivery, outDir }: Run,
  begun: RunExchange,
  start?: Start,
): void {
  const differs = (what: string): VaultError =>
    new VaultError("invalid-input", `--run ${name}: ${what}; nothing was sent`, {
      uuid: begun.uuid,
      hint: "repeat the former command line, with its files where they were; or choose another name for another run",
    });
  if (begun.operation !== operation) throw differs(`it is a run of vault ${begun.operation}`);
  if (begun.delivery !== null && begun.delivery !== delivery)
    throw differs("it delivers to another place (stdout, a --out-dir, a --exec or a program)");
  if (start === undefined) return;
  const { uuid } = start;
  if (begun.digest !== null && begun.digest !== digestOf(start))
    throw differs(`the contents for vault ${uuid} are not those that the run has sent before`);
  if (!isDone(begun)) return;
  const file = missingOut(host, { outDir }, uuid);
  if (file !== null) throw differs(`it has read vault ${uuid}, but ${file} is missing`);
}

/** Tells whether two updates send the same contents. */
const digestOf = ({ newVault }: Start): string | undefined =>
  newVault && hash("sha256", JSON.stringify(newVault));
