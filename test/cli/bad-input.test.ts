import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { rows } from "../audit/support.ts";
import type { Lab } from "../support/lab.ts";
import {
  card,
  coldLab,
  expectError,
  expectExit,
  offlineCard,
  onlineCard,
  openLab,
  warmLab,
} from "../support/lab.ts";
import { device } from "../support/examples.ts";

const uuid = "123e4567-e89b-42d3-a456-426614174000";
/** None that a message shows as an example. */
const number = "5105105105105100";
const cardOf = (change: object) => JSON.stringify({ ...card, number, ...change });
const deviceOf = (change: object) => JSON.stringify({ ...device, ...change });

/** What the command lines below name: `env:PAIR`. */
const variables = {
  PAIR: '{"encryptedData":"a","payload":"b"}',
  BAD_PIN: "p!n",
  NUMBER: number,
  BAD_NUMBER: "5105 1051 0510 5101",
  CARD: cardOf({}),
  BAD_LUHN: cardOf({ number: "5105105105105101" }),
  SEVEN: cardOf({ number: "5105105" }),
  LETTER: cardOf({ number: "510510510510510x" }),
  LONG_NAME: cardOf({ name: "x".repeat(31) }),
  MONTH_13: cardOf({ expiryMonth: 13 }),
  YEAR_29: cardOf({ expiryYear: 29 }),
  NO_YEAR: cardOf({ expiryYear: undefined }),
  DEVICE: JSON.stringify(device),
  NO_FONTS: deviceOf({ fonts: [] }),
  LATEST: deviceOf({ browserVersion: "latest" }),
  BEARER: "Bearer eyJ0.eyJz.c2ln",
  SOCKS: "socks5://ada:pr0xy-word@127.0.0.1:1080",
};
/** What of it must not be repeated. */
const secrets = /5105|eyJ0\.eyJz|pr0xy-word|p!n/;

/** Words that stand for several. */
const phrases: Record<string, string> = {
  FIRST: "get UUID --kind credit-card/offline",
  GIVEN: "get UUID --kind credit-card/offline --credentials env:PAIR",
  ONLINE: "get UUID --kind credit-card/online --credentials env:PAIR",
  ONLINE_UPDATE: "update UUID --kind credit-card/online --credentials env:PAIR --card env:CARD",
  UPDATE: "update UUID --kind credit-card/offline --credentials env:PAIR",
  STDIN_TWICE: "update UUID --kind credit-card/offline --credentials - --card -",
  CARD: "create --kind credit-card/offline",
  NOTE: "create --kind generic/offline --content env:PAIR",
  ONLINE_NOTE: "create --kind generic/online --content env:PAIR",
  UUID: uuid,
  ASTRAL_65: "✓".repeat(65),
  PAIRS_51: Array.from({ length: 51 }, (_, n) => `--metadata k${n}=v`).join(" "),
  RIGHT_CARD: '"number":"4111111111111111"',
  NO_FIELD: "get of a credit-card/offline vault prints no such field; nothing was sent",
  PARTS: "--card-number @FILE --card-name",
};
const expanded = (line: string): string => {
  const next = line.replaceAll(/(?<!:)\b[A-Z]+(_\w+)?\b/g, (word) => phrases[word] ?? word);
  return next === line ? line : expanded(next);
};

