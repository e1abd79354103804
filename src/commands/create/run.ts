import type { Io } from "../../parts/io.ts";
import type { ServicePart } from "../../parts/service.ts";
import type { Local } from "../../parts/state.ts";
import type { Prompts } from "../../cli/prompts.ts";
import type { App } from "../../app.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import type { CreateOutcome, CreateRequest } from "../../exchange/single/create.ts";
import { createVault, findIt } from "../../exchange/single/create.ts";
import { credentialsJson } from "../../exchange/recovery/document.ts";
import { createIds } from "../../exchange/ulid.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { isOnline, kindList } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { instant } from "../../protocol/fields.ts";
import { jsonText } from "../../terminal/redactor.ts";
import { namedFingerprint } from "../../terminal/secrets.ts";
import type { CreateDocument } from "../../documents/exchange.ts";
import type { RecoveryFile } from "../../documents/recovery.ts";
import type { CreateOptions } from "../create.ts";
import { askKind, askSettings } from "../../input/ask.ts";
import { completeContents, readContents } from "../../input/contents.ts";
import { checkCreateOptions, readMetadata } from "./options.ts";
import type { CredentialsOut } from "../../handover/credentials-out.ts";
import { readHashedPin } from "../../input/read-start.ts";
import { withCredentialsOut } from "../../handover/credentials-out.ts";
import { checkLabels } from "../../input/read-start.ts";
import { defined } from "../../defined.ts";
import { command } from "../../way.ts";

/** Creates a vault. Exit 0 means: its credentials are in the state (and in --credentials-out). */
export async function runCreate(app: App, options: CreateOptions): Promise<number> {
  const metadata = readMetadata(options.metadata);
  return await withCredentialsOut(app, options, async (out) => {
    out?.checkEmpty();
    const kind = await chooseKind(app.io.ask, options);
    checkCreateOptions(options, kind, app.io.host.now());
    await askSettings(app);
    const vault = await readVault(app, options, kind);
    const device = isOnline(kind) ? await neededDevice(app.service) : undefined;
    await app.service.client();
    await checkLabels(app.state, [{ label: options.label }]);
    await warnAboutInterrupted(app);
    const outcome = await create(app, options, {
      kind,
      vault,
      device,
      metadata,
      label: options.label,
    });
    return await reportOutcome(app.io, options, kind, outcome, out);
  });
}

async function chooseKind(ask: Prompts, options: CreateOptions): Promise<Kind> {
  if (options.kind !== undefined) return options.kind;
  if (ask.isPossible) return await askKind(ask, "get");
  throw new VaultError("usage", "--kind is missing; nothing was sent", {
    hint: `use --kind ${kindList}`,
  });
}

async function readVault(
  app: App,
  options: CreateOptions,
  kind: Kind,
): Promise<CreateRequest["vault"]> {
  const given = await readContents(app.io, options);
  const hashedPin = await readHashedPin(app.io, options);
  const { maxUsage, expiryDate } = options;
  return {
    ...(await completeContents(app.io, kind, given)),
    ...defined({
      hashedPin,
      maxUsage,
      // In a form that cannot be read as the local time of the service.
      expiryDate:
        expiryDate === undefined ? undefined : new Date(instant(expiryDate) ?? 0).toISOString(),
    }),
  };
}

async function neededDevice(service: ServicePart): Promise<Device> {
  const device = await service.device();
  if (device !== undefined) return device;
  throw new VaultError(
    "usage",
    "an online vault is created with a device, which every later read must match; nothing was sent",
    {
      hint: "set it with --device @FILE, VAULTSVC_DEVICE or the config key device",
    },
  );
}

