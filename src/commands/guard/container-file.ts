import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { resolve } from "node:path";
import type { Basics } from "../../parts/settings.ts";
import type { Host } from "../../host.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import { VaultError } from "../../errors.ts";
import { closed } from "../../exchange/breaker.ts";
import type { GivenCredentials } from "../../exchange/recovery/document.ts";
import {
  documentWith,
  labelOf,
  parseCredentials,
  vaultOf,
} from "../../exchange/recovery/document.ts";
import { noAttempts, resetAttempts } from "../../exchange/lockout.ts";
import type { Attempts, CounterReset } from "../../exchange/records.ts";
import type { CredentialsOut } from "../../handover/credentials-out.ts";
import { ReplacedFile, withCredentialsFile } from "../../handover/credentials-out.ts";
import { learnAll } from "../../input/read-start.ts";
import { describeBreaker, describeCounters } from "../status/vault-status.ts";

interface Request {
  vault: string;
  /** As the command line has it. */
  named: string;
  /** Absent to show the counters alone. */
  to: CounterReset | undefined;
}

/** Shows or resets the counters in the file of a container. Needs no state and no service. */
export async function guardFile(
  { io, settings }: Basics,
  { vault, named, to }: Request,
): Promise<void> {
  const path = pathOf(io.host, named);
  const { attempts, label } = await withCredentialsFile(
    { io, settings },
    { flag: "--credentials", path, reads: to === undefined },
    async (out) => {
      const given = parseCredentials(out.content ?? "", `--credentials: ${path}`);
      learnAll(io.redactor.add, given);
      const uuid = vaultOf(given) ?? vault;
      if (uuid.toLowerCase() !== vault.toLowerCase()) {
        throw invalid(
          "--credentials",
          `${path} holds credentials of vault ${uuid}; it was not changed`,
          { uuid: vault },
        );
      }
      const before = given.attempts ?? noAttempts;
      const attempts = to === undefined ? before : resetAttempts(before, to);
      if (to !== undefined) await write(io.narrator, out, { uuid, given, before, attempts });
      return { attempts, label: labelOf(given) };
    },
  );
  const { policy, baseUrl } = settings;
  const vaults = [describeCounters({ uuid: vault, label, ...attempts }, policy, [])];
  const { breaker } = attempts;
  const service = baseUrl === undefined ? "the service" : settings.serviceName();
  const breakers =
    breaker === undefined
      ? []
      : [
          describeBreaker(
            { ...closed, ...breaker, lostAt: Date.parse(breaker.lostAt), service },
            io.host.now(),
          ),
        ];
  await io.output.print(
    { vaults, breakers },
    async (view) => await (await import("../status/view.ts")).guardList({ vaults, breakers }, view),
  );
}

const invalid = (flag: string, why: string, facts: { hint?: string; uuid?: string }): VaultError =>
  new VaultError("invalid-input", `${flag}: ${why}`, facts);

/** The file, which is named as by --credentials (@FILE) or as by --credentials-out (FILE). */
function pathOf(host: Host, named: string): string {
  const path = named.startsWith("@") ? named.slice(1) : named;
  const hint = "vault guard UUID --reset --unanswered --credentials FILE";
  if (/^(?:-$|env:|\s*[[{"])/.test(path)) {
    throw invalid(
      "--credentials",
      "must name the file, whose counters are changed, and no other source",
      { hint },
    );
  }
  if (!existsSync(resolve(host.cwd, path)))
    throw invalid("--credentials", `there is no file ${path}; nothing was changed`, { hint });
  return path;
}

/** Writes the counters durably. Where nothing changes, warns and writes nothing. */
async function write(
  narrator: Narrator,
  out: CredentialsOut,
  {
    uuid,
    given,
    before,
    attempts,
  }: { uuid: string; given: GivenCredentials; before: Attempts; attempts: Attempts },
): Promise<void> {
  if (isDeepStrictEqual(before, attempts)) {
    const why = given.attempts === undefined ? "holds no counters" : "holds these counters already";
    narrator.warn(`${out.path} ${why}; it was not changed`);
    return;
  }
  const kind = given.type === "recovery" ? given.document.kind : given.kind;
  if (kind === undefined) {
    throw invalid(
      "--credentials",
      `${out.path} holds bare credentials, which have no counters; it was not changed`,
      { uuid },
    );
  }
  try {
    await out.write(documentWith(given, { uuid, label: labelOf(given), kind }, attempts));
  } catch (error) {
    const { message } = error as Error;
    if (error instanceof ReplacedFile)
      throw new VaultError("busy", message, { uuid, hint: "run it again", cause: error });
    throw new VaultError(
      "state",
      `${out.path} could not be written (${message}); it was not changed`,
      {
        uuid,
        hint: "free some space there or make it writable, then run it again",
        cause: error,
      },
    );
  }
}
