import { expect, test } from "vitest";
import { buildProgram, type CliCommand } from "../../src/cli/commander.ts";
import type { AuditReplayFlags } from "../../src/commands/audit-replay/options.ts";
import { parseAuditReplay } from "../../src/commands/audit-replay/options.ts";
import { vault } from "../../src/commands/program.ts";
import { asVaultError } from "../../src/errors.ts";

const now = Date.UTC(2026, 10, 21);

const uuid = "123e4567-e89b-42d3-a456-426614174000";

/** What commands make of their options before they do anything. */
const further: Record<string, (options: unknown) => unknown> = {
  "audit-replay": (options) => parseAuditReplay(options as AuditReplayFlags, now),
};

/** A command line through the real commands, up to the checked options: nothing is loaded or run. */
async function read(line: readonly string[]): Promise<unknown> {
  let called: { name: string; options: object } | undefined;
  const act = async (command: CliCommand, options: object): Promise<void> => {
    called = { name: command.name(), options };
    return await Promise.resolve();
  };
  const host = { stdout: { columns: 80, color: false } } as never;
  const program = await buildProgram(vault, host, { act });
  await program.parseAsync(line, { from: "user" });
  if (called === undefined) throw new Error("no command was called");
  return further[called.name]?.(called.options) ?? called.options;
}

