import { readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Io } from "../parts/io.ts";
import type { Basics } from "../parts/settings.ts";
import type { ErrorFacts } from "../errors.ts";
import { VaultError } from "../errors.ts";
import { command } from "../way.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { HandoverFailure } from "../exchange/delivery.ts";
import type { GivenCredentials } from "../exchange/recovery.ts";
import { pairsOf, parseCredentials } from "../exchange/recovery.ts";
import { obstacleAt, removeLeftovers, replaceFile } from "../files/durable-file.ts";
import type { RecoveryFile } from "../documents/exchange.ts";
import { meant } from "../settings/given.ts";
import { checkWritable } from "./out-file.ts";

const refusal = (what: string, hint: string, facts: ErrorFacts = {}): VaultError =>
  new VaultError("invalid-input", `--credentials-out: ${what}; nothing was sent`, {
    ...facts,
    hint,
  });

/** The file of --credentials-out. One run at a time has it, and replaces only what it found there or has written itself. */
export class CredentialsOut {
  /** As the command line has it. */
  readonly path: string;
  readonly #file: string;
  /** What this run found, or has written last; null if nothing was. */
  #content: string | null;

  constructor(path: string, file: string, content: string | null) {
    this.path = path;
    this.#file = file;
    this.#content = content;
  }

  /**
   * Whether the content may be replaced: it is empty, or what --credentials read, or the state has its credentials.
   * @throws `invalid-input` for another vault's credentials, for what is neither credentials nor empty, and if replacing the file could
   * lose the vault
   */
  async check(
    { session }: Pick<ExchangeContext, "session">,
    given: GivenCredentials | undefined,
  ): Promise<void> {
    if (this.#isEmpty() || given?.exact === this.#content) return;
    const { uuid } = session;
    const held = this.#parse(this.#content ?? "");
    if (held.uuid !== undefined && held.uuid.toLowerCase() !== uuid.toLowerCase())
      throw refusal(
        `${this.path} holds credentials of vault ${held.uuid}`,
        "name another file; this may be their only copy",
        { uuid },
      );
    const known = pairsOf(given);
    for (const { generation } of (await session.read())?.generations ?? [])
      known.push(await session.credentials(generation));
    for (const { encryptedData, payload } of pairsOf(held)) {
      const isKnown = known.some(
        (one) => one.encryptedData === encryptedData && one.payload === payload,
      );
      if (isKnown || (await session.isSuperseded({ encryptedData, payload }))) continue;
      const again = command`vault get ${uuid} --credentials @${this.path} --credentials-out ${this.path}`;
      throw refusal(
        `${this.path} holds credentials that this state does not know; it may be their only copy`,
        "name another file, or continue from this one",
        { uuid, next: [again] },
      );
    }
  }

  /**
   * Replaces the file, durably.
   * @throws HandoverFailure if it cannot be written, or somebody else has replaced it: then it holds what this run does not know
   */
  write(document: RecoveryFile): void {
    const text = `${JSON.stringify(document)}\n`;
    let why = "was replaced by another run or program since this one began; it was not changed";
    try {
      if (contentOf(this.#file) === this.#content) {
        if (text !== this.#content) replaceFile(this.#file, text);
        this.#content = text;
        return;
      }
    } catch (error) {
      why = `could not be written, and holds what it did before: ${(error as Error).message}`;
    }
    throw new HandoverFailure("credentials-out", `--credentials-out: ${this.path} ${why}`);
  }

  #isEmpty(): boolean {
    return this.#content === null || this.#content.trim() === "";
  }

  #parse(content: string): GivenCredentials {
    try {
      const where = `--credentials-out: ${this.path}`;
      return parseCredentials(meant(content, where), where);
    } catch (cause) {
      const { message } = cause as Error;
      throw new VaultError(
        "invalid-input",
        `${message}; it is not replaced, and nothing was sent`,
        { hint: "name another file, or move this one away", cause },
      );
    }
  }
}

/**
 * Does the work with the file of --credentials-out, if there is one: locked, so that another run on the same file begins
 * with what this one leaves. A --dry-run writes nothing, and locks nothing.
 *
 * @throws `invalid-input` for a file that cannot be written, `busy`, `interrupted`, and what the work throws.
 */
export async function withCredentialsOut<T>(
  { io, settings }: Basics,
  {
    credentialsOut: path,
    dryRun,
  }: { credentialsOut?: string | undefined; dryRun?: boolean | undefined },
  work: (out: CredentialsOut | undefined) => Promise<T>,
): Promise<T> {
  if (path === undefined) return await work(undefined);
  checkWritable({ io, settings }, "--credentials-out", path);
  const whole = io.host.resolve(path);
  // A file has one lock, whatever path leads to it.
  const file = join(realpathSync(dirname(whole)), basename(whole));
  const begin = async (): Promise<T> =>
    await work(new CredentialsOut(path, file, readContent(path, file)));
  if (dryRun === true) return await begin();
  return await locked(io, path, file, async () => {
    removeLeftovers(file);
    return await begin();
  });
}

async function locked<T>(io: Io, path: string, file: string, work: () => Promise<T>): Promise<T> {
  const lock = join(dirname(file), `.${basename(file)}.vault-lock`);
  const hint = `check ${lock}: it is empty, and may be removed while no run is using it`;
  const why = obstacleAt(lock);
  if (why !== null) throw refusal(`${lock}, its lock, is ${why}`, hint);
  let isHeld = false;
  const { withLockFile } = await import("../files/lock-file.ts");
  return await withLockFile(lock, path, io.host, io.waiting, async () => {
    isHeld = true;
    return await work();
  }).catch((cause: unknown) => {
    if (isHeld) throw cause;
    const another = `another run ${io.host.interrupted.aborted ? "that is " : "is "}using ${path}`;
    if (io.host.interrupted.aborted)
      throw new VaultError(
        "interrupted",
        `interrupted while waiting for ${another}; nothing was sent`,
        { retry: "safe" },
      );
    if (cause instanceof VaultError && cause.code === "busy")
      throw new VaultError("busy", `${another} (--credentials-out); nothing was sent`, {
        hint: "run it again when it has finished, or wait longer with --max-wait",
      });
    throw refusal(`${path} cannot be locked (${(cause as Error).message})`, hint, { cause });
  });
}

function readContent(path: string, file: string): string | null {
  try {
    return contentOf(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw refusal(
      `${path} cannot be read (${code}); it is not replaced`,
      "name another file, or move this one away",
    );
  }
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
