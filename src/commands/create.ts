import { command, type Flags, type OptionValues } from "../cli/command.ts";
import { anyText, wholeNumber } from "../cli/values.ts";
import { vaultTable } from "../cli/vault-view.ts";
import { contentsFlags, extended, externalRefFlag, newVaultFlags } from "../input/flags.ts";
import { defined } from "../defined.ts";
import type { Document } from "../documents/schemas.ts";
import { VaultError } from "../errors.ts";
import { createVault } from "../exchange/single.ts";
import type { Store } from "../exchange/ports.ts";
import { newId } from "../exchange/records.ts";
import { askKind } from "../input/ask.ts";
import { checkContentsOptions, completeContents, readContents } from "../input/contents.ts";
import { readHashedPin } from "../input/read-start.ts";
import type { Io } from "../parts/basics.ts";
import { isOnline, kindList, type Kind } from "../protocol/endpoints.ts";
import * as fields from "../protocol/fields.ts";
import { fingerprint as fingerprintOf } from "../protocol/fingerprint.ts";
import { brokenRule, checkGiven } from "../protocol/validate.ts";
import { jsonText } from "../terminal/redactor.ts";
import { namedFingerprint } from "../terminal/secrets.ts";
import { command as wayTo, noted } from "../way.ts";

const flags = {
  ...newVaultFlags,
  ...contentsFlags,
  "--hashed-pin <secret>": "online vaults: base64, required by every read: @FILE, -, env:NAME",
  "--max-usage <n>": { help: "offline vaults: how often it can be read", parse: wholeNumber },
  "--expiry-date <date>": "offline vaults: when the service deletes it, date and time (ISO 8601)",
  "--metadata <key=value...>": {
    help: "up to 50 entries; letters, digits, dashes, underscores and spaces",
    parse: anyText,
  },
  ...externalRefFlag,
} as const satisfies Flags;

type CreateOptions = OptionValues<typeof flags>;

/** Creates a vault. Exit 0 means: its credentials are in the state. */
export const create = command({
  description:
    "Create a vault. Its credentials are stored durably before anything is printed. If the response is lost (exit 10) or the program is " +
    "killed, a vault may exist whose credentials nobody has: look for its external reference in the console. " +
    extended,
  options: flags,
  examples: [
    "vault create --kind generic/offline --content @note.txt --label note",
    "vault create --kind generic/offline --content @note.txt --max-usage 3",
    "vault create --kind generic/offline --content @note.txt --metadata team=ops",
    "vault create --kind credit-card/offline --card @card.json --json",
  ],
  async run(app, options) {
    const { io } = app;
    const metadata = readMetadata(options.metadata);
    // Before a question.
    await app.service.client();
    const kind = await chooseKind(io, options);
    checkOptions(options, kind, io.host.now());
    const given = await readContents(io, options);
    const hashedPin = await readHashedPin(io, options);
    const { maxUsage, expiryDate: date, label = null } = options;
    const contents = await completeContents(io, kind, given);
    // In a form that cannot be read as the local time of the service.
    const expiryDate = date && new Date(fields.instant(date) ?? 0).toISOString();
    const vault = { ...contents, ...defined({ hashedPin, maxUsage, expiryDate }) };
    const device = isOnline(kind) ? await app.service.device() : undefined;
    if (isOnline(kind) && device === undefined)
      throw new VaultError(
        "usage",
        "an online vault is created with a device, which every later read must match; nothing was sent",
        { hint: "set it with --device @FILE, VAULTSVC_DEVICE or the config key device" },
      );
    const store = await app.state.store();
    if (label !== null) await checkLabel(store, label);
    const service = app.settings.serviceName();
    const id = newId(io.host);
    const creation = { id, service, kind, externalRef: options.externalRef ?? `vault-${id}` };
    const context = {
      ...(await app.service.single()),
      breaker: store.breaker(service),
      store,
      learnSecret: io.redactor.add,
      rescue: async (document: object) => await io.host.stdout.write(`${jsonText(document)}\n`),
    };
    const request = { creation, vault, device, metadata, label: options.label };
    // Locked like a vault, so that the encryption key cannot change meanwhile and others see that it is under way.
    const session = await store.lock(service, id, io.waiting);
    const createLocked = async (): ReturnType<typeof createVault> => {
      try {
        return await createVault(context, request);
      } finally {
        await session.release();
      }
    };
    const { success, credentials, generation } = await createLocked();
    const { uuid, usesRemaining, autoLockDate } = success;
    const fingerprint = namedFingerprint(fingerprintOf(uuid, credentials));
    const created = { generation, fingerprint };
    const answered = { ...success.vault, uuid };
    const document: Document<"create"> = { uuid, label, vault: answered, kind, created };
    const dates = { expiryDate: success.expiryDate, autoLockDate };
    const shown = { uuid, label, kind, usesRemaining, ...created, credentials, dates };
    await io.output.printDone(document, (view) => vaultTable(shown, view), {
      what: `vault ${uuid} was created, and its credentials are stored`,
      uuid,
      next: [noted(wayTo`vault status ${uuid}`, "do not create it again")],
    });
    io.narrator.note(`Credentials stored (generation ${generation}).`, [wayTo`vault get ${uuid}`]);
  },
});

