import type { Actor } from "./actor.ts";
import { defined } from "./defined.ts";
import type { ExchangeState, Settled } from "./exchange/states.ts";
import type { Way } from "./way.ts";

/**
 * The closed list of error kinds, with what each one means to a caller: the process exit code and whether the same
 * command may be run again, with the sentence that documents show (vault help documents). Nothing else in the program maps
 * a failure to an exit code or tells errors apart by text.
 */
export type Retry = "safe" | "after-fix" | "after-status" | "never";

export const errorKinds = {
  internal: { exitCode: 1, retry: "never", meaning: "a bug in this program" },
  usage: {
    exitCode: 2,
    retry: "after-fix",
    meaning: "unknown flag, missing argument, missing setting",
  },
  "invalid-input": {
    exitCode: 3,
    retry: "after-fix",
    meaning: "a value breaks the interface's rules (Luhn, lengths, UUID, …): nothing was sent",
  },
  "no-credentials": {
    exitCode: 4,
    retry: "after-fix",
    meaning:
      "no credentials known for this vault at this service, or the ones given were superseded or differ from the stored ones " +
      "(nothing was sent)",
  },
  unauthorized: {
    exitCode: 5,
    retry: "after-fix",
    meaning: "the service refused the application (key, JWT, address)",
  },
  rejected: {
    exitCode: 6,
    retry: "after-fix",
    meaning: "the service refused the vault credentials",
  },
  locked: {
    exitCode: 7,
    retry: "after-fix",
    meaning: "the service says that the vault is locked or gone",
  },
  guard: { exitCode: 8, retry: "after-fix", meaning: "the lockout guard refused to send" },
  "rate-limited": { exitCode: 9, retry: "safe", meaning: "still limited when --max-wait ran out" },
  network: {
    exitCode: 10,
    retry: "safe",
    meaning:
      "no answer in the service's own form (none at all, a gateway's page, a 5xx). Safe to retry if nothing was sent; a start that was sent " +
      "counts: run vault status first",
  },
  pending: {
    exitCode: 11,
    retry: "after-status",
    meaning:
      "the new credentials are stored, but not acknowledged, and the token is still valid; or the contents could not be delivered: " +
      "run vault ack (with --no-ack this is no error: 0)",
  },
  "in-doubt": {
    exitCode: 12,
    retry: "after-status",
    meaning:
      "the acknowledgement got no response and its token expired; the old and the new credentials are kept",
  },
  service: {
    exitCode: 13,
    retry: "after-status",
    meaning:
      "the service responded with an error, or with an unexpected response; also an endpoint that it does not have",
  },
  state: {
    exitCode: 14,
    retry: "after-fix",
    meaning:
      "the state cannot be read or written (corrupt, wrong key, disk full, permission, no database)",
  },
  busy: {
    exitCode: 15,
    retry: "safe",
    meaning: "another process is using this vault and did not finish within --max-wait",
  },
  partial: { exitCode: 16, retry: "after-status", meaning: "of several vaults, some failed" },
  finding: {
    exitCode: 17,
    retry: "safe",
    meaning: "a --fail-on condition was met; sandbox rehearse found a loss",
  },
  interrupted: {
    exitCode: 130,
    retry: "after-status",
    meaning: "stopped by Ctrl-C (by SIGTERM 143, by SIGHUP 129); the message says what is pending",
  },
  canceled: {
    exitCode: 130,
    retry: "safe",
    meaning: "a question was answered with No: nothing was sent or changed",
  },
} as const satisfies Record<string, { exitCode: number; retry: Retry; meaning: string }>;

export type ErrorKind = keyof typeof errorKinds;

/** What the service answered, as far as it may be shown: secrets are replaced before it is printed. */
export interface ServiceDetails {
  httpStatus: number;
  responseStatus?: unknown;
  errorUuid?: string | undefined;
}

/** Attempts counted toward lockout once a command has sent something, and their limits. */
export interface Spent {
  unackedStarts: number;
  failedAttempts: number;
  limits: { unackedStarts: number; failedAttempts: number };
}

/** The exchange that a failed command leaves open. */
export interface ExchangeSummary {
  id: string;
  operation: "get" | "update" | "delete";
  state: ExchangeState;
  externalRef: string;
  startedAt: string;
  tokenExpiry: string | null;
  /** Of the new credentials; null before they are there. */
  generation: number | null;
  /** Who began or adopted it; null where that was not recorded. */
  by: Actor | null;
}

export interface ErrorFacts {
  /** What helps beside a command, one sentence. */
  hint?: string | undefined;
  /** The commands that lead on, best and harmless first. */
  next?: Way[] | undefined;
  /** Overrides the kind's own answer to "may I run it again?". */
  retry?: Retry | undefined;
  /** Overrides the kind's exit code. */
  exitCode?: number | undefined;
  /** The vault that the error is about. Its label is added where errors are shown. */
  uuid?: string | undefined;
  label?: string | null | undefined;
  exchange?: ExchangeSummary | undefined;
  service?: ServiceDetails | undefined;
  spent?: Spent | undefined;
  /** Who is using the vault, or made its last start. */
  by?: Actor | undefined;
  /** Since when `by` has been using it. */
  since?: string | undefined;
  /** What an earlier run had left and this one settled, before it failed: `settled` of the documents. */
  settled?: readonly Settled[] | undefined;
  cause?: unknown;
}

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
  ERR_REPLACED: {
    cause: "the program was replaced or removed while it ran",
    hint: "run it again",
  },
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
