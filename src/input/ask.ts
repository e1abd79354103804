import type { Basics, Io } from "../parts/basics.ts";
import type { Local } from "../parts/state.ts";
import { isStdin, readValue } from "../settings/given.ts";
import { VaultError } from "../errors.ts";
import type { Start } from "../exchange/start/start.ts";
import type { VaultRecord } from "../exchange/records.ts";
import type { GivenCredentials } from "../exchange/credentials.ts";
import { findEndpoint, isOnline, kinds, type Kind, type Operation } from "../protocol/endpoints.ts";
import { base64, parseDevice, uuid as identifier, type Device } from "../protocol/fields.ts";
import { brokenRule } from "../protocol/validate.ts";
import { confirmOrFail, ruleFrom, type Prompts, type Rule } from "../cli/prompts.ts";
import { vaultNamed } from "../cli/vault-name.ts";
import { readCredentials } from "./read-start.ts";
import { command, noted } from "../way.ts";

/**
 * Questions for what the command line lacks. If nobody can be asked, a later usage error says how to supply it. All throw
 * `interrupted` on Ctrl-C; nothing has been written or sent by then.
 */

/**
 * The UUID of the given vault; or one chosen from those known here that fit `which`; or one whose UUID is typed, if the command takes one that
 * is not known. With only Enter none is chosen of which that could use up a read.
 */
export async function askVault(
  { io, settings, state }: Local,
  given: string | undefined,
  called: string,
  which: (record: VaultRecord) => boolean = () => true,
): Promise<string> {
  if (given !== undefined) return await vaultNamed({ io, state }, given);
  const isImport = called === "import";
  if (!io.ask.isPossible) {
    const orAll = ["ack", "export", "get"].includes(called) ? ", or --all" : "";
    const what = isImport ? "(its UUID), or --file" : `(its UUID or label)${orAll}`;
    const help = command`vault ${called.split(" ").slice(0, 1)} --help`;
    throw new VaultError("usage", `a vault is missing ${what}`, {
      next: isImport ? [help] : [noted(command`vault status`, "lists the vaults"), help],
    });
  }
  const here = settings.baseUrl === undefined ? undefined : settings.serviceName();
  const isLocal = ["export", "forget", "guard --reset"].includes(called);
  const known = (await (await state.store()).list()).filter(
    (record) =>
      (isImport || record.generations.length > 0) &&
      (here ?? record.service) === record.service &&
      which(record),
  );
  const widest = Math.max(0, ...known.map(({ label }) => label?.length ?? 0));
  const choice = ({ uuid, label }: VaultRecord) => ({
    value: uuid,
    name: widest === 0 ? uuid : `${(label ?? "").padEnd(widest)}  ${uuid}`,
  });
  const choices = known.toSorted((a, b) => Number(a.limited) - Number(b.limited)).map(choice);
  // Most imports are of a vault that is new here.
  const before = isImport ? 0 : known.filter(({ limited }) => !limited).length;
  if (!isLocal) choices.splice(before, 0, { value: "", name: "another vault, by its UUID" });
  if (choices.length === 0)
    throw new VaultError("no-credentials", "no vaults yet", { next: [command`vault import`] });
  const chosen = known.length === 0 ? "" : await io.ask.choose("Which vault?", choices);
  return chosen === "" ? await io.ask.text({ message: "Vault UUID", rule: brokenUuid }) : chosen;
}

/** Asks for the kind of an unknown vault, among those that support the operation. */
export async function askKind(ask: Prompts, operation: Operation): Promise<Kind> {
  const able = kinds.filter((kind) => findEndpoint(kind, operation, "start") !== undefined);
  return await ask.choose(
    "What kind of vault is it?",
    able.map((kind) => ({ value: kind, name: kind })),
  );
}

/** Asks for the kind, credentials and device that the first start of a vault needs. */
export async function askForStart(
  io: Io,
  record: VaultRecord | null,
  start: Start,
): Promise<Start> {
  if (!io.ask.isPossible || start.given?.type === "recovery") return start;
  const isNew = record === null && start.given === undefined;
  if (isNew) io.narrator.note(`No credentials of vault ${start.uuid} are known here.`);
  const kind = start.kind ?? record?.kind ?? (await askKind(io.ask, start.operation));
  const asked = isNew ? { ...start, ...(await askCredentials(io, kind, start.hashedPin)) } : start;
  if (asked.given?.type === "recovery") return asked;
  const deviceKnown =
    asked.device !== undefined || record?.generations.some((g) => g.device !== null) === true;
  const device = isOnline(kind) && !deviceKnown ? await askDevice(io) : asked.device;
  return { ...asked, kind, device };
}

/** Credentials as --credentials takes them, and the hashedPin of an online vault. */
export async function askCredentials(
  io: Io,
  kind: Kind,
  hashedPin?: string,
): Promise<{ given: GivenCredentials; hashedPin?: string | undefined }> {
  const parsed = async (answer: string): Promise<GivenCredentials> => {
    const text = await contentOf(io, answer.trim(), "Credentials");
    return await readCredentials(io.redactor, text, "Credentials");
  };
  const message = "Credentials (JSON on one line, or @FILE)";
  const given = await parsed(await io.ask.secret({ message, rule: ruleFrom(parsed) }));
  if (given.type === "recovery") return { given };
  const pin = hashedPin ?? given.credentials.hashedPin;
  if (!isOnline(kind) || pin !== undefined) return { given, hashedPin: pin };
  const rule: Rule = (answer) => (answer === "" ? null : brokenRule(base64, answer));
  const typed = await io.ask.secret({ message: "Hashed PIN (empty if none)", rule });
  if (typed === "") return { given };
  io.redactor.add(typed);
  return { given, hashedPin: typed };
}

async function askDevice(io: Io) {
  const parsed = async (answer: string): Promise<Device> =>
    parseDevice(await contentOf(io, answer, "device"), "device");
  const message = "Device for this online vault (@FILE or JSON)";
  return await parsed(await io.ask.text({ message, rule: ruleFrom(parsed) }));
}

/** What a person typed, or has in the file whose name it is. */
const contentOf = async (io: Io, answer: string, what: string): Promise<string> =>
  answer.startsWith("@") && !isStdin(answer) ? await readValue(answer, what, io.sources) : answer;

export const brokenUuid = (answer: string): string | null => brokenRule(identifier, answer);

/**
 * Asks before new contents are sent. With a live profile, --yes is needed if nobody can be asked.
 * @throws `usage`, `canceled`, `interrupted`
 */
export async function confirmUpdate(
  { io: { ask }, settings }: Basics,
  what: string,
): Promise<void> {
  const { live, profileInUse, baseUrl = "no base URL" } = settings;
  const mark = live ? `Production profile ${profileInUse.name} (${baseUrl}): ` : "";
  if (ask.isPossible || live) await confirmOrFail(ask, false, `${mark}Send ${what}?`);
}