test.each<[string, unknown]>([
  [`get ${uuid}`, { vaults: [uuid], ack: true }],
  [`get ${uuid} --no-ack`, { vaults: [uuid], ack: false }],
  ["get", { vaults: [], ack: true }],
  [
    `update ${uuid} --card @card.json --yes`,
    { vaults: [uuid], ack: true, card: "@card.json", yes: true },
  ],
  [
    "update --card-number - --card-name Ada --expiry 04/2031 --no-ack --kind credit-card/offline --save-cmd true",
    {
      vaults: [],
      ack: false,
      cardNumber: "-",
      cardName: "Ada",
      expiry: "04/2031",
      kind: "credit-card/offline",
      saveCmd: "true",
    },
  ],
  [`update ${uuid} --content @text`, { vaults: [uuid], ack: true, content: "@text" }],
  [
    `get ${uuid} --kind generic/offline --credentials @p --hashed-pin env:P --external-ref r --credentials-out f --save-cmd true`,
    {
      vaults: [uuid],
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
    `get ${uuid} --force --discard-pending --dry-run --encrypted-data - --payload @p`,
    {
      vaults: [uuid],
      ack: true,
      force: true,
      discardPending: true,
      dryRun: true,
      encryptedData: "-",
      payload: "@p",
    },
  ],
  [`get ${uuid} --generation 3`, { vaults: [uuid], ack: true, generation: 3 }],
  ["ack --all", { vaults: [], all: true }],
  [
    `ack ${uuid} --unread --saved --save-cmd true`,
    { vaults: [uuid], unread: true, saved: true, saveCmd: "true" },
  ],
  [
    `ack ${uuid} --token @t --kind generic/offline --operation get`,
    { vaults: [uuid], token: "@t", kind: "generic/offline", operation: "get" },
  ],
  [
    "status --pending --history --fail-on locked,at-risk",
    { pending: true, history: true, failOn: ["locked", "at-risk"] },
  ],
  ["audit-replay", { files: [] }],
  [
    "audit-replay a.ndjson - b.csv.gz --problems",
    { files: ["a.ndjson", "-", "b.csv.gz"], problems: true },
  ],
  [
    `audit-replay --vault ${uuid.toUpperCase()} --timeline`,
    { files: [], vault: uuid.toUpperCase(), timeline: true },
  ],
  [
    "audit-replay --since 2026-11-20T14:02:11+01:00 --until 1.5h",
    { files: [], since: Date.UTC(2026, 10, 20, 13, 2, 11), until: now - 5_400_000 },
  ],
  [
    "audit-replay --since 2026-11-20 --until 30s",
    { files: [], since: Date.UTC(2026, 10, 20), until: now - 30_000 },
  ],
  [
    "audit-replay a --map time=when,vault=wallet.id --html - --redact --failure denied|bad --release 1.2.22 --token-lifetime 90s",
    {
      files: ["a"],
      map: { time: "when", vault: "wallet.id" },
      html: "-",
      redact: true,
      failure: "denied|bad",
      release: "1.2.22",
      tokenLifetimeMs: 90_000,
    },
  ],
  [
    "audit-replay --where ref=a=b a --where ip=10.* --where app=x --where endpoint=/y",
    {
      files: ["a"],
      where: [
        { key: "ref", value: "a=b" },
        { key: "ip", value: "10.*" },
        { key: "app", value: "x" },
        { key: "endpoint", value: "/y" },
      ],
    },
  ],
  [
    "audit-replay --fail-on locked,at-risk,open-exchange",
    { files: [], failOn: ["locked", "at-risk", "open-exchange"] },
  ],
  ...(
    [
      ["lock-after-failed=5", { limits: { failedAttempts: 5 } }],
      ["lock-after-unacked=1", { limits: { unackedStarts: 1 } }],
    ] as const
  ).map(([text, change]): [string, unknown] => [
    `audit-replay a --what-if ${text}`,
    { files: ["a"], whatIf: { text, ...change } },
  ]),
  [`guard ${uuid} --reset --yes`, { vaults: [uuid], reset: true, yes: true }],
  [
    `guard ${uuid} --reset --failed 0 --starts 4`,
    { vaults: [uuid], reset: true, failed: 0, starts: 4 },
  ],
  [
    `import ${uuid} --kind generic/offline --credentials @p --label l`,
    { uuid, kind: "generic/offline", credentials: "@p", label: "l" },
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
    "create --kind generic/offline --content - --max-usage 3 --expiry-date 2029-01-01T00:00:00Z --metadata a=b --metadata c=d --metadata e= --external-ref r",
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
    "create --kind credit-card/online --card @c --hashed-pin env:P --label l",
    { kind: "credit-card/online", card: "@c", hashedPin: "env:P", label: "l" },
  ],
  [
    "create --card-number @n --card-name Ada --expiry 4/2029",
    { cardNumber: "@n", cardName: "Ada", expiry: "4/2029" },
  ],
  ["doctor", {}],
  ["doctor --offline --fail-on warn", { offline: true, failOn: "warn" }],
  ["init --live --force", { live: true, force: true }],
  ["config list --origin", { origin: true }],
  ["config get policy.failedAttempts", { key: "policy.failedAttempts" }],
  ["config set timeout 3s", { key: "timeout", value: "3s" }],
  ["config set apiKey -", { key: "apiKey", value: "-" }],
  ["config unset timeout", { key: "timeout" }],
  ["config use work", { name: "work" }],
  ["state init", {}],
  ["state backup b.db --force", { file: "b.db", force: true }],
  ["state restore b.db --yes", { file: "b.db", yes: true }],
  ["state restore b.db --backup-key @k", { file: "b.db", backupKey: "@k" }],
  ["state rekey --new-state-key @k --yes", { newStateKey: "@k", yes: true }],
  [
    "sandbox start --port 4000 --data d --seed demo --token-ttl 30s --latency 5ms --policy p --ready-file r",
    {
      port: 4000,
      data: "d",
      seed: "demo",
      tokenTtl: "30s",
      latency: "5ms",
      policy: "p",
      readyFile: "r",
    },
  ],
])("%s", async (line, options) => {
  expect(await read(line.split(" "))).toEqual(options);
});

test.each<[string, RegExp]>([
  ["import 123", /^<uuid>: must be 36 characters/],
  [`get ${uuid} --kind card`, /^--kind: must be one of credit-card\/online/],
  [`get ${uuid} --generation 0`, /^--generation: must be a whole number of at least 1/],
  [`get ${uuid} --external-ref ${"x".repeat(65)}`, /^--external-ref: must be 1 to 64 characters/],
  [`ack ${uuid} --operation read`, /^--operation: must be get or update/],
  [
    "status --fail-on pending,broken",
    /^--fail-on: must be one or more of locked, pending, at-risk/,
  ],
  [
    "audit-replay --since yesterday",
    /^--since: must be a date, a time as exports have them, or a duration back from now/,
  ],
  ["audit-replay --until 2026-13-01", /^--until: must be a date, a time as exports have them/],
  ["audit-replay --until 1.2.3h", /^--until: must be a duration/],
  ["audit-replay --failure (", /^--failure: must be a regular expression/],
  ["audit-replay --failure a*", /^--failure: must be .* that does not match every item, such as/],
  ["audit-replay --release 1.2", /^--release: must be a release, X\.Y\.Z, like 1\.2\.22/],
  ["audit-replay --token-lifetime 5", /^--token-lifetime: must be a duration/],
  ["audit-replay --token-lifetime 0s", /^--token-lifetime: must be a duration of at least 1ms/],
  [
    "audit-replay --fail-on pending",
    /^--fail-on: must be one or more of locked, at-risk, open-exchange/,
  ],
  ["audit-replay --what-if unlock", /^--what-if: must be lock-after-failed=N or/],
  ["audit-replay --what-if lock-after-failed=0", /^--what-if: must be lock-after-failed=N/],
  [
    `delete ${uuid} --external-ref ${"x".repeat(65)}`,
    /^--external-ref: must be 1 to 64 characters/,
  ],
  ["create --kind generic", /^--kind: must be one of .*generic\/online/],
  ["create --max-usage 0", /^--max-usage: must be a whole number of at least 1/],
  ["doctor --fail-on ok", /^--fail-on: must be one of warn, error, never/],
  ["sandbox start --port http", /^--port: must be a port/],
])("%s is refused", async (line, message) => {
  const error = await read(line.split(" ")).catch(asVaultError);
  expect(error).toMatchObject({
    code: "invalid-input",
    message: expect.stringMatching(message) as string,
  });
});

test.each<[string, RegExp]>([
  ["audit-replay --timeline", /^--timeline requires --vault/],
  ["audit-replay --map time=a", /^--map requires \[files\.\.\.\]/],
  ["audit-replay - a -", /^- is given twice/],
  ["audit-replay a --map when=a", /^--map: "when=a" is not ROLE=COLUMN/],
])("%s is a contradiction", async (line, message) => {
  const error = await read(line.split(" ")).catch(asVaultError);
  expect(error).toMatchObject({ code: "usage", message: expect.stringMatching(message) as string });
});
