import { describe, expect, test } from "vitest";
import * as flags from "../../src/audit/flags.ts";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { line, log, moment, replayText, rows, rules, vaultUuid } from "./support.ts";

const parsers: Record<string, (text: string) => unknown> = {
  "--map": flags.parseMap,
  "--action": flags.parseAction,
  "--outcome": flags.parseOutcome,
  "--where": flags.parseWhere,
  "--what-if": flags.parseWhatIf,
  "--zone": flags.parseZone,
};

test.each(
  rows(`
--map     | time=a b,vault=a=b,reason=r,outcome=none | {"time":"a b","vault":"a=b","reason":"r","outcome":"none"}
--action  | op=7=READ_VAULT              | {"op=7":"READ_VAULT"}
--outcome | Bounced=FAILURE              | {"bounced":"failure"}
--where   | ref=a=b                      | {"key":"ref","value":"a=b"}
--what-if | lock-after-unacked=6         | {"text":"lock-after-unacked=6","limits":{"unackedStarts":6}}
--zone    | Europe/Berlin                | "Europe/Berlin"
--zone    | -0530                        | "-0530"`),
)("%s %s", (flag = "", text = "", parsed = "") => {
  expect(parsers[flag]?.(text)).toEqual(JSON.parse(parsed));
});

test.each(
  rows(`
--map     |                              | "" is not ROLE=COLUMN
--map     | time=                        | "time=" is not ROLE=COLUMN
--map     | time=a,                      | "" is not ROLE=COLUMN
--map     | __proto__=a                  | "__proto__=a" is not ROLE=COLUMN
--map     | application=a                | "application=a" is not ROLE=COLUMN
--map     | time=none                    | "time=none" is not ROLE=COLUMN
--action  | READ_VAULT                   | "READ_VAULT" is not OLD=NEW
--action  | OPENED=__proto__             | "OPENED=__proto__" is not OLD=NEW
--outcome | WARN=perhaps                 | "warn=perhaps" is not VALUE=success or VALUE=failure
--where   | toString=a                   | "toString=a" is not KEY=VALUE
--where   | ref                          | "ref" is not KEY=VALUE
--zone    | Europe/Atlantis              | "Europe/Atlantis" is no time zone
--zone    | IST                          | "IST" is no time zone
--zone    | +25:00                       | "+25:00" is no time zone`),
)("%s %s is refused", (flag = "", text = "", message = "") => {
  expect(() => parsers[flag]?.(text)).toThrow(`${flag}: ${message}`);
});

const of = (vault: number) => ({ vaultUuid: vaultUuid(vault) });