/** Exit code, command line (as in a shell), flag or field with the rule, a right value. */
const badInputs = rows(String.raw`
2 | get | a vault is missing | vault get --help
2 | UPDATE | the card is missing | --card @FILE
3 | UPDATE --card-number env:BAD_NUMBER | --card-number: .*Luhn | 4111111111111111
3 | UPDATE --card env:LONG_NAME | --card\.name: .*30 characters | Ada Lovelace
3 | UPDATE --expiry 04/2031/01 | --expiry: must be month and year | 04/29
2 | UPDATE --card @c --expiry 04/29 | --card cannot be used with --expiry | vault update --help
3 | ONLINE_UPDATE | the interface has no update | of credit-card/online vaults
2 | STDIN_TWICE | --credentials: standard input was already read for --card | @FILE or env:NAME
3 | import 23e4567-e89b-42d3-a456-426614174000 | <uuid>.*36 characters | 123e4567
3 | import g23e4567-e89b-42d3-a456-426614174000 | <uuid>.*hexadecimal | 123e4567
2 | get UUID --credentials env:PAIR | --kind | credit-card/offline
3 | get UUID --kind card | --kind: must be one of | generic/offline
2 | get UUID --knid x | --knid | --help
3 | FIRST --credentials @not.json | --credentials.*JSON | encryptedData
3 | FIRST --credentials @half.json | --credentials\.payload | "payload"
3 | FIRST --credentials @empty.json | --credentials.*empty | @FILE
3 | FIRST --credentials @missing.json | --credentials.*missing\.json.*ENOENT | @FILE
3 | FIRST --credentials @. | --credentials.*EISDIR | @FILE
3 | FIRST --credentials env:NOT_SET | --credentials.*NOT_SET | set and export it
2 | FIRST --encrypted-data env:PAIR | --encrypted-data requires --payload | --payload
2 | GIVEN --generation 2 | --credentials cannot be used with --generation | vault get --help
2 | GIVEN --payload env:PAIR | --credentials cannot be used with --payload | vault get --help
2 | guard UUID --failed 1 | --failed requires --reset | vault guard --help
2 | guard UUID --reset --unanswered --starts 0 | --unanswered cannot .*--starts | vault guard --help
2 | guard --all --reset --starts 0 | --all requires --unanswered | vault guard --help
3 | guard UUID --reset --failed=-1 | --failed: must be a whole number of at least 0 | such as 1
3 | guard UUID --reset --failed=1.5 | --failed: must be a whole number of at least 0 | such as 1
3 | guard UUID --reset --failed=many | --failed: must be a whole number of at least 0 | such as 1
3 | guard UUID --reset --failed=0x1 | --failed: must be a whole number of at least 0 | such as 1
3 | guard UUID --reset --failed=01 | --failed: must be a whole number of at least 0 | such as 1
3 | guard UUID --reset --starts= | --starts: must be a whole number of at least 0 | such as 1
3 | ONLINE --device env:DEVICE --hashed-pin env:BAD_PIN | --hashed-pin.*base64 | c2VjcmV0
2 | ONLINE | device | --device @FILE
3 | ONLINE --device @not.json | --device.*JSON | browserType
3 | ONLINE --device @missing.json | --device.*missing | @FILE
3 | ONLINE --device env:NO_FONTS | --device\.fonts.*at least one | Arial
3 | ONLINE --device env:LATEST | --device\.browserVersion.*digits | 128\.0
3 | GIVEN --external-ref= | --external-ref.*1 to 64 | order-2291
3 | GIVEN --external-ref ASTRAL_65 | --external-ref.*1 to 64 | order-2291
3 | GIVEN --base-url http://vaults.example.com | --base-url.*http | https://vaults
3 | GIVEN --base-url http://localhost.example.com | --base-url.*http | https:
3 | GIVEN --base-url vaults | --base-url.*URL | https:
3 | GIVEN --base-url https://a:b@example.com | --base-url | https:
2 | VAULTSVC_BASE_URL= GIVEN | base URL | --base-url.*VAULTSVC_BASE_URL
2 | VAULTSVC_APP_UUID= GIVEN | uuid | --app-uuid.*VAULTSVC_APP_UUID
2 | VAULTSVC_API_KEY= GIVEN | key | --api-key.*VAULTSVC_API_KEY
3 | GIVEN --app-uuid mine | --app-uuid.*36 | [0-9a-f]{8}-
3 | GIVEN --timeout 30 | --timeout | 30s
3 | GIVEN --rate fast | --rate.*whole number | at least 0
2 | GIVEN --state mysql://db/vaults | --state.*directory | postgres://user@host/database
3 | VAULTSVC_STATE_KEY=secret GIVEN | VAULTSVC_STATE_KEY: must be 32 bytes | openssl rand
2 | GIVEN --field card.number | --field card\.number: NO_FIELD | vault\.creditCard\.number
2 | GIVEN -o xml | --output.*must be one of | table, json, ndjson
3 | GIVEN --out - | --out: - is no file, and not standard output | name a place
3 | GIVEN --credentials-out - | --credentials-out: - is no file | name a place
3 | state backup - | FILE: - is no file | name a place
3 | sandbox start --ready-file state/vault.db | --ready-file: .*own files | name another
2 | sandbox start --profile x/../../y | profile x/../../y does not belong to a sandbox | another name
2 | import UUID | --credentials | @FILE
2 | import UUID --credentials env:PAIR | --kind | generic/offline
3 | import --file not.json | --file line 1.*JSON | "uuid"
2 | ack | vault is missing.*--all | vault ack
3 | GIVEN --jwt env:BEARER | --jwt: must be only a token | without Bearer
3 | VAULTSVC_JWT=eyJ0.eyJz.c2ln\nx GIVEN | VAULTSVC_JWT: must be only a token | on one line
3 | GIVEN --proxy env:SOCKS | --proxy: must be the http: or https: URL | proxy\.example\.com:3128
3 | GIVEN --ca half.json | --ca: half\.json must .* valid certificates in PEM | openssl x509
3 | GIVEN --ca no.pem | --ca: cannot read .*ENOENT | a relative path \(FILE`).concat(
  // Of the contents of a vault, and of the extended operations.
  rows(String.raw`
2 | create --content env:PAIR | --kind is missing | generic/offline
2 | create --kind generic/offline | --content is missing | @FILE
2 | CARD | the card is missing | --card @FILE
2 | CARD --card-number env:NUMBER | the card is missing \(--card-name, --expiry\) | --expiry 04/29
2 | CARD --card env:CARD --expiry 04/29 | --card cannot be used with --expiry | vault create --help
2 | create --kind generic/offline --card-number env:NUMBER | holds no card | --content @FILE
2 | CARD --content x | holds a card | --card @FILE
2 | NOTE --card y | --content cannot be used with --card | vault create --help
3 | CARD --card env:BAD_LUHN | --card\.number.*Luhn | RIGHT_CARD
3 | CARD --card env:SEVEN | --card\.number.*8 to 19 | RIGHT_CARD
3 | CARD --card env:LETTER | --card\.number | RIGHT_CARD
3 | CARD --card env:LONG_NAME | --card\.name.*at most 30 | RIGHT_CARD
3 | CARD --card env:MONTH_13 | --card\.expiryMonth.*1 to 12 | RIGHT_CARD
3 | CARD --card env:YEAR_29 | --card\.expiryYear.*4 digits | RIGHT_CARD
3 | CARD --card env:NO_YEAR | --card\.expiryYear.*is missing | RIGHT_CARD
3 | CARD --card @not.json | --card: not valid JSON | RIGHT_CARD
3 | CARD --card-number env:BAD_NUMBER | --card-number.*Luhn | PARTS
3 | CARD --expiry 04/029 | --expiry.*such as 04/29 | PARTS
3 | CARD --card-name ␣␣ | --card-name: must not be empty | PARTS
3 | CARD --expiry 13/2029 | --expiry.*1 to 12 | PARTS
3 | create --kind generic/offline --content @gone | --content.*ENOENT | @FILE
3 | NOTE --metadata team | --metadata.*KEY=VALUE | cost-center=
3 | NOTE --metadata team=ü | --metadata: "team" must have values | EU-West
3 | NOTE --metadata a.b=c | --metadata: "a\.b" must have keys | EU-West
3 | NOTE --metadata a=b --metadata a=c | --metadata: "a" must be KEY=VALUE, .* once | cost-center=
3 | NOTE PAIRS_51 | --metadata.*at most 50 entries | cost-center=
2 | NOTE --hashed-pin env:PAIR | --hashed-pin is for online vaults only | --kind
2 | ONLINE_NOTE --max-usage 3 | --max-usage is for offline vaults only | --kind
2 | ONLINE_NOTE | device | --device @FILE
3 | ONLINE_NOTE --hashed-pin env:BAD_PIN | --hashed-pin.*base64 | c2Vj
3 | NOTE --expiry-date 2020-01-01T00:00:00Z | --expiry-date: must be a future date-time | 2029-04-30T
3 | NOTE --expiry-date 2029-04-30 | --expiry-date: must be a future date-time | 2029-04-30T
3 | NOTE --max-usage 0 | --max-usage.*at least 1 | such as 3
2 | info UUID | --kind is needed | generic/offline
2 | info | a vault is missing | vault info --help
2 | import | a vault is missing .*, or --file\n | vault import --help
2 | ack --exchange x | vault: --exchange requires one vault\n | vault ack --help
2 | delete --yes | a vault is missing | vault delete --help`),
);

