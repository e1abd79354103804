import { defined } from "./defined.ts";
import type { ErrorBody } from "./documents/exchange.ts";
import { errorKinds, type ErrorKind, type Retry } from "./error-kinds.ts";

export type { ErrorKind, Retry };

/** The facts of an error, as its document has them. `retry` and `exitCode` override those of its kind. */
export type ErrorFacts = {
  [Fact in Exclude<keyof ErrorBody, "code" | "message">]?: ErrorBody[Fact] | undefined;
} & { cause?: unknown };

/** The only error that the program throws on purpose. `main` turns it into stderr lines and an exit code. */
export class VaultError extends Error {
  readonly code: ErrorKind;
  readonly facts: ErrorFacts;

  constructor(code: ErrorKind, message: string, facts: ErrorFacts = {}) {
    super(message, facts.cause === undefined ? undefined : { cause: facts.cause });
    this.name = "VaultError";
    this.code = code;
    this.facts = facts;
  }

  get exitCode(): number {
    return this.facts.exitCode ?? errorKinds[this.code].exitCode;
  }

  get retry(): Retry {
    return this.facts.retry ?? errorKinds[this.code].retry;
  }

  /** The same error with more facts; those it has already win. */
  with(facts: ErrorFacts): VaultError {
    return new VaultError(this.code, this.message, { ...facts, ...defined(this.facts) });
  }

  /** The `error` object of `vault help documents`: what is undefined is left out of its JSON. */
  toJSON() {
    const { hint, next = [], uuid, label = null, ...facts } = this.facts;
    const { retry, exitCode, cause, ...more } = facts;
    return {
      code: this.code,
      message: this.message,
      hint,
      next,
      exitCode: this.exitCode,
      retry: this.retry,
      ...(uuid === undefined ? {} : { uuid, label }),
      ...more,
    };
  }
}

const outOfFiles = {
  cause: "too many files are open on this machine",
  hint: "raise the limit of open files (ulimit -n), or lower --concurrency",
};

/** Trouble of the machine, by the code of the error: whatever was being done, no bug. */
export const machineTrouble: Readonly<Record<string, { cause: string; hint: string }>> = {
  EMFILE: outOfFiles,
  ENFILE: outOfFiles,
  // By the loader: what the command still needs is of another build.
  ERR_REPLACED: { cause: "the program was replaced or removed while it ran", hint: "run it again" },
};

/** Abort reason of `Host.interrupted` and `Host.killed`, with the name of the signal. */
export class Interruption extends Error {
  override readonly name = "Interruption";
  readonly signal: string;

  constructor(signal: string) {
    super(`interrupted by ${signal}`);
    this.signal = signal;
  }
}

/** Any thrown value as a VaultError: what is not one already is a bug in this program, or trouble of the machine. */
export function asVaultError(error: unknown): VaultError {
  if (error instanceof VaultError) return error;
  const message = error instanceof Error ? error.message : String(error);
  // Of what waited for input or a lock: an exchange tells by itself what it leaves.
  if (error instanceof Interruption)
    return new VaultError("interrupted", message, {
      next: [{ argv: ["vault", "status", "--pending"] }],
      cause: error,
    });
  const { code = "" } = (error ?? {}) as NodeJS.ErrnoException;
  const trouble = Object.hasOwn(machineTrouble, code) ? machineTrouble[code] : undefined;
  if (trouble !== undefined)
    return new VaultError("state", `${trouble.cause} (${message})`, {
      hint: trouble.hint,
      retry: "after-status",
      cause: error,
    });
  return new VaultError("internal", `unexpected failure: ${message}`, {
    hint: "this is a bug; run it again with --debug and report what it prints",
    cause: error,
  });
}
