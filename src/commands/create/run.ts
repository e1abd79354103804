import type { Deps } from "../../deps.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { CreateOutcome, CreateRequest } from "../../exchange/create.ts";
import { createVault, findIt } from "../../exchange/create.ts";
import { credentialsJson } from "../../exchange/recovery.ts";
import { createIds } from "../../exchange/ulid.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { isCreditCard, isOnline, kindList } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { instant } from "../../protocol/fields.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { RawInput } from "../../cli/act.ts";
import { askSettings } from "../exchange/ask.ts";
import { completeContents, readContents } from "../exchange/card-options.ts";
import type { CreateOptions } from "./options.ts";
import { checkCreateOptions, parseCreate, readHashedPin, readMetadata } from "./options.ts";
import type { CredentialsOut } from "../exchange/credentials-out.ts";
import { withCredentialsOut } from "../exchange/credentials-out.ts";
import { checkField, serialise, serialiseDone, writeDone } from "../../cli/document.ts";
import { singleContext } from "../exchange/single-context.ts";

/** Creates a vault. Exit 0 means: its credentials are in the state (and in --credentials-out). */
export async function runCreate(deps: Deps, input: RawInput): Promise<number> {
  const options = parseCreate(input);
  checkField(deps.output.field, ["vault", "kind", "created"]);
  const metadata = readMetadata(options.metadata);
  return await withCredentialsOut(deps, options, async (out) => {
    out?.checkEmpty();
    const kind = await chooseKind(deps, options);
    checkCreateOptions(options, kind, deps.host.now());
    await askSettings(deps);
    const vault = await readVault(deps, options, kind);
    const device = isOnline(kind) ? await neededDevice(deps) : undefined;
    await deps.service();
    await tellOfLeft(deps);
    const outcome = await create(deps, options, { kind, vault, device, metadata, label: options.label });
    return await hand(deps, options, kind, outcome, out);
  });
}

async function chooseKind(deps: Deps, options: CreateOptions): Promise<Kind> {
  if (options.kind !== undefined) return options.kind;
  if (deps.mayAsk) return await (await import("../exchange/ask.ts")).askKind(deps, "get");
  throw new VaultError("usage", "--kind is missing: nothing was sent", { hint: `--kind ${kindList}` });
}

async function readVault(deps: Deps, options: CreateOptions, kind: Kind): Promise<CreateRequest["vault"]> {
  const given = await readContents(deps, options);
  const hashedPin = await readHashedPin(deps, options.hashedPin);
  if (deps.mayAsk) {
    const { askCard, askContent } = await import("../exchange/ask-card.ts");
    if (isCreditCard(kind)) given.card = await askCard(deps, given.card);
    else given.content ??= await askContent(deps);
  }
  const { maxUsage, expiryDate } = options;
  return {
    ...completeContents(kind, given),
    ...(hashedPin === undefined ? {} : { hashedPin }),
    ...(maxUsage === undefined ? {} : { maxUsage }),
    // In a form that cannot be read as the local time of the service.
    ...(expiryDate === undefined ? {} : { expiryDate: new Date(instant(expiryDate) ?? 0).toISOString() }),
  };
}

async function neededDevice(deps: Deps): Promise<Device> {
  const device = await deps.device();
  if (device !== undefined) return device;
  throw new VaultError("usage", "an online vault is created with a device, which every later read must match: nothing was sent", {
    hint: "give it by --device @FILE, VAULTSVC_DEVICE or the config key device",
  });
}

/** Whoever creates holds the creation's id like a vault, so that no key changes meanwhile, and others see that it is under way. */
async function create(
  deps: Deps,
  options: CreateOptions,
  request: Omit<CreateRequest, "creation"> & { kind: Kind },
): Promise<CreateOutcome> {
  const store = await deps.store();
  const service = deps.serviceName();
  const id = createIds(deps.host).next();
  const creation = { id, service, kind: request.kind, externalRef: options.externalRef ?? `vault-${id}` };
  const held = await store.lock(service, id, { deadline: deps.deadline, signal: deps.host.interrupted });
  try {
    const { redactor } = deps;
    const context = {
      ...(await singleContext(deps)),
      store,
      redact: (text: string) => redactor.redact(text),
      learnSecret: (secret: string) => redactor.add(secret),
    };
    return await createVault(context, { ...request, creation });
  } finally {
    await held.release();
  }
}