describe("bad input", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab([{ ...offlineCard, uuid }, onlineCard]);
  });

  it.concurrent.each(badInputs)(
    "%s: %s is told with flag, rule and example; nothing sent, nothing written",
    async (exit, line = "", says = "", example = "") => {
      // A new one for each case: nothing may be written on it.
      const machine = lab.machine({ env: variables });
      machine.file("not.json", `{"payload": "${number}`);
      machine.file("half.json", { encryptedData: "a" });
      machine.file("empty.json", "");
      const words = expanded(line)
        .split(" ")
        .map((word) => word.replaceAll("␣", " "));
      const settings = words.filter((word) => word.startsWith("VAULTSVC_"));
      const args = words.slice(settings.length);
      const env = Object.fromEntries(
        settings.map((word) => word.replace(String.raw`\n`, "\n").split("=")),
      ) as Record<string, string>;

      const result = await machine.vaultWith({ env, input: variables.CARD }, ...args);
      expectExit(result, Number(exit));
      expect(result.stdout).toBe("");
      expect(result.stderr).toMatch(new RegExp(expanded(says)));
      expect(result.stderr).toMatch(new RegExp(expanded(example)));
      expect(result.stderr).not.toMatch(secrets);
      const asked = { env: { ...env, VAULTSVC_OUTPUT: "json" }, input: variables.CARD };
      const json = await machine.vaultWith(asked, ...args);
      if (!args.includes("xml")) expectError(json, exit === "2" ? "usage" : "invalid-input");
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
