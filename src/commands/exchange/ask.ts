import { parseDevice } from "../../settings/device.ts";
import { readValue } from "../../secrets/secret-value.ts";
import { serviceName } from "../../settings/settings.ts";
import type { Deps } from "../../deps.ts";
import { VaultError } from "../../errors.ts";
import type { PairChoice } from "../../exchange/choose-pair.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { parseCredentials } from "../../exchange/recovery.ts";
import type { Kind, Operation } from "../../protocol/endpoints.ts";
import { findEndpoint, isOnline, kinds } from "../../protocol/endpoints.ts";
import { base64, uuid as identifier } from "../../protocol/fields.ts";
import { validate } from "../../protocol/validate.ts";
import type { Rule } from "../../terminal/prompts.ts";
import type { GivenPair } from "./options.ts";
import { learn, readCredentials } from "./options.ts";

/**
 * What a person is asked for where the command line lacks it. Nothing is asked where nobody can be: then it is the
 * usage error that says how to give it. All raise `interrupted` on Ctrl-C; nothing has been written or sent by then.
 */

/** The base URL, which names the service of a vault; the answer holds for this command. */
export async function askBaseUrl(deps: Deps): Promise<void> {
  const { settings, host } = deps;
  if (settings.baseUrl !== undefined || !deps.mayAsk) return;
  const { askText } = await import("../../terminal/prompts.ts");
  settings.baseUrl = await askText(host, {
    message: "Base URL of the service",
    rule: broken((baseUrl) => serviceName({ ...settings, baseUrl })),
  });
  deps.narrator.close("vault init keeps settings in a profile.");
}

/** All without which the service cannot be called. */
export async function askSettings(deps: Deps): Promise<void> {
  await askBaseUrl(deps);
  const { settings, host } = deps;
  if ((settings.appUuid !== undefined && settings.apiKeySpec !== undefined) || !deps.mayAsk) return;
  const { askSecret, askText } = await import("../../terminal/prompts.ts");
  settings.appUuid ??= await askText(host, { message: "Uuid of the application", rule: isUuid });
  if (settings.apiKeySpec === undefined) {
    const text = await askSecret(host, { message: "Key of the application", rule: isUuid });
    settings.apiKeySpec = { text, source: "--api-key", fromFlag: false };
  }
}

/** A vault: the given one, or one of those that are known here (`which` of them), or one whose uuid is typed. */
export async function askVault(
  deps: Deps,
  given: string | undefined,
  command: string,
  which: (record: VaultRecord) => boolean = () => true,
): Promise<string> {
  if (given !== undefined) return given;
  if (!deps.mayAsk) {
    throw new VaultError("usage", "a vault's uuid is missing", {
      hint: `vault ${command} <uuid>, as vault status lists them; vault ${command.split(" ")[0]} --help shows what it takes`,
    });
  }
  const { askText, choose } = await import("../../terminal/prompts.ts");
  const here = deps.settings.baseUrl === undefined ? undefined : deps.serviceName();
  const known = (await (await deps.store()).list()).filter(
    (record) => record.generations.length > 0 && (here ?? record.service) === record.service && which(record),
  );
  const choices = known.map(({ uuid, label, kind }) => ({ value: uuid, name: `${uuid}  ${label ?? ""}`.trimEnd(), description: kind }));
  const another = { value: "", name: "another one, by its uuid", description: "a vault that is not known here yet" };
  const chosen = known.length === 0 ? "" : await choose(deps.host, "Which vault?", [...choices, another]);
  return chosen === "" ? await askText(deps.host, { message: "Uuid of the vault", rule: isUuid }) : chosen;
}

/** The kind of a vault that is not known yet; only those that the operation exists for. */
export async function askKind(deps: Deps, operation: Operation): Promise<Kind> {
  const { choose } = await import("../../terminal/prompts.ts");
  const able = kinds.filter((kind) => findEndpoint(kind, operation, "start") !== undefined);
  return await choose(
    deps.host,
    "What kind of vault is it?",
    able.map((kind) => ({ value: kind, name: kind })),
  );
}

