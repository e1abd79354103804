import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectExit,
  offlineCard,
  onlineCard,
  openLab,
  card,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import { device } from "../support/examples.ts";

/** What a user may get wrong, and what must be said of it. */
interface BadInput {
  what: string;
  args: string[];
  exit: 2 | 3;
  /** The flag or field, and the rule. */
  says: RegExp;
  /** A right value. */
  example: RegExp;
  env?: Record<string, string>;
  input?: string;
  /** What must not be repeated, where it is not the test card (which is the example of a right one). */
  secret?: string;
}

const uuid = "123e4567-e89b-42d3-a456-426614174000";
const pair = '{"encryptedData":"a","payload":"b"}';
const first = ["get", uuid, "--kind", "credit-card/offline"];
const online = ["get", uuid, "--kind", "credit-card/online", "--credentials", "env:PAIR"];
const given = [...first, "--credentials", "env:PAIR"];
const aDevice = (change: object) => JSON.stringify({ ...device, ...change });

const badInputs: readonly BadInput[] = [
  {
    what: "no uuid",
    args: ["get"],
    exit: 2,
    says: /a vault is missing/,
    example: /vault get --help/,
  },
  {
    what: "an update without its card",
    args: ["update", uuid, ...given.slice(2)],
    exit: 2,
    says: /the card is missing/,
    example: /--card @FILE/,
  },
  {
    what: "a card number with a wrong digit",
    args: [
      "update",
      uuid,
      ...given.slice(2),
      "--card-number",
      "env:BAD_NUMBER",
      "--card-name",
      "Ada",
      "--expiry",
      "04/2031",
    ],
    env: { BAD_NUMBER: "4111111111111112" },
    secret: "4111111111111112",
    exit: 3,
    says: /--card-number: .*Luhn/,
    example: /4111111111111111/,
  },
  {
    what: "a card with a name of 31 characters",
    args: ["update", uuid, ...given.slice(2), "--card", "env:CARD"],
    secret: "5555555555554444",
    env: {
      CARD: JSON.stringify({
        number: "5555555555554444",
        name: "x".repeat(31),
        expiryMonth: 4,
        expiryYear: 2031,
      }),
    },
    exit: 3,
    says: /--card\.name: .*30 characters/,
    example: /Ada Lovelace/,
  },
  {
    what: "an expiry that is a day",
    args: [
      "update",
      uuid,
      ...given.slice(2),
      "--card-number",
      "env:N",
      "--card-name",
      "Ada",
      "--expiry",
      "04/2031/01",
    ],
    env: { N: "5555555555554444" },
    secret: "5555555555554444",
    exit: 3,
    says: /--expiry: must be month and year/,
    example: /04\/29/,
  },
  {
    what: "a card in two forms",
    args: ["update", uuid, "--card", "@c", "--expiry", "04/2031"],
    exit: 2,
    says: /--card cannot be used with --expiry/,
    example: /vault update --help/,
  },
  {
    what: "an update of an online vault",
    args: ["update", ...online.slice(1), "--card", "env:GOOD_CARD"],
    env: {
      GOOD_CARD: JSON.stringify({
        number: "4111111111111111",
        name: "Ada",
        expiryMonth: 4,
        expiryYear: 2031,
      }),
    },
    exit: 3,
    says: /no update of credit-card\/online/,
    example: /credit-card\/offline/,
  },
  {
    what: "two options that both want standard input",
    args: ["update", uuid, "--kind", "credit-card/offline", "--credentials", "-", "--card", "-"],
    input: JSON.stringify({
      number: "5555555555554444",
      name: "Ada",
      expiryMonth: 4,
      expiryYear: 2031,
    }),
    exit: 2,
    says: /--credentials: standard input was already read for --card/,
    example: /@FILE or env:NAME/,
  },
  {
    what: "a uuid that is too short",
    args: ["import", uuid.slice(1)],
    exit: 3,
    says: /<uuid>.*36 characters/,
    example: /123e4567/,
  },
  {
    what: "a uuid of other characters",
    args: ["import", uuid.replace("1", "g")],
    exit: 3,
    says: /<uuid>.*hexadecimal/,
    example: /123e4567/,
  },
  {
    what: "no kind",
    args: ["get", uuid, "--credentials", "env:PAIR"],
    exit: 2,
    says: /--kind/,
    example: /credit-card\/offline/,
  },
  {
    what: "an unknown kind",
    args: ["get", uuid, "--kind", "card"],
    exit: 3,
    says: /--kind: must be one of/,
    example: /generic\/offline/,
  },
  {
    what: "--field twice",
    args: ["get", uuid, "--field", "vault.uuid", "--field=vault.content"],
    exit: 2,
    says: /--field is given twice.*prints only one value/,
    example: /--json/,
  },
  {
    what: "an unknown flag",
    args: ["get", uuid, "--knid", "x"],
    exit: 2,
    says: /--knid/,
    example: /--help/,
  },
  {
    what: "credentials that are not JSON",
    args: [...first, "--credentials", "@not.json"],
    exit: 3,
    says: /--credentials.*JSON/,
    example: /encryptedData/,
  },
  {
    what: "credentials without payload",
    args: [...first, "--credentials", "@half.json"],
    exit: 3,
    says: /--credentials\.payload/,
    example: /"payload"/,
  },
  {
    what: "empty credentials",
    args: [...first, "--credentials", "@empty.json"],
    exit: 3,
    says: /--credentials.*empty/,
    example: /@FILE/,
  },
  {
    what: "counters to be set, without --reset",
    args: ["guard", uuid, "--failed", "1"],
    exit: 2,
    says: /--failed requires --reset/,
    example: /vault guard --help/,
  },
  {
    what: "counters to be set, and those of unanswered starts to be taken back",
    args: ["guard", uuid, "--reset", "--unanswered", "--starts", "0"],
    exit: 2,
    says: /--unanswered cannot be used with --starts/,
    example: /vault guard --help/,
  },
  {
    what: "counters of all vaults to be set",
    args: ["guard", "--all", "--reset", "--starts", "0"],
    exit: 2,
    says: /--all requires --unanswered/,
    example: /vault guard --help/,
  },
  ...["-1", "1.5", "many", "0x1", "01"].map((given): BadInput => ({
    what: `${given} failed attempts`,
    args: ["guard", uuid, "--reset", `--failed=${given}`],
    exit: 3,
    says: /--failed: must be a whole number of at least 0/,
    example: /such as 1/,
  })),
  {
    what: "no number of starts",
    args: ["guard", uuid, "--reset", "--starts", ""],
    exit: 3,
    says: /--starts: must be a whole number of at least 0/,
    example: /such as 1/,
  },
  {
    what: "half a pair",
    args: [...first, "--encrypted-data", "env:PAIR"],
    exit: 2,
    says: /--encrypted-data requires --payload/,
    example: /--payload/,
  },
  {
    what: "a pair that is given, and one of the state",
    args: [...given, "--generation", "2"],
    exit: 2,
    says: /--credentials cannot be used with --generation/,
    example: /vault get --help/,
  },
  {
    what: "a pair in two forms",
    args: [...given, "--payload", "env:PAIR"],
    exit: 2,
    says: /--credentials cannot be used with --payload/,
    example: /vault get --help/,
  },
  {
    what: "a file that is not there",
    args: [...first, "--credentials", "@missing.json"],
    exit: 3,
    says: /--credentials.*missing\.json.*ENOENT/,
    example: /@FILE/,
  },
  {
    what: "a file that is a folder",
    args: [...first, "--credentials", "@."],
    exit: 3,
    says: /--credentials.*EISDIR/,
    example: /@FILE/,
  },
  {
    what: "a variable that is not set",
    args: [...first, "--credentials", "env:NOT_SET"],
    exit: 3,
    says: /--credentials.*NOT_SET/,
    example: /export NOT_SET=/,
  },
  {
    what: "a hashed pin that is not base64",
    args: [...online, "--device", aDevice({}), "--hashed-pin", "env:BAD_PIN"],
    exit: 3,
    says: /--hashed-pin.*base64/,
    example: /c2VjcmV0/,
  },
  { what: "no device", args: online, exit: 2, says: /device/, example: /--device @FILE/ },
  {
    what: "a device that is not JSON",
    args: [...online, "--device", "@not.json"],
    exit: 3,
    says: /--device.*JSON/,
    example: /browserType/,
  },
  {
    what: "a device that is not there",
    args: [...online, "--device", "@missing.json"],
    exit: 3,
    says: /--device.*missing/,
    example: /@FILE/,
  },
  {
    what: "a device without fonts",
    args: [...online, "--device", aDevice({ fonts: [] })],
    exit: 3,
    says: /--device\.fonts.*at least one/,
    example: /Arial/,
  },
  {
    what: "a device with a version of letters",
    args: [...online, "--device", aDevice({ browserVersion: "latest" })],
    exit: 3,
    says: /--device\.browserVersion.*digits/,
    example: /128\.0/,
  },
  {
    what: "an external reference of 0 characters",
    args: [...given, "--external-ref", ""],
    exit: 3,
    says: /--external-ref.*1 to 64/,
    example: /order-2291/,
  },
  {
    what: "an external reference of 65 characters",
    args: [...given, "--external-ref", "✓".repeat(65)],
    exit: 3,
    says: /--external-ref.*1 to 64/,
    example: /order-2291/,
  },
  {
    what: "http to another host",
    args: [...given, "--base-url", "http://vaults.example.com"],
    exit: 3,
    says: /--base-url.*http/,
    example: /https:\/\/vaults/,
  },
  {
    what: "http to a host that looks like this one",
    args: [...given, "--base-url", "http://localhost.example.com"],
    exit: 3,
    says: /--base-url.*http/,
    example: /https:/,
  },
  {
    what: "a base URL that is none",
    args: [...given, "--base-url", "vaults"],
    exit: 3,
    says: /--base-url.*URL/,
    example: /https:/,
  },
  {
    what: "a base URL with a password",
    args: [...given, "--base-url", "https://a:b@example.com"],
    exit: 3,
    says: /--base-url/,
    example: /https:/,
  },
  {
    what: "no base URL",
    args: given,
    env: { VAULTSVC_BASE_URL: "" },
    exit: 2,
    says: /base URL/,
    example: /--base-url.*VAULTSVC_BASE_URL/,
  },
  {
    what: "no application",
    args: given,
    env: { VAULTSVC_APP_UUID: "" },
    exit: 2,
    says: /uuid/,
    example: /--app-uuid.*VAULTSVC_APP_UUID/,
  },
  {
    what: "no application key",
    args: given,
    env: { VAULTSVC_API_KEY: "" },
    exit: 2,
    says: /key/,
    example: /--api-key.*VAULTSVC_API_KEY/,
  },
  {
    what: "an application that is no uuid",
    args: [...given, "--app-uuid", "mine"],
    exit: 3,
    says: /--app-uuid.*36/,
    example: /123e4567|[0-9a-f]{8}-/,
  },
  {
    what: "a time-out without a unit",
    args: [...given, "--timeout", "30"],
    exit: 3,
    says: /--timeout/,
    example: /30s|500ms/,
  },
  {
    what: "a rate that is no number",
    args: [...given, "--rate", "fast"],
    exit: 3,
    says: /--rate.*whole number/,
    example: /25/,
  },
  {
    what: "a state in another database server",
    args: [...given, "--state", "mysql://db/vaults"],
    exit: 2,
    says: /--state.*directory/,
    example: /--state \//,
  },
  {
    what: "a state key that is none",
    args: given,
    env: { VAULTSVC_STATE_KEY: "secret" },
    exit: 3,
    says: /VAULTSVC_STATE_KEY: must be 32 bytes/,
    example: /openssl rand/,
  },
  {
    what: "a field that no document has",
    args: [...given, "--field", "card.number"],
    exit: 2,
    says: /--field card\.number: a get of a credit-card\/offline vault prints no such field; nothing was sent/,
    example: /vault\.creditCard\.number/,
  },
  {
    what: "an output that is none",
    args: [...given, "-o", "xml"],
    exit: 2,
    says: /--output.*table, json, ndjson/,
    example: /--output json/,
  },
  {
    what: "import without credentials",
    args: ["import", uuid],
    exit: 2,
    says: /--credentials/,
    example: /@FILE/,
  },
  {
    what: "import without kind",
    args: ["import", uuid, "--credentials", "env:PAIR"],
    exit: 2,
    says: /--kind/,
    example: /generic\/offline/,
  },
  {
    what: "a line of import that is not JSON",
    args: ["import", "--file", "not.json"],
    exit: 3,
    says: /--file line 1.*JSON/,
    example: /"uuid"/,
  },
  { what: "ack of nothing", args: ["ack"], exit: 2, says: /UUID.*--all/, example: /vault ack/ },
  {
    what: "a JWT with Bearer in front",
    args: [...given, "--jwt", "env:TOKEN"],
    env: { TOKEN: "Bearer eyJ0.eyJz.c2ln" },
    secret: "eyJ0.eyJz.c2ln",
    exit: 3,
    says: /--jwt: must be only a token/,
    example: /without Bearer/,
  },
  {
    what: "a JWT of two lines, from the environment",
    args: given,
    env: { VAULTSVC_JWT: "eyJ0.eyJz.c2ln\nx" },
    secret: "eyJ0.eyJz.c2ln",
    exit: 3,
    says: /VAULTSVC_JWT: must be only a token/,
    example: /on one line/,
  },
  {
    what: "a proxy of another kind",
    args: [...given, "--proxy", "env:P"],
    env: { P: "socks5://ada:pr0xy-word@127.0.0.1:1080" },
    secret: "pr0xy-word",
    exit: 3,
    says: /--proxy: must be the http: or https: URL of a proxy/,
    example: /http:\/\/proxy\.example\.com:3128/,
  },
  {
    what: "certificates that are none",
    args: [...given, "--ca", "half.json"],
    exit: 3,
    says: /--ca: half\.json must contain only valid certificates in PEM/,
    example: /openssl x509/,
  },
  {
    what: "no such file of certificates",
    args: [...given, "--ca", "no.pem"],
    exit: 3,
    says: /--ca: cannot read .*ENOENT/,
    example: /a relative path \(FILE/,
  },
];

const create = (kind: string, ...more: string[]): string[] => ["create", "--kind", kind, ...more];
const note = create("generic/offline", "--content", "env:PAIR");
const parts = ["--card-number", "env:CARD", "--card-name", "Ada Lovelace", "--expiry", "04/2029"];
/** None that a message shows as an example: all begin like this. */
const secretNumber = "5105105105105100";
const cardOf = (change: object) => JSON.stringify({ ...card, number: secretNumber, ...change });
const rightCard = /"number":"4111111111111111"/;

/** Of the contents of a vault, and of the extended operations. */
const extendedInputs: readonly BadInput[] = [
  {
    what: "create without kind",
    args: ["create", "--content", "env:PAIR"],
    exit: 2,
    says: /--kind is missing/,
    example: /generic\/offline/,
  },
  {
    what: "create without contents",
    args: create("generic/offline"),
    exit: 2,
    says: /--content is missing/,
    example: /@FILE/,
  },
  {
    what: "create without a card",
    args: create("credit-card/offline"),
    exit: 2,
    says: /the card is missing/,
    example: /--card @FILE/,
  },
  {
    what: "half a card",
    args: create("credit-card/offline", "--card-number", "env:CARD"),
    exit: 2,
    says: /the card is missing \(--card-name, --expiry\)/,
    example: /--expiry 04\/29/,
    env: { CARD: secretNumber },
  },
  {
    what: "a card in two forms",
    args: create("credit-card/offline", "--card", "env:CARD", "--expiry", "04/2029"),
    exit: 2,
    says: /--card cannot be used with --expiry/,
    example: /vault create --help/,
  },
  {
    what: "a card for a generic vault",
    args: create("generic/offline", ...parts),
    exit: 2,
    says: /holds no card/,
    example: /--content @FILE/,
  },
  {
    what: "a text for a card vault",
    args: create("credit-card/offline", "--content", "x"),
    exit: 2,
    says: /holds a card/,
    example: /--card @FILE/,
  },
  {
    what: "both",
    args: create("generic/offline", "--content", "x", "--card", "y"),
    exit: 2,
    says: /--content cannot be used with --card/,
    example: /vault create --help/,
  },
  ...(
    [
      [
        "a card number that fails the Luhn check",
        { number: "5105105105105101" },
        /--card\.number.*Luhn/,
      ],
      ["a card number of 7 digits", { number: "5105105" }, /--card\.number.*8 to 19/],
      ["a card number with a letter", { number: "510510510510510x" }, /--card\.number/],
      ["a name of 31 characters", { name: "x".repeat(31) }, /--card\.name.*at most 30/],
      ["a month 13", { expiryMonth: 13 }, /--card\.expiryMonth.*1 to 12/],
      ["a year of two digits", { expiryYear: 29 }, /--card\.expiryYear.*4 digits/],
      ["no year", { expiryYear: undefined }, /--card\.expiryYear.*is missing/],
    ] as const
  ).map(([what, change, says]): BadInput => ({
    what: `--card: ${what}`,
    args: create("credit-card/offline", "--card", "env:CARD"),
    env: { CARD: cardOf(change) },
    exit: 3,
    says,
    example: rightCard,
  })),
  {
    what: "a card that is not JSON",
    args: create("credit-card/offline", "--card", "@not.json"),
    exit: 3,
    says: /--card: not valid JSON/,
    example: rightCard,
  },
  {
    what: "--card-number that fails the Luhn check",
    args: create("credit-card/offline", ...parts),
    env: { CARD: "5105 1051 0510 5101" },
    exit: 3,
    says: /--card-number.*Luhn/,
    example: /--card-number @FILE --card-name/,
  },
  {
    what: "--expiry with a year of three digits",
    args: create("credit-card/offline", "--expiry", "04/029"),
    exit: 3,
    says: /--expiry.*such as 04\/29/,
    example: /--card-number @FILE --card-name/,
  },
  {
    what: "--card-name that is blank",
    args: create("credit-card/offline", "--card-name", "  "),
    exit: 3,
    says: /--card-name: must not be empty/,
    example: /--card-number @FILE --card-name/,
  },
  {
    what: "--expiry in month 13",
    args: create("credit-card/offline", "--expiry", "13/2029"),
    exit: 3,
    says: /--expiry.*1 to 12/,
    example: /--card-number @FILE --card-name/,
  },
  {
    what: "content that is not there",
    args: create("generic/offline", "--content", "@gone"),
    exit: 3,
    says: /--content.*ENOENT/,
    example: /@FILE/,
  },
  {
    what: "metadata without a value",
    args: [...note, "--metadata", "team"],
    exit: 3,
    says: /--metadata.*KEY=VALUE/,
    example: /cost-center=/,
  },
  {
    what: "metadata with an umlaut",
    args: [...note, "--metadata", "team=ü"],
    exit: 3,
    says: /--metadata: "team" must have values/,
    example: /EU-West/,
  },
  {
    what: "metadata with a dot",
    args: [...note, "--metadata", "a.b=c"],
    exit: 3,
    says: /--metadata: "a\.b" must have keys/,
    example: /EU-West/,
  },
  {
    what: "metadata twice",
    args: [...note, "--metadata", "a=b", "--metadata", "a=c"],
    exit: 3,
    says: /--metadata: "a" must be KEY=VALUE, and each key given once/,
    example: /cost-center=/,
  },
  {
    what: "51 pairs of metadata",
    args: [...note, ...Array.from({ length: 51 }, (_, n) => ["--metadata", `k${n}=v`]).flat()],
    exit: 3,
    says: /--metadata.*at most 50 entries/,
    example: /cost-center=/,
  },
  {
    what: "a hashedPin offline",
    args: [...note, "--hashed-pin", "env:PAIR"],
    exit: 2,
    says: /--hashed-pin is for online vaults only/,
    example: /--kind/,
  },
  {
    what: "an online vault with --max-usage",
    args: create("generic/online", "--content", "x", "--max-usage", "3"),
    exit: 2,
    says: /--max-usage is for offline vaults only/,
    example: /--kind/,
  },
  {
    what: "an online vault without a device",
    args: create("generic/online", "--content", "env:PAIR"),
    exit: 2,
    says: /device/,
    example: /--device @FILE/,
  },
  {
    what: "a hashedPin that is not base64 at creation",
    args: create("generic/online", "--content", "env:PAIR", "--hashed-pin", "env:BAD_PIN"),
    exit: 3,
    says: /--hashed-pin.*base64/,
    example: /c2Vj/,
  },
  {
    what: "an expiry date that has passed",
    args: [...note, "--expiry-date", "2020-01-01T00:00:00Z"],
    exit: 3,
    says: /--expiry-date.*has passed/,
    example: /2029-04-30T/,
  },
  {
    what: "no usage at all",
    args: [...note, "--max-usage", "0"],
    exit: 3,
    says: /--max-usage.*at least 1/,
    example: /such as 3/,
  },
  {
    what: "info without kind",
    args: ["info", uuid],
    exit: 2,
    says: /--kind is needed/,
    example: /generic\/offline/,
  },
  {
    what: "info without uuid",
    args: ["info"],
    exit: 2,
    says: /a vault is missing/,
    example: /vault info --help/,
  },
  {
    what: "delete without uuid",
    args: ["delete", "--yes"],
    exit: 2,
    says: /a vault is missing/,
    example: /vault delete --help/,
  },
];

describe("bad input", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab([{ ...offlineCard, uuid }, onlineCard]);
  });

  /** A new one for each case: nothing may be written on it. */
  function prepared(): Machine {
    const machine = lab.machine({ env: { PAIR: pair, BAD_PIN: "p!n" } });
    machine.file("not.json", `{"payload": "${secretNumber}`);
    machine.file("half.json", { encryptedData: "a" });
    machine.file("empty.json", "");
    return machine;
  }

  it.concurrent.each([...badInputs, ...extendedInputs])(
    "$what: exit $exit with flag, rule and example; nothing sent, nothing written",
    async (one) => {
      const machine = prepared();
      const result = await machine.vaultWith(
        { env: one.env ?? {}, ...(one.input === undefined ? {} : { input: one.input }) },
        ...one.args,
      );
      expectExit(result, one.exit);
      expect(result.stdout).toBe("");
      expect(result.stderr).toMatch(one.says);
      expect(result.stderr).toMatch(one.example);
      // What was given is not repeated where it may be a secret.
      if (one.secret !== undefined) expect(result.stderr).not.toContain(one.secret);
      expect(result.stderr).not.toMatch(/5105/);
      const json = await machine.vaultWith(
        { env: { ...one.env, VAULTSVC_OUTPUT: "json" } },
        ...one.args,
      );
      if (!one.args.includes("xml") && one.input === undefined)
        expect(errorOf(json).code).toBe(one.exit === 2 ? "usage" : "invalid-input");
      expect(existsSync(machine.stateDir)).toBe(false);
      expect(existsSync(machine.configDir)).toBe(false);
      expect(lab.service.sandbox.requests()).toEqual([]);
    },
  );
});