async function chooseKind({ ask }: Io, { kind }: CreateOptions): Promise<Kind> {
  if (kind !== undefined) return kind;
  if (ask.isPossible) return await askKind(ask, "get");
  throw new VaultError("usage", "--kind is missing; nothing was sent", {
    hint: `use --kind ${kindList}`,
  });
}

const ofKind = [
  ["maxUsage", "--max-usage", false],
  ["expiryDate", "--expiry-date", false],
  ["hashedPin", "--hashed-pin", true],
] as const;

/** @throws `usage` for what does not belong to the kind, `invalid-input` for an expiry date that is none, or has passed */
function checkOptions(options: CreateOptions, kind: Kind, now: number): void {
  checkContentsOptions(options, kind);
  const { expiryDate } = options;
  for (const [name, flag, online] of ofKind)
    if (options[name] !== undefined && isOnline(kind) !== online)
      throw new VaultError(
        "usage",
        `${flag} is for ${online ? "online" : "offline"} vaults only; nothing was sent`,
        { hint: "leave it out, or choose another --kind" },
      );
  if (expiryDate !== undefined && (fields.instant(expiryDate) ?? 0) <= now)
    throw new VaultError(
      "invalid-input",
      "--expiry-date: must be a future date-time (ISO 8601), such as 2029-04-30T00:00:00Z",
      { hint: "nothing was sent; the service deletes the vault then" },
    );
}

/** @throws `invalid-input` naming the pair by its key */
function readMetadata(given: readonly string[] | undefined): fields.Metadata | undefined {
  if (given === undefined) return undefined;
  const hint = "nothing was sent; a valid entry: --metadata 'cost-center=EU-West 7'";
  const pairs: fields.Metadata = {};
  for (const pair of given) {
    const [key = "", ...rest] = pair.split("=");
    const value = rest.join("=");
    const rule =
      rest.length === 0 || Object.hasOwn(pairs, key)
        ? "must be KEY=VALUE, and each key given once"
        : (brokenRule(fields.metadataKey, key) ?? brokenRule(fields.metadataValue, value));
    if (rule !== null)
      throw new VaultError("invalid-input", `--metadata: ${JSON.stringify(key)} ${rule}`, { hint });
    pairs[key] = value;
  }
  return checkGiven(fields.metadata, pairs, "--metadata", hint);
}

/** Refuses a label that another vault has: once the vault exists, it would have none. */
async function checkLabel(store: Pick<Store, "names">, label: string): Promise<void> {
  const owner = (await store.names()).find((vault) => vault.label === label);
  if (owner === undefined) return;
  throw new VaultError("usage", `vault ${owner.uuid} already has this label; nothing was sent`, {
    uuid: owner.uuid,
    hint: "choose another label",
  });
}
