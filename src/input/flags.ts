import { inGroup, optionName, type Flags, type OptionValues } from "../cli/command.ts";
import { externalRef, label, runName, wholeNumber } from "../cli/values.ts";
import { isCreditCard, kinds, type Kind } from "../protocol/endpoints.ts";

const heading = "Many vaults:";

/** Flags of every command that takes many vaults. */
export const manyFlags = inGroup(heading, {
  "--from <file>": {
    help: "read the vaults from FILE, names on lines or JSON (- is standard input)",
    conflicts: ["vaults", "all"],
  },
  "--all": { help: "every vault that the state knows at this service", conflicts: ["vaults"] },
  "--concurrency <n>": {
    help: "at most N at once (default: as many as the rate limit allows)",
    parse: wholeNumber,
  },
  "--max-failures <n>": { help: "stop starting vaults after N failures", parse: wholeNumber },
});

export const runFlag = inGroup(heading, {
  "--run <name>": {
    help: "name of a run of many vaults; the same command line continues it",
    parse: runName,
  },
});

/** Where the contents of many vaults go, in place of stdout. */
export const deliveryFlags = inGroup(heading, {
  "--out-dir <directory>": "write each vault's contents to UUID.json there (0600)",
  "--exec <command>":
    "pass each vault's document to a shell command; acknowledge if it exits with 0",
});

export type ManyOptions = OptionValues<typeof manyFlags & typeof runFlag & typeof deliveryFlags> & {
  vaults: readonly string[];
};

/** What makes a command line one about many vaults, if it is one: what is done with one alone has its own output. */
export const manyBy = (options: Partial<ManyOptions>): string | undefined =>
  (options.vaults ?? []).length > 1
    ? "several vaults"
    : firstGiven(Object.keys({ ...manyFlags, ...runFlag, ...deliveryFlags }), options);

/** The first of these flags that is given, by its name alone. */
export const firstGiven = (flags: readonly string[], options: object): string | undefined =>
  flags
    .find((flag) => options[optionName(flag) as keyof typeof options] !== undefined)
    ?.replace(/ .*/, "");

export const externalRefFlag = {
  "--external-ref <text>": {
    help: "your reference in the service's audit log, 1 to 64 characters",
    parse: externalRef,
  },
} as const satisfies Flags;

export const exchangeFlags = {
  "--kind <kind>": {
    help: "required the first time, then remembered; generic/online is extended",
    choices: kinds,
  },
  "--credentials <secret>": {
    help: "credentials as JSON, or a recovery document: @FILE, -, env:NAME",
    conflicts: ["encryptedData", "payload", "generation"],
  },
  "--encrypted-data <secret>": {
    help: "first part of the credentials, with --payload: @FILE, -, env:NAME",
    conflicts: ["generation"],
    requires: ["payload"],
  },
  "--payload <secret>": {
    help: "second part, with --encrypted-data: @FILE, -, env:NAME",
    conflicts: ["generation"],
    requires: ["encryptedData"],
  },
  "--hashed-pin <secret>": "hashed PIN of an online vault: @FILE, -, env:NAME",
  ...externalRefFlag,
  "--no-ack": "hold the exchange after delivery; vault ack finishes it",
  "--discard-pending":
    "drop a held or unacknowledged exchange and start again with the old credentials (a held update: only with --force)",
  "--credentials-out <file>":
    "write a recovery document to FILE before acknowledging, then replace it with the new credentials",
  "--save-cmd <command>": "pass the recovery document to a shell command before acknowledging",
  "--dry-run": "show what would be sent and how it would count toward lockout; send nothing",
  "--generation <n>": {
    help: "start with these stored credentials; with --force, even superseded or refused ones",
    parse: wholeNumber,
  },
  "--force": "send a request that the guard would refuse",
} as const satisfies Flags;

/** Of what receives a read in place of stdout. */
export const passedFlag = {
  "--with-credentials":
    "pass the new credentials, too, to the file or program that receives the contents",
} as const satisfies Flags;

/** Of a read. */
export const outFlag = {
  ...passedFlag,
  "--out <file>": "write the contents to FILE (0600) instead of printing them",
} as const satisfies Flags;

export type ExchangeOptions = OptionValues<typeof exchangeFlags> &
  Partial<OptionValues<typeof outFlag>> & { yes?: boolean | undefined };

/** Of a vault that becomes known here: `create` and `import` share them. */
export const newVaultFlags = {
  "--kind <kind>": { help: "kind of the vault; generic/online is extended", choices: kinds },
  "--label <text>": {
    help: "a label, kept in the state and never sent to the service",
    parse: label,
  },
} as const satisfies Flags;

/** The contents of a vault: `update` and `create` share them. */
export const contentsFlags = {
  "--card <value>": {
    help: 'card as JSON {"number","name","expiryMonth","expiryYear"}: @FILE, -, env:NAME',
    conflicts: ["cardNumber", "cardName", "expiry"],
  },
  "--card-number <value>": "card number, 8 to 19 digits: @FILE, -, env:NAME",
  "--card-name <text>": "name on the card, at most 30 characters",
  "--expiry <MM/YY>": "expiry of the card, such as 04/29",
  "--content <value>": {
    help: "contents of a generic vault (extended), byte for byte: @FILE, -, env:NAME",
    conflicts: ["card", "cardNumber", "cardName", "expiry"],
  },
} as const satisfies Flags;

/** What says something about one vault; the rest is said of all alike. */
export const flagsOfOne = (): string[] =>
  Object.keys({ ...exchangeFlags, ...outFlag, ...contentsFlags }).filter(
    (flag) =>
      !/^--(?:kind|external-ref|no-ack|discard-pending|dry-run|with-credentials)\b/.test(flag),
  );

export type ContentsOptions = OptionValues<typeof contentsFlags>;

/** Whether a vault of this kind can hold what is given of its contents. */
export const mayHold = (
  kind: Kind,
  { card, cardNumber, cardName, expiry, content }: ContentsOptions,
): boolean =>
  isCreditCard(kind)
    ? content === undefined
    : (card ?? cardNumber ?? cardName ?? expiry) === undefined;

/** What a command line says of an exchange, with one vault or with many. */
export type VaultsOptions = ManyOptions & ExchangeOptions & ContentsOptions;

/** Stands in the description of each operation that is not documented (docs/interface.md, Extended operations). */
export const extended =
  "Extended: not part of the documented interface; your service may not support it.";
