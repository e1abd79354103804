import { expect, test } from "vitest";
import type { RawInput } from "../../src/commands/act.ts";
import { readAction } from "../../src/commands/act.ts";
import { parseAck } from "../../src/commands/ack-options.ts";
import { parseCreate } from "../../src/commands/create-options.ts";
import { parseDelete } from "../../src/commands/delete-run.ts";
import { parseBackup } from "../../src/commands/backup-run.ts";
import { parseDoctor } from "../../src/commands/doctor-run.ts";
import { parseConfigGet, parseConfigList } from "../../src/commands/config-list.ts";
import { parseRekey } from "../../src/commands/config-rekey.ts";
import { parseConfigSet, parseConfigUnset, parseConfigUse } from "../../src/commands/config-run.ts";
import { parseExport } from "../../src/commands/export-run.ts";
import { parseForget } from "../../src/commands/forget-run.ts";
import { parseGet } from "../../src/commands/get-run.ts";
import { parseGuard } from "../../src/commands/guard-run.ts";
import { parseInfo } from "../../src/commands/info-run.ts";
import { parseImport } from "../../src/commands/import-run.ts";
import { parseInit } from "../../src/commands/init-run.ts";
import { parseSandboxStart } from "../../src/commands/sandbox-start.ts";
import { parseUpdate } from "../../src/commands/update-run.ts";
import { parseStatus } from "../../src/commands/status-run.ts";
import { asVaultError } from "../../src/errors.ts";
import { buildProgram } from "../../src/program.ts";

const uuid = "123e4567-e89b-42d3-a456-426614174000";

const parsers: Record<string, (input: RawInput) => unknown> = {
  get: parseGet,
  update: parseUpdate,
  ack: parseAck,
  status: parseStatus,
  guard: parseGuard,
  import: parseImport,
  export: parseExport,
  forget: parseForget,
  info: parseInfo,
  create: parseCreate,
  delete: parseDelete,
  backup: parseBackup,
  doctor: parseDoctor,
  sandbox: parseSandboxStart,
  init: parseInit,
  "config list": parseConfigList,
  "config get": parseConfigGet,
  "config set": parseConfigSet,
  "config unset": parseConfigUnset,
  "config use": parseConfigUse,
  "config rekey": parseRekey,
};

/** A command line through the real command tree, up to the checked options: nothing is loaded or run. */
async function read(line: readonly string[]): Promise<unknown> {
  let input: RawInput | undefined;
  const act =
    () =>
    async (...parameters: unknown[]) => {
      ({ input } = readAction(parameters));
      return Promise.resolve();
    };
  await buildProgram("0.0.0", act, { writeErr: () => undefined }).parseAsync(line, { from: "user" });
  if (input === undefined) throw new Error("no command was called");
  return (parsers[line.slice(0, 2).join(" ")] ?? parsers[line[0] ?? ""])?.(input);
}