/** Locks the creation's id like a vault's, so that the encryption key cannot change meanwhile and others see that it is under way. */
async function create(
  app: App,
  options: CreateOptions,
  request: Omit<CreateRequest, "creation"> & { kind: Kind },
): Promise<CreateOutcome> {
  const store = await app.state.store();
  const service = app.settings.serviceName();
  const id = createIds(app.io.host).next();
  const session = await store.lock(service, id, app.io.waiting);
  const creation = {
    id,
    service,
    kind: request.kind,
    externalRef: options.externalRef ?? `vault-${id}`,
  };
  try {
    const { redactor } = app.io;
    const context = {
      ...(await app.service.single()),
      breaker: store.breaker(service),
      store,
      redact: (text: string) => redactor.redact(text),
      learnSecret: (secret: string) => redactor.add(secret),
    };
    return await createVault(context, { ...request, creation });
  } finally {
    await session.release();
  }
}

/** Warns about interrupted creations, once each: the program can do nothing about them. */
async function warnAboutInterrupted({ io, settings, state }: Local): Promise<void> {
  const store = await state.store();
  for (const left of await store.interruptedCreations(settings.serviceName())) {
    try {
      const session = await store.lock(left.service, left.id, {
        deadline: 0,
        signal: io.host.interrupted,
      });
      io.narrator.warn(
        `a create of ${left.startedAt} was interrupted; a vault may exist whose credentials nobody has; ${findIt(left)}`,
      );
      await store.dismissCreation(left);
      await session.release();
    } catch (error) {
      // Still under way, in another process.
      if (asVaultError(error).code !== "busy") throw error;
    }
  }
}

/** Reports the outcome. Credentials that could not be stored are printed, because they exist nowhere else. */
async function reportOutcome(
  io: Io,
  options: CreateOptions,
  kind: Kind,
  outcome: CreateOutcome,
  out: CredentialsOut | undefined,
): Promise<number> {
  if (outcome.type === "unreadable") {
    // If it holds credentials after all, this is the only copy.
    const whole: CreateDocument = { answer: outcome.answer.body };
    await io.host.stdout.write(`${jsonText(whole)}\n`);
    throw outcome.error;
  }
  const { success, credentials } = outcome;
  const { uuid } = success;
  const label = options.label ?? null;
  const vault = { ...success.vault, uuid };
  const saved = await save(out, credentialsJson({ uuid, label, kind, credentials }));
  if (outcome.type === "unstored") {
    const only: CreateDocument = { uuid, label, vault: { ...vault, credentials }, kind };
    if (saved !== true) await io.host.stdout.write(`${jsonText(only)}\n`);
    const where =
      saved === true ? `are in ${options.credentialsOut}` : "were printed, and exist nowhere else";
    throw new VaultError(
      "state",
      `vault ${uuid} was created, but its credentials could not be stored (${outcome.error.message}); they ${where}`,
      {
        uuid,
        retry: "never",
        hint: "keep them",
        next: [
          {
            ...command`vault import ${uuid} --kind ${kind} --credentials @FILE`,
            note: "once the state can be written",
          },
        ],
      },
    );
  }
  const { generation } = outcome;
  const fingerprint = namedFingerprint(outcome.fingerprint);
  const document: CreateDocument = {
    uuid,
    label,
    vault,
    kind,
    created: { generation, fingerprint },
  };
  const { createdTable } = await import("../../cli/vault-view.ts");
  await io.output.printDone(
    document,
    async (view) => await createdTable({ ...outcome, kind, label, fingerprint }, view),
    {
      what: `vault ${uuid} was created, and its credentials are stored`,
      uuid,
      next: [{ ...command`vault status ${uuid}`, note: "do not create it again" }],
    },
  );
  io.narrator.note(`Credentials stored (generation ${generation}).`, [command`vault get ${uuid}`]);
  if (saved !== false) return 0;
  throw new VaultError(
    "state",
    `vault ${uuid} was created and its credentials are stored, but --credentials-out could not be written`,
    {
      uuid,
      retry: "never",
      next: [{ ...command`vault export ${uuid}`, note: "prints them" }],
    },
  );
}

/** Whether the file was written; undefined if none was asked for. */
async function save(
  out: CredentialsOut | undefined,
  document: RecoveryFile,
): Promise<boolean | undefined> {
  return await out?.write(document).then(
    () => true,
    () => false,
  );
}