describe("input at the limit", () => {
  it.concurrent.each([{ ref: "x" }, { ref: "𝒳".repeat(64) }])(
    "an external reference of 1 and of 64 astral characters is sent",
    async ({ ref }) => {
      const { lab, machine, uuid } = await warmLab(offlineCard);
      await machine.ok("get", uuid, "--external-ref", ref, "--no-ack");
      expect(lab.service.sandbox.inspect(uuid).pending?.externalRef).toBe(ref);
    },
  );

  it("a secret as a literal is taken, with one warning; from stdin and variables without", async () => {
    const { lab, machine } = await coldLab([offlineCard, offlineCard]);
    await machine.ok("state", "init");
    const [one, two] = lab.service.vaults.map(({ uuid, kind, credentials }) => ({
      get: ["get", uuid, "--kind", kind, "--json"],
      credentials,
    }));
    const literal = await machine.ok(
      ...(one?.get ?? []),
      "--credentials",
      JSON.stringify(one?.credentials),
    );
    expect(literal.stderr).toMatch(/^vault: warning: --credentials .*command line.*\n$/);
    const { encryptedData = "", payload = "" } = two?.credentials ?? {};
    const parts = ["--encrypted-data", "env:DATA", "--payload", "-"];
    const quiet = await machine.okWith(
      { env: { DATA: encryptedData }, input: `${payload}\n` },
      ...(two?.get ?? []),
      ...parts,
    );
    expect(quiet.stderr).toBe("");
  });
});