describe("--where", () => {
  /** Vault 1 is locked by one client; the other one uses vault 2; vault 3 has both. */
  const endpoint = "POST /vault/get-start";
  const items = [
    ...log("C0w 2:S10w"),
    ...log("F1c F2c F3c", { endpoint }),
    ...log("3:S11c", { endpoint, ipAddress: "10.0.0.8" }),
    ...log("3:S12w", { ipAddress: "10.0.0.7" }),
  ].join("\n");
  const selectedBy = async (texts: string, more: Partial<ReplayOptions> = {}, by?: "stream") => {
    const where = texts.split(" ").map(flags.parseWhere);
    return await replayText(items, { where, ...more }, by);
  };

  test.each(
    rows(`
ref=cron             | 1 3
ip=10.0.0            |
ip=10.*              | 1 2 3
ip=*.7               | 1 3
ref=c*r*n            | 1 3
ref=c*o*o*n          |
ref=cr*ron           |
endpoint=*get-start* | 1 3
ref=cron ip=10.0.0.7 | 1
ref=web ip=10.0.0.7  | 3
ref=CRON             |`),
  )("%s", async (where = "", expected) => {
    const all = (await replayText(items)).reports;
    for (const by of [undefined, "stream"] as const) {
      const { result, reports } = await selectedBy(where, {}, by);
      const numbers = reports.map(({ uuid }) => uuid.slice(-1)).toSorted();
      expect(numbers.join(" ")).toBe(expected);
      // They have all their items.
      expect(reports).toEqual(all.filter(({ uuid }) => numbers.includes(uuid.slice(-1))));
      expect(result.summary).toMatchObject({ items: 7, vaultCount: numbers.length });
    }
  });

  test("is stated with the answer, and a column that no input has is noted", async () => {
    const text = async (where: string) => (await selectedBy(where)).result.summary.found.text;
    expect(await text("ref=cron")).toMatch(
      /^1 vault locked by reference cron .* 2 of 3 vaults have an item with ref=cron\.$/,
    );
    expect(await text("ref=none")).toBe("0 of 3 vaults have an item with ref=none.");
    expect((await selectedBy("app=x")).result.summary.warnings.join()).toMatch(
      /No column is known for --where app=…; name it \(--map app/,
    );
    const span = { since: Date.parse(moment(1)), until: Date.parse(moment(10)) };
    expect((await selectedBy("ip=10.0.0.8", span)).reports).toMatchObject([{ uuid: vaultUuid(2) }]);
  });
});

describe("--what-if", () => {
  test.each(
    rows(`
ignores what items say of locks    | lock-after-failed=5  | F1 F2 K3          | ok 0 3
takes a start that locked for one  | lock-after-unacked=6 | S1 S2 S3 S4 N5    | at-risk 5 0
does not know what a lock refused  | lock-after-failed=5  | F1 F2 F3 L4 L5 L6 | unknown 0 3`),
  )("%s", async (_what, change = "", letters, expected) => {
    const lines = log(`C0 2:C0 ${letters}`).join("\n");
    const { result } = await replayText(lines, { whatIf: flags.parseWhatIf(change) });
    expect(result.summary.whatIf).toMatchObject({ change, unchanged: 1, moreChanged: 0 });
    const changed = result.summary.whatIf?.vaults.map(({ before, after }) =>
      [before.verdict, after.verdict, after.unackedStarts, after.failedAttempts].join(" "),
    );
    expect(changed).toEqual([`locked ${expected}`]);
  });
});

/** Replays by other words, and returns verdicts by the number of the vault. */
const verdictsIn = async (lines: string[], more: Partial<typeof rules> = {}) => {
  const { result, reports } = await replayText(lines.join("\n"), { rules: { ...rules, ...more } });
  const verdicts = reports.map(({ uuid, verdict }) => `${uuid.at(-1)} ${verdict}`).toSorted();
  return { verdicts: verdicts.join(", "), reports, summary: result.summary };
};

describe("--action", () => {
  const opened = (at: number, vault: number): string[] => [
    line(at, "Wallet opened", of(vault)),
    line(at + 1, "Wallet open confirmed", of(vault)),
  ];
  const refused = (at: number): string =>
    line(at, "Wallet opened", { ...of(2), outcome: "FAILURE" });
  const actions = {
    ...flags.parseAction("Wallet opened=READ_VAULT"),
    ...flags.parseAction("Wallet open confirmed=acknowledgeReadVault"),
  };
  /** The first vault is locked by what is understood, the second one by what is not; the others are fine. */
  const items = [
    ...log("F1 F2 F3 3:C50 4:C70"),
    ...[10, 20, 30].flatMap((at) => opened(at, 2)),
    ...[40, 41, 42].map(refused),
    ...opened(60, 3),
  ];

  test("says what actions mean that make no vault ok without it", async () => {
    const { verdicts, reports, summary } = await verdictsIn(items);
    expect(verdicts).toBe("1 locked, 2 unknown, 3 unknown, 4 ok");
    expect(summary).toMatchObject({
      warnings: [
        /^Actions that were not understood: "Wallet opened" ×7, "Wallet open confirmed" ×4\. Say what .*--action OLD=NEW.*--map action=COLUMN/,
      ],
      found: { text: /^1 vault locked.* Also 2 without a verdict\.$/ },
    });
    expect(reports.slice(1, 3).map(({ certainty, reason }) => `${certainty}, ${reason}`)).toEqual([
      "unknown, not understood: 2 of its 3 items",
      "unknown, none of its items has a known action",
    ]);
    const odd = [line(80, "Wallet opened: FAILED", of(5)), line(81, "WALLET-OPENED", of(6))];
    const told = await verdictsIn([...items, ...odd], { actions });
    expect(told.verdicts).toBe("1 locked, 2 locked, 3 ok, 4 ok, 5 ok, 6 open-exchange");
    expect(told.summary).toMatchObject({ rules: { actions }, warnings: [] });
  });

  test("is asked for with how many items were not understood, whatever else they say", async () => {
    const both = [0, 1, 2].flatMap((at) => [
      line(at, "Wallet opened"),
      line(at + 0.5, "Wallet opened", { outcome: "FAILED", description: "bad credentials" }),
    ]);
    const { summary } = await verdictsIn([line(-1, "CREATE_VAULT"), ...both]);
    expect(summary.warnings.join()).toContain('not understood: "Wallet opened" ×6. Say what');
  });

  test("may ignore one; an unknown one may have been a start, so that no lock by time is certain", async () => {
    const listed = [line(0, "CREATE_VAULT"), line(1, "LIST_VAULTS")];
    expect((await verdictsIn(listed)).verdicts).toBe("1 unknown");
    const ignored = flags.parseAction("LIST_VAULTS=ignore");
    const { verdicts, summary } = await verdictsIn(listed, { actions: ignored });
    expect([verdicts, summary.applicationItems]).toEqual(["1 ok", 1]);
    const days = 86_400;
    const idle = [line(-800 * days, "CREATE_VAULT"), line(-400 * days, "Wallet opened")];
    expect((await verdictsIn(idle)).verdicts).toBe("1 unknown");
    const later = [...idle, line(0, "CREATE_VAULT", of(2))];
    expect((await verdictsIn(later)).verdicts).toBe("1 locked, 2 ok");
  });

  test.each(["path", "stream"] as const)(
    "is not needed where the endpoint tells: %s",
    async (by) => {
      const base = "/vaultsvc/v1-2/vault/credit-card/offline";
      const call = (at: number, endpoint: string, action = "VAULT_ACCESS", more = {}): string =>
        line(at, action, { endpoint, ...more });
      const start = `POST ${base}/${vaultUuid(1)}/get-start`;
      const lines = [
        call(0, `POST ${base}`),
        call(1, start),
        call(2, `PUT ${base}/${vaultUuid(1)}/get-end HTTP/1.1`),
        ...[3, 4, 5].map((at) => call(at, start, undefined, { outcome: "FAILURE" })),
        call(6, start, "API_KEY_CHECK"),
        call(7, `GET ${base}/${vaultUuid(1)}/info`, "READ_VAULT_INFO"),
      ].join("\n");
      const { result, reports } = await replayText(lines, { timeline: true }, by);
      expect(reports[0]).toMatchObject({ verdict: "locked", cause: { rule: "failed-attempts" } });
      const events = reports[0]?.timeline
        ?.map(({ item, locks }) => `${item.event}${locks ? " locks" : ""}`)
        .join(", ");
      expect(events).toBe("create, read, ack-read, refused, refused, refused locks, other");
      expect(result.summary).toMatchObject({ applicationItems: 1 });
      expect(result.summary.warnings).toContain(
        'Actions without a known name count by the endpoint of the call: "VAULT_ACCESS" ×6.',
      );
    },
  );
});

test("--outcome says what an outcome means that is neither without it", async () => {
  const bounced = [1, 2, 3].map((at) => line(at, "READ_VAULT", { outcome: "Bounced" }));
  const told = async (meaning = "") =>
    await verdictsIn([line(0, "CREATE_VAULT"), ...bounced], {
      outcomes: meaning === "" ? {} : flags.parseOutcome(meaning),
    });
  const { verdicts, summary } = await told();
  expect(verdicts).toBe("1 unknown");
  expect(summary.warnings).toMatchObject([/"Bounced" ×3.*--outcome VALUE=success/]);
  expect((await told("BOUNCED=success")).verdicts).toBe("1 open-exchange");
  const failed = await told("BOUNCED=failure");
  expect([failed.verdicts, failed.summary.warnings]).toEqual(["1 locked", []]);
});