test.each<[string, unknown]>([
  [`get ${uuid}`, { uuid, ack: true }],
  [`get ${uuid} --no-ack`, { uuid, ack: false }],
  ["get", { ack: true }],
  [`update ${uuid} --card @card.json --yes`, { uuid, ack: true, card: "@card.json", yes: true }],
  [
    "update --card-number - --card-name Ada --expiry 04/2031 --no-ack --kind credit-card/offline --save-cmd true",
    { ack: false, cardNumber: "-", cardName: "Ada", expiry: "04/2031", kind: "credit-card/offline", saveCmd: "true" },
  ],
  [`update ${uuid} --content @text`, { uuid, ack: true, content: "@text" }],
  [
    `get ${uuid} --kind generic/offline --credentials @p --hashed-pin env:P --external-ref r --credentials-out f --save-cmd true`,
    {
      uuid,
      ack: true,
      kind: "generic/offline",
      credentials: "@p",
      hashedPin: "env:P",
      externalRef: "r",
      credentialsOut: "f",
      saveCmd: "true",
    },
  ],
  [
    `get ${uuid} --generation 3 --force --discard-pending --dry-run --encrypted-data - --payload @p`,
    { uuid, ack: true, generation: 3, force: true, discardPending: true, dryRun: true, encryptedData: "-", payload: "@p" },
  ],
  ["ack --all", { all: true }],
  [`ack ${uuid} --unread --saved --save-cmd true`, { uuid, unread: true, saved: true, saveCmd: "true" }],
  [`ack ${uuid} --token @t --kind generic/offline --operation get`, { uuid, token: "@t", kind: "generic/offline", operation: "get" }],
  ["status --pending --history --fail-on locked,at-risk", { pending: true, history: true, failOn: ["locked", "at-risk"] }],
  [`guard ${uuid} --reset --yes`, { uuid, reset: true, yes: true }],
  [
    `import ${uuid} --kind generic/offline --credentials @p --label l --rebind`,
    { uuid, kind: "generic/offline", credentials: "@p", label: "l", rebind: true },
  ],
  ["import --file -", { file: "-" }],
  ["export --all", { all: true }],
  [`forget ${uuid} --discard-pending --yes`, { uuid, discardPending: true, yes: true }],
  [`info ${uuid} --kind generic/online`, { uuid, kind: "generic/online" }],
  ["info", {}],
  [
    `delete ${uuid} --yes --discard-pending --force --external-ref r`,
    { uuid, yes: true, discardPending: true, force: true, externalRef: "r" },
  ],
  [
    "create --kind generic/offline --content - --max-usage 3 --expiry-date 2029-01-01T00:00:00Z --metadata a=b c=d --metadata e= --external-ref r",
    {
      kind: "generic/offline",
      content: "-",
      maxUsage: 3,
      expiryDate: "2029-01-01T00:00:00Z",
      metadata: ["a=b", "c=d", "e="],
      externalRef: "r",
    },
  ],
  [
    "create --kind credit-card/online --card @c --hashed-pin env:P --label l --credentials-out f",
    { kind: "credit-card/online", card: "@c", hashedPin: "env:P", label: "l", credentialsOut: "f" },
  ],
  ["create --card-number @n --card-name Ada --expiry 4/2029", { cardNumber: "@n", cardName: "Ada", expiry: "4/2029" }],
  ["backup b.db --force", { file: "b.db", force: true }],
  ["backup b.db --restore --service-restored --yes", { file: "b.db", restore: true, serviceRestored: true, yes: true }],
  ["doctor", {}],
  ["doctor --offline --fail-on warn", { offline: true, failOn: "warn" }],
  ["init --live --force --state-key-source passphrase", { live: true, force: true, stateKeySource: "passphrase" }],
  ["config list --origin", { origin: true }],
  ["config get policy.failed", { key: "policy.failed" }],
  ["config set timeout 3s", { key: "timeout", value: "3s" }],
  ["config set apiKey -", { key: "apiKey", value: "-" }],
  ["config unset timeout", { key: "timeout" }],
  ["config use work", { name: "work" }],
  ["config rekey --to keyring --skip-missing --yes", { to: "keyring", skipMissing: true, yes: true }],
  ["config rekey --new-passphrase -", { to: "passphrase", newPassphrase: "-" }],
  ["config rekey --new-state-key @k --to given", { to: "given", newStateKey: "@k" }],
  [
    "sandbox start --port 4000 --data d --seed demo --token-ttl 30s --latency 5ms --policy p --ready-file r",
    { port: 4000, data: "d", seed: "demo", tokenTtl: "30s", latency: "5ms", policy: "p", readyFile: "r" },
  ],
])("%s", async (line, options) => {
  expect(await read(line.split(" "))).toEqual(options);
});

test.each<[string, RegExp]>([
  ["get 123", /^<uuid>: must be 36 characters/],
  [`get ${uuid} --kind card`, /^--kind: must be one of credit-card\/online/],
  [`get ${uuid} --generation 0`, /^--generation: must be a whole number of at least 1/],
  [`get ${uuid} --external-ref ${"x".repeat(65)}`, /^--external-ref: must be 1 to 64 characters/],
  [`ack ${uuid} --operation read`, /^--operation: must be get or update/],
  ["status --fail-on pending,broken", /^--fail-on: must be of locked, pending, at-risk/],
  ["info 123", /^<uuid>: must be 36 characters/],
  [`delete ${uuid} --external-ref ${"x".repeat(65)}`, /^--external-ref: must be 1 to 64 characters/],
  ["create --kind generic", /^--kind: must be one of .*generic\/online/],
  ["create --max-usage 0", /^--max-usage: must be a whole number of at least 1/],
  ["create --expiry-date tomorrow", /^--expiry-date: must be an ISO 8601 date-time/],
  ["doctor --fail-on ok", /^--fail-on: must be warn or error/],
  ["init --state-key-source paper", /^--state-key-source: must be one of file, passphrase, keyring/],
  ["config rekey --to paper", /^--to: must be one of file, passphrase, keyring, given/],
  ["sandbox start --port http", /^--port: must be a port/],
])("%s is refused", async (line, message) => {
  const error = await read(line.split(" ")).catch(asVaultError);
  expect(error).toMatchObject({ code: "invalid-input", message: expect.stringMatching(message) as string });
});

test.each<[string, RegExp]>([
  ["backup b.db --restore --force", /^--force has no meaning with --restore/],
  ["backup b.db --yes", /^--yes has no meaning without --restore/],
  ["backup b.db --service-restored", /^--service-restored has no meaning without --restore/],
])("%s is a contradiction", async (line, message) => {
  const error = await read(line.split(" ")).catch(asVaultError);
  expect(error).toMatchObject({ code: "usage", message: expect.stringMatching(message) as string });
});
