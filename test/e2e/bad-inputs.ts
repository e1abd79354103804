import { device } from "../support/lab.ts";

/** What a user may get wrong, and what must be said of it. */
export interface BadInput {
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

export const uuid = "123e4567-e89b-42d3-a456-426614174000";
export const pair = '{"encryptedData":"a","payload":"b"}';
const first = ["get", uuid, "--kind", "credit-card/offline"];
const online = ["get", uuid, "--kind", "credit-card/online", "--credentials", "env:PAIR"];
const given = [...first, "--credentials", "env:PAIR"];
const aDevice = (change: object) => JSON.stringify({ ...device, ...change });

export const badInputs: readonly BadInput[] = [
  { what: "no uuid", args: ["get"], exit: 2, says: /a vault is missing/, example: /vault get --help/ },
  {
    what: "an update without its card",
    args: ["update", uuid, ...given.slice(2)],
    exit: 2,
    says: /the card is missing/,
    example: /--card @FILE/,
  },
  {
    what: "a card number with a wrong digit",
    args: ["update", uuid, ...given.slice(2), "--card-number", "env:BAD_NUMBER", "--card-name", "Ada", "--expiry", "04/2031"],
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
    env: { CARD: JSON.stringify({ number: "5555555555554444", name: "x".repeat(31), expiryMonth: 4, expiryYear: 2031 }) },
    exit: 3,
    says: /--card\.name: .*30 characters/,
    example: /Ada Lovelace/,
  },
  {
    what: "an expiry without a four-digit year",
    args: ["update", uuid, ...given.slice(2), "--card-number", "env:N", "--card-name", "Ada", "--expiry", "04/31"],
    env: { N: "5555555555554444" },
    secret: "5555555555554444",
    exit: 3,
    says: /--expiry: must be month and year/,
    example: /04\/2029/,
  },
  {
    what: "a card in two forms",
    args: ["update", uuid, "--card", "@c", "--expiry", "04/2031"],
    exit: 2,
    says: /--card and --expiry/,
    example: /one form/,
  },
  {
    what: "an update of an online vault",
    args: ["update", ...online.slice(1), "--card", "env:GOOD_CARD"],
    env: { GOOD_CARD: JSON.stringify({ number: "4111111111111111", name: "Ada", expiryMonth: 4, expiryYear: 2031 }) },
    exit: 3,
    says: /no update of credit-card\/online/,
    example: /credit-card\/offline/,
  },
  {
    what: "two options that both want standard input",
    args: ["update", uuid, "--kind", "credit-card/offline", "--credentials", "-", "--card", "-"],
    input: JSON.stringify({ number: "5555555555554444", name: "Ada", expiryMonth: 4, expiryYear: 2031 }),
    exit: 2,
    says: /--credentials: standard input was already read for --card/,
    example: /@FILE or env:NAME/,
  },
  { what: "a uuid that is too short", args: ["import", uuid.slice(1)], exit: 3, says: /<uuid>.*36 characters/, example: /123e4567/ },
  {
    what: "a uuid of other characters",
    args: ["import", uuid.replace("1", "g")],
    exit: 3,
    says: /<uuid>.*hexadecimal/,
    example: /123e4567/,
  },
  { what: "no kind", args: ["get", uuid, "--credentials", "env:PAIR"], exit: 2, says: /--kind/, example: /credit-card\/offline/ },
  { what: "an unknown kind", args: ["get", uuid, "--kind", "card"], exit: 3, says: /--kind: must be one of/, example: /generic\/offline/ },
  {
    what: "--field twice",
    args: ["get", uuid, "--field", "vault.uuid", "--field=vault.content"],
    exit: 2,
    says: /--field is given twice.*prints only one value/,
    example: /--json/,
  },
  { what: "an unknown flag", args: ["get", uuid, "--knid", "x"], exit: 2, says: /--knid/, example: /--help/ },
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
  { what: "empty credentials", args: [...first, "--credentials", "@empty.json"], exit: 3, says: /--credentials.*empty/, example: /@FILE/ },
  {
    what: "half a pair",
    args: [...first, "--encrypted-data", "env:PAIR"],
    exit: 2,
    says: /--payload is missing/,
    example: /--payload @FILE/,
  },
  {
    what: "a pair in two forms",
    args: [...given, "--payload", "env:PAIR"],
    exit: 2,
    says: /--credentials.*--encrypted-data/,
    example: /one form/,
  },
  {
    what: "a file that is not there",
    args: [...first, "--credentials", "@missing.json"],
    exit: 3,
    says: /--credentials.*missing\.json.*ENOENT/,
    example: /@FILE/,
  },
  { what: "a file that is a folder", args: [...first, "--credentials", "@."], exit: 3, says: /--credentials.*EISDIR/, example: /@FILE/ },
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
  { what: "a base URL that is none", args: [...given, "--base-url", "vaults"], exit: 3, says: /--base-url.*URL/, example: /https:/ },
  {
    what: "a base URL with a password",
    args: [...given, "--base-url", "https://a:b@example.com"],
    exit: 3,
    says: /--base-url/,
    example: /https:/,
  },
  { what: "no base URL", args: given, env: { VAULTSVC_BASE_URL: "" }, exit: 2, says: /base URL/, example: /--base-url.*VAULTSVC_BASE_URL/ },
  { what: "no application", args: given, env: { VAULTSVC_APP_UUID: "" }, exit: 2, says: /uuid/, example: /--app-uuid.*VAULTSVC_APP_UUID/ },
  { what: "no application key", args: given, env: { VAULTSVC_API_KEY: "" }, exit: 2, says: /key/, example: /--api-key.*VAULTSVC_API_KEY/ },
  {
    what: "an application that is no uuid",
    args: [...given, "--app-uuid", "mine"],
    exit: 3,
    says: /--app-uuid.*36/,
    example: /123e4567|[0-9a-f]{8}-/,
  },
  { what: "a time-out without a unit", args: [...given, "--timeout", "30"], exit: 3, says: /--timeout/, example: /30s|500ms/ },
  { what: "a rate that is no number", args: [...given, "--rate", "fast"], exit: 3, says: /--rate.*whole number/, example: /25/ },
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
    says: /--state-key.*32 bytes/,
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
  { what: "import without credentials", args: ["import", uuid], exit: 2, says: /--credentials/, example: /@FILE/ },
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
    example: /ca\.pem/,
  },
];
