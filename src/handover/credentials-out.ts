import { readFileSync, realpathSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Basics } from "../parts/basics.ts";
import { VaultError, type ErrorFacts } from "../errors.ts";
import { command } from "../way.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { parseCredentials, type GivenCredentials } from "../exchange/credentials.ts";
import { HandoverFailure, pairsOf } from "../exchange/recovery.ts";
import { fingerprint } from "../protocol/fingerprint.ts";
import { obstacleAt, removeLeftovers, replaceFile } from "../files/durable-file.ts";
import type { RecoveryFile } from "../documents/exchange.ts";
import { meant } from "../settings/given.ts";
import { checkWritable } from "./pass-on.ts";

const refusal = (what: string, hint: string, facts: ErrorFacts = {}): VaultError =>
  new VaultError("invalid-input", `--credentials-out: ${what}; nothing was sent`, {
    ...facts,
    hint,
  });
const elsewhere = "name another file, or move this one away";

/** The file of --credentials-out. One run at a time has it, and replaces only what it found there or has written itself. */
export class CredentialsOut {
  /** As the command line has it. */
  readonly #path: string;
  readonly #file: string;
  /** What this run found, or has written last; null if nothing was. */
  #content: string | null;

  /** @throws `invalid-input` for a file that cannot be read */
  constructor(path: string, file: string) {
    this.#path = path;
    this.#file = file;
    try {
      this.#content = contentOf(file);
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      throw refusal(`${path} cannot be read (${code}); it is not replaced`, elsewhere);
    }
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
    const [path, content] = [this.#path, this.#content ?? ""];
    if (content.trim() === "" || given?.exact === content) return;
    const { uuid } = session;
    const held = parse(path, content);
    // Also if the state knows them, imported here by mistake: their true place is the file of their vault.
    if (held.uuid !== undefined && held.uuid.toLowerCase() !== uuid.toLowerCase())
      throw refusal(
        `${path} holds credentials of vault ${held.uuid}`,
        "name another file; this may be their only copy",
        { uuid },
      );
    const stored = (await session.read())?.generations ?? [];
    const known = new Set(stored.map((generation) => generation.fingerprint));
    for (const pair of pairsOf(given)) known.add(fingerprint(uuid, pair));
    for (const pair of pairsOf(held)) {
      if (known.has(fingerprint(uuid, pair)) || (await session.isSuperseded(pair))) continue;
      throw refusal(
        `${path} holds credentials that this state does not know; it may be their only copy`,
        "name another file, or continue from this one",
        {
          uuid,
          next: [command`vault get ${uuid} --credentials @${path} --credentials-out ${path}`],
        },
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
    throw new HandoverFailure("credentials-out", `--credentials-out: ${this.#path} ${why}`);
  }
}

function parse(path: string, content: string): GivenCredentials {
  try {
    return parseCredentials(meant(content, path), path);
  } catch (cause) {
    throw refusal(`${(cause as Error).message}; it is not replaced`, elsewhere, { cause });
  }
}

/**
 * Does the work with the file of --credentials-out: locked, so that another run on the same file begins with what this
 * one leaves. A --dry-run writes nothing, and locks nothing.
 *
 * @throws `invalid-input` for a file that cannot be written, `busy`, `interrupted`, `state`, and what the work throws
 */
export async function withCredentialsOut<T>(
  { io, settings }: Basics,
  path: string,
  isDryRun: boolean,
  work: (out: CredentialsOut) => Promise<T>,
): Promise<T> {
  checkWritable({ io, settings }, "--credentials-out", path);
  const whole = io.host.resolve(path);
  // A file has one lock, whatever path leads to it.
  const file = join(realpathSync(dirname(whole)), basename(whole));
  const begin = async (): Promise<T> => await work(new CredentialsOut(path, file));
  if (isDryRun) return await begin();
  const lock = join(dirname(file), `.${basename(file)}.vault-lock`);
  const why = obstacleAt(lock);
  if (why !== null) throw refusal(`${lock}, its lock, is ${why}`, "move it away");
  const told = `another run is using ${path} (--credentials-out); nothing was sent`;
  const { withLockFile } = await import("../files/lock-file.ts");
  return await withLockFile(lock, told, io.host, io.waiting, async () => {
    removeLeftovers(file);
    return await begin();
  });
}

function contentOf(file: string): string | null {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}