/** Of creations whose process died: once, because there is nothing that this program could do about them. */
async function tellOfLeft(deps: Deps): Promise<void> {
  const store = await deps.store();
  for (const left of await store.leftCreations(deps.serviceName())) {
    try {
      const held = await store.lock(left.service, left.id, { deadline: 0, signal: deps.host.interrupted });
      deps.narrator.warn(`a create of ${left.startedAt} was cut off: a vault may exist whose credentials nobody has; ${findIt(left)}`);
      await store.toldOf(left);
      await held.release();
    } catch (error) {
      // Still under way, in another process.
      if (asVaultError(error).code !== "busy") throw error;
    }
  }
}

/** Hands the outcome over, and never lets go of credentials that are nowhere else. */
async function hand(
  deps: Deps,
  options: CreateOptions,
  kind: Kind,
  outcome: CreateOutcome,
  out: CredentialsOut | undefined,
): Promise<number> {
  if (outcome.type === "unreadable") {
    // If it holds credentials after all, this is the only copy.
    await deps.host.stdout.write(`${jsonText({ answer: outcome.answer.body })}\n`);
    throw outcome.error;
  }
  const { success, credentials } = outcome;
  const vault = { ...success.vault, uuid: success.uuid };
  const saved = await save(out, credentialsJson({ uuid: success.uuid, kind, credentials }));
  if (outcome.type === "unstored") {
    if (saved !== true) await deps.host.stdout.write(`${jsonText({ vault: { ...vault, credentials }, kind })}\n`);
    const where = saved === true ? `are in ${options.credentialsOut}` : "were printed, and are nowhere else";
    throw new VaultError(
      "state",
      `vault ${success.uuid} was created, and its credentials could not be stored: they ${where}: ${outcome.error.message}`,
      {
        vault: success.uuid,
        retry: "never",
        hint: `keep them, and once the state can be written: vault import ${success.uuid} --kind ${kind} --credentials @FILE`,
      },
    );
  }
  const { generation, fingerprint } = outcome;
  const document = { vault, kind, created: { generation, fingerprint, label: options.label ?? null } };
  const text = deps.output.field === undefined ? serialise(document, deps.output, deps.host.stdout.isTTY) : serialiseDone(document, deps);
  await writeDone(
    deps,
    text ?? (await table(deps, kind, outcome, options)),
    `vault ${success.uuid} is created, and its credentials are stored`,
    {
      vault: success.uuid,
      hint: `do not create it again: vault status ${success.uuid} shows it`,
    },
  );
  deps.narrator.close(`The credentials are stored as generation ${generation}: vault get ${success.uuid} reads it.`);
  if (saved !== false) return 0;
  throw new VaultError(
    "state",
    `vault ${success.uuid} was created and its credentials are stored, but --credentials-out could not be written`,
    {
      vault: success.uuid,
      retry: "never",
      hint: `vault export ${success.uuid} > FILE`,
    },
  );
}

/** Whether it was written; undefined where it was not asked for. */
async function save(out: CredentialsOut | undefined, document: unknown): Promise<boolean | undefined> {
  return await out?.write(document).then(
    () => true,
    () => false,
  );
}

async function table(deps: Deps, kind: Kind, outcome: CreateOutcome & { type: "created" }, options: CreateOptions): Promise<string> {
  const { createdTable } = await import("../info/view.ts");
  const view = { facts: deps.host.stdout, now: deps.host.now(), reveal: deps.output.reveal };
  return await createdTable({ kind, label: options.label ?? null, ...outcome }, view);
}
