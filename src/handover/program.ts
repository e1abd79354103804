import { accessSync, closeSync, constants, openSync, readSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { attempt } from "../attempt.ts";
import { fieldText, isContents, isWhole } from "../cli/output.ts";
import type { GetDocument } from "../documents/exchange.ts";
import { VaultError, type ErrorFacts } from "../errors.ts";
import { HandoverFailure } from "../exchange/recovery.ts";
import type { Host } from "../host.ts";
import type { Io } from "../parts/basics.ts";
import { environmentWithoutSecrets } from "../settings/child-command.ts";
import type { Ended } from "../terminal/foreground.ts";
import { printableLine } from "../terminal/redactor.ts";
import { command } from "../way.ts";

interface ProgramOptions {
  command: readonly string[];
  /** NAME=FIELD. */
  env?: readonly string[] | undefined;
  stdin?: boolean | undefined;
  ackAfterMs?: number | undefined;
  withCredentials?: boolean | undefined;
  run?: string | undefined;
}

/** A program of the user that is started with the contents of a vault, in the foreground. */
export class Program {
  /** Fields of the document by the variable that has them. */
  readonly fields: ReadonlyMap<string, string>;
  readonly #io: Io;
  readonly #given: ProgramOptions;
  readonly #file: string;
  /** How it has ended, or will end; undefined if it was not started. */
  ended: Promise<Ended> | undefined;
  isRunning = false;

  /** @throws `usage` for variables that cannot be, for none, and (with exit code 127) for a program that cannot be started */
  constructor(io: Io, given: ProgramOptions) {
    this.#io = io;
    this.#given = given;
    this.fields = variables(given.env ?? []);
    if (this.fields.size === 0 && given.stdin !== true)
      throw usage("neither --env nor --stdin: the program would not receive the vault", {
        hint: "--env NAME=FIELD passes a field in a variable, --stdin the whole document",
        next: [command`vault run --help`],
      });
    for (const [name, field] of this.fields)
      if (/^vault\.credentials(?:\.|$)/.test(field) && given.withCredentials !== true)
        throw usage(`--env ${name}: a program receives no credentials without --with-credentials`, {
          hint: "the program needs the contents only, because this one keeps the credentials",
        });
    this.#file = executable(io.host, given.command[0] ?? "");
  }

  /** What tells it from another one. */
  get line(): readonly unknown[] {
    return [this.#given.command, [...this.fields], this.#given.stdin === true];
  }

  takesAll({ vault }: Pick<GetDocument, "vault">): boolean {
    const passed = [...this.fields.values()];
    const parts = Object.keys(vault["creditCard"] ?? {}).map((name) => `vault.creditCard.${name}`);
    const isInParts = parts.length > 0 && parts.every((part) => passed.includes(part));
    return this.#given.stdin === true || isInParts || passed.some(isWhole);
  }

  /**
   * Starts it. Resolves when it has taken the contents over: it exited with 0, or has run for as long as --ack-after says.
   * @throws HandoverFailure, and the reason of `interrupted`, which then does not start it
   */
  async run(document: GetDocument): Promise<void> {
    const { stdin, ackAfterMs } = this.#given;
    const { host, narrator } = this.#io;
    const env = this.#environment(document);
    const over = new AbortController();
    this.isRunning = true;
    this.ended = host
      .runForeground({
        file: this.#file,
        command: this.#given.command,
        env,
        input: stdin === true ? `${JSON.stringify(document)}\n` : undefined,
      })
      .finally(() => {
        this.isRunning = false;
        over.abort(new Error("ended"));
      });
    narrator.yieldTo(this.ended);
    const end = async (): Promise<Ended | undefined> => await this.ended;
    const isEnough =
      ackAfterMs === undefined
        ? end()
        : host.sleep(ackAfterMs, over.signal).then(() => undefined, end);
    const ended = await Promise.race([end(), isEnough]).catch((error: unknown) => {
      if (host.interrupted.aborted) throw error;
      const { code, message } = error as NodeJS.ErrnoException;
      const why = code === "E2BIG" ? "the fields are too long for an environment" : message;
      const needs = code === "E2BIG" ? null : undefined;
      throw failed(`${this.#name} could not be started: ${why}`, needs);
    });
    if (ended === undefined) return;
    const { exitCode, signal, unread } = ended;
    if (signal !== null) throw failed(`${this.#name} was ended by ${signal}`);
    if (exitCode !== 0) throw failed(`${this.#name} exited with code ${exitCode}`);
    if (unread)
      throw failed(`${this.#name} did not read the whole document from its standard input`);
  }

  get #name(): string {
    return printableLine(this.#given.command[0] ?? "");
  }

  /** The environment without our secrets, and with the fields. @throws HandoverFailure */
  #environment(document: GetDocument): Record<string, string> {
    const { host, redactor, narrator } = this.#io;
    const env = environmentWithoutSecrets(host.env, redactor);
    const { run } = this.#given;
    if (run !== undefined) env["VAULTSVC_DELIVERY_ID"] = `${run}-${document.uuid}`;
    for (const [name, field] of this.fields) {
      // Not one that was there before: the program would take it for the vault's.
      delete env[name];
      const value = fieldText(document, field);
      if (value !== undefined) {
        if (value.includes("\0"))
          throw failed(
            `--env ${name}: ${field} holds a NUL byte, which no variable can hold`,
            null,
          );
        env[name] = value;
      } else if (isContents(field)) {
        throw failed(`--env ${name}: the service's response has no ${field}`);
      } else {
        narrator.warn(`--env ${name}: the service did not send ${field}; the variable is not set`);
      }
    }
    return env;
  }
}

const failed = (message: string, needs?: null): HandoverFailure =>
  new HandoverFailure("run", message, needs);

const usage = (message: string, facts: ErrorFacts): VaultError =>
  new VaultError("usage", `${message}; nothing was sent`, facts);

/** Reads NAME=FIELD. @throws `usage` */
function variables(given: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (const text of given) {
    const [, name = "", field = ""] = /^([A-Za-z_]\w*)=(.+)$/s.exec(text) ?? [];
    if (field === "" || fields.has(name))
      throw usage(
        `--env ${printableLine(text)}: must be NAME=FIELD, and each variable given once`,
        {
          hint: "such as --env CARD=vault.creditCard.number; a name has letters, digits and _, and no digit first",
        },
      );
    fields.set(name, field);
  }
  return fields;
}

/**
 * The file of a program that the system can start, found as the system finds it.
 * @throws `usage` with exit code 127
 */
function executable(host: Host, name: string): string {
  const found = find(host, name);
  const why = found.why ?? obstacleIn(host, found.file);
  if (why === undefined) return found.file;
  throw usage(`${printableLine(name)} cannot be started: ${why}`, {
    exitCode: 127,
    hint: "name a program on PATH, or its path, after --",
  });
}

function find(host: Host, name: string): { file: string; why?: string } {
  const folders = name.includes("/") ? [""] : (host.env["PATH"] ?? "/usr/bin:/bin").split(":");
  let why = "no such program";
  for (const folder of name === "" ? [] : folders) {
    try {
      const file = host.resolve(join(folder, name));
      if (!statSync(file).isFile()) continue;
      why = "it is not executable";
      accessSync(file, constants.X_OK);
      return { file };
    } catch {
      // Another folder may have it.
    }
  }
  return { file: "", why };
}

/**
 * Why the system cannot start a file, or undefined. A text without `#!` is one: there is no shell that would read it, unless the C
 * library starts one, which makes of an empty file a success.
 */
function obstacleIn(host: Host, file: string): string | undefined {
  const head = beginningOf(file);
  if (head === undefined || head.slice(0, 256).includes("\0")) return undefined;
  const [, interpreter, first = ""] = /^#![ \t]*([^ \t\n]+)[ \t]*([^ \t\n]*)/.exec(head) ?? [];
  if (interpreter === undefined) return "it is no binary, and does not begin with #! and a program";
  // The one that env(1) looks up, if it is that simple.
  const sought = basename(interpreter) === "env" && !/^-|=|^$/.test(first) ? [first] : [];
  for (const name of [interpreter, ...sought]) {
    const { why } = find(host, name);
    if (why !== undefined) return `its interpreter ${printableLine(name)}: ${why}`;
  }
  return undefined;
}

/** The first 4 KiB of a file, a character a byte; undefined for one that can only be executed. */
function beginningOf(file: string): string | undefined {
  const bytes = Buffer.alloc(4096);
  const fd = attempt(() => openSync(file, "r"));
  if (fd === undefined) return undefined;
  const length = attempt(() => readSync(fd, bytes));
  closeSync(fd);
  return length === undefined ? undefined : bytes.toString("latin1", 0, length);
}