/** Kind, pair and device, as far as the first start of a vault here needs them. */
export async function askForStart(deps: Deps, record: VaultRecord | null, operation: Operation, given: GivenPair): Promise<GivenPair> {
  if (!deps.mayAsk || given.document?.type === "recovery") return given;
  const known = record !== null && record.generations.length > 0;
  const kind = given.choice.kind ?? (known ? record.kind : await askKind(deps, operation));
  const pair = known || given.choice.given !== undefined ? given : await askPair(deps, given.choice, kind);
  if (pair.document?.type === "recovery") return pair;
  const choice: PairChoice = { ...pair.choice, kind };
  const deviceKnown = choice.device !== undefined || record?.generations.some((g) => g.device !== null) === true;
  return { ...pair, choice: isOnline(kind) && !deviceKnown ? { ...choice, device: await askDevice(deps) } : choice };
}

/** A pair, or a recovery document. */
export async function askPair(deps: Deps, choice: PairChoice, kind: Kind): Promise<GivenPair> {
  const { askSecret } = await import("../../terminal/prompts.ts");
  const message = "Credentials (the pair as JSON in one line, @FILE, or encryptedData alone)";
  const first = (await askSecret(deps.host, { message, rule: isPair })).trim();
  if (!/^[@{]/.test(first)) {
    const payload = (await askSecret(deps.host, { message: "Credentials, their other part (payload)", rule: isThere })).trim();
    const credentials = await withPin(deps, { encryptedData: first, payload }, choice, kind);
    return { choice: { ...choice, given: credentials }, document: { type: "pair", credentials } };
  }
  const text = first.startsWith("{") ? first : await readValue(first, "Credentials", deps.sources);
  const read = readCredentials(deps, text, "Credentials");
  if (read.type === "recovery") return { choice, document: read };
  return { choice: { ...choice, given: await withPin(deps, read.credentials, choice, kind) }, document: read };
}

async function withPin(deps: Deps, pair: NonNullable<PairChoice["given"]>, choice: PairChoice, kind: Kind) {
  let hashedPin = choice.hashedPin ?? pair.hashedPin;
  if (isOnline(kind) && hashedPin === undefined) {
    const { askSecret } = await import("../../terminal/prompts.ts");
    const rule: Rule = (answer) => (answer === "" ? null : ruleOf(base64)(answer));
    hashedPin = (await askSecret(deps.host, { message: "hashedPin (empty if it has none)", rule })) || undefined;
  }
  const given = hashedPin === undefined ? pair : { ...pair, hashedPin };
  learn(deps, given);
  return given;
}

async function askDevice(deps: Deps) {
  const { askText } = await import("../../terminal/prompts.ts");
  const text = await askText(deps.host, {
    message: "Device of this online vault (@FILE, or JSON)",
    rule: (answer) => (answer.startsWith("@") ? null : broken((json) => parseDevice(json, "device"))(answer)),
  });
  return parseDevice(await readValue(text, "device", deps.sources), "device");
}

/** The rule of a field of the interface. */
const ruleOf =
  (field: Parameters<typeof validate>[0]): Rule =>
  (answer) => {
    const checked = validate(field, answer);
    return checked.ok ? null : (checked.violations[0]?.rule ?? "does not fit");
  };

export const isUuid = ruleOf(identifier);
const isThere: Rule = (answer) => (answer.trim() === "" ? "must not be empty" : null);

/** What a check that raises says of an answer. */
export const broken =
  (check: (answer: string) => unknown): Rule =>
  (answer) => {
    try {
      check(answer);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };

/** A file is read once the answer is taken. */
const isPair: Rule = (answer) =>
  answer.trim().startsWith("{") ? broken((json) => parseCredentials(json, "the pair"))(answer) : isThere(answer);
