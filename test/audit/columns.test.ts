import { expect, test } from "vitest";
import type { ReplayOptions } from "../../src/audit/replay.ts";
import { parseMap } from "../../src/audit/flags.ts";
import type { Column } from "../../src/documents/audit.ts";
import { replayText, rows, uuid } from "./support.ts";

/** Values of the records of a log of a few vaults, by number: each third call is refused. Other words stand for themselves. */
const values: Record<string, (n: number) => string | undefined> = {
  at: (n) => new Date(Date.UTC(2026, 10, 20) + n * 60_000).toISOString(),
  late: (n) => values["at"]?.(n + 500),
  clock: (n) => values["at"]?.(n)?.slice(11, 19),
  zoneless: (n) => values["at"]?.(n)?.slice(0, 19),
  perVault: (n) => values["at"]?.(n % 4),
  action: (n) => ["READ_VAULT", "ACKNOWLEDGE_READ_VAULT", "UPDATE_VAULT"][n % 3],
  spoken: (n) => values["action"]?.(n)?.toLowerCase().replaceAll("_", " "),
  one: (n) => (n === 0 ? "READ_VAULT" : "bulk"),
  vault: (n) => uuid(n % 4, "7"),
  id: (n) => uuid(n, "a"),
  twice: (n) => uuid(Math.max(n, 1), "a"),
  user: () => uuid(0, "9"),
  session: (n) => uuid(n % 6, "8"),
  path: (n) =>
    `POST /vaultsvc/v1-2/vault/credit-card/offline/${values["vault"]?.(n) ?? ""}/get-start`,
  appPath: (n) =>
    `/vaultsvc/applications/${uuid(0, "9")}/vault/generic/${values["vault"]?.(n) ?? ""}/get-start`,
  method: (n) => (n % 2 > 0 ? "OPTIONS" : "POST"),
  ip: (n) => `10.0.0.${n}`,
  forwarded: (n) => `10.0.0.${n}, 10.1.1.1`,
  number: String,
  size: (n) => String(200 + n),
  word: (n) => (n % 3 === 2 ? "FAILURE" : "SUCCESS"),
  status: (n) => (n % 3 === 2 ? "403" : "200"),
  good: (n) => String(n % 3 !== 2),
  bad: (n) => String(n % 3 === 2),
  errors: (n) => (n % 3 === 2 ? String(50_000 + n) : "0"),
  code: (n) => (n % 3 === 2 ? "7" : "0"),
  unknown: (n) => (n % 3 === 2 ? "qwx-1" : "qwx-2"),
  failure: (n) => (n % 3 === 2 ? "AccessDenied" : undefined),
  fault: (n) => (n % 3 === 2 ? "E17" : undefined),
  reason: (n) => (n % 3 === 2 ? "bad credentials" : undefined),
  flag: (n) => String(n % 2 > 0),
  level: (n) => (n % 2 > 0 ? "INFO" : "WARN"),
  gate: (n) => (n % 3 === 2 ? "FAIL" : "PASS"),
  hook: (n) => (n % 2 > 0 ? "FAIL" : "PASS"),
  call: (n) => `req(1234, ${n})`,
  python: (n) =>
    `datetime.datetime(2026, 11, 20, 14, 2, ${n}, 45000, tzinfo=datetime.timezone(datetime.timedelta(days=-1, seconds=68400)))`,
  none: () => undefined,
};

/** What is chosen for records of columns like `time=at level=level port=443`: columns like `outcome=denied(inverted)`, of `wanted` only. */
async function chosen(
  columns: string,
  wanted = "",
  options: Partial<ReplayOptions> = {},
  count = 12,
) {
  const made = `time=at action=action vault=vault ${columns}`.split(/ (?=[^ ]+=)/).map((column) => {
    const [, name = "", value = ""] = /^([^=]*)=(.*)$/.exec(column) ?? [];
    return { name, of: values[value] ?? (() => value) };
  });
  const log = Array.from({ length: count }, (_, n) =>
    JSON.stringify(Object.fromEntries(made.map(({ name, of }) => [name, of(n)]))),
  );
  const { result } = await replayText(`${log.join("\n")}\n`, options);
  const { inputs, warnings } = result.summary;
  const known = (inputs[0]?.columns ?? {}) as Record<string, Column>;
  const told = wanted.split(" ").map((one) => {
    const role = one.replace(/=.*/, "");
    const { name = "-", by = "name", inverted, and } = known[role] ?? {};
    return `${role}=${name}${and === undefined ? "" : `+${and}`}${by === "name" ? "" : `(${by})`}${inverted === true ? "(inverted)" : ""}`;
  });
  return { told: told.join(" "), warnings };
}

test.each(
  rows(`
time        | at        | transactionTime timestamp createdAt created_at @timestamp Time event.time occurred-at ts _source.time timeMs
time        | at        | result._time time.$date detail.eventTime __REALTIME_TIMESTAMP Zeitstempel Horodatage fecha_hora receivedAt _messageTime x
action      | action    | action event type auditItem EVENT_TYPE operation _source.action event.action detail.eventName Aktion Acción x
vault       | vault     | vaultUuid vault_id vault.uuid walletUdid Vault_UUID wallet.id targetId data.vaultUuid resourceId a.b.vaultUuid
vault       | vault     | Tresor-ID Bóveda coffre x
outcome     | word      | outcome result status responseStatus.status success Ergebnis Résultat resultado x
outcome     | status    | outcome status statusCode http_status sc-status responseCode
outcome     | good      | success ok isSuccess succeeded outcome status erfolg
outcome     | unknown   | outcome result status success
outcome     | failure   | errorCode error error_message exception detail.errorCode
ip          | ip        | ip ipAddress requestor_IP remoteAddr source.ip client client_ip X-Forwarded-For sourceIPAddress IP-Adresse x
ref         | reference | externalRef external_reference client_reference ref correlationId requestParameters.externalRef
endpoint    | path      | endpoint http_endpoint url path request requestUri x
app         | billing   | application applicationUUID app.id clientId appUuid Anwendung
id          | id        | id uuid itemId audit_item_id eventId _id insertId
reason      | as usual  | description message details reason resultDescription body.stringValue Grund motif`),
)("%s: %s in %s", async (role = "", value = "", names = "") => {
  for (const name of names.split(" ")) {
    const others = ["time", "action", "vault"].includes(role) ? `${role}=none ` : "";
    const { told } = await chosen(`${others}${name}=${value}`, role);
    expect(told.replace("(value)", "")).toBe(`${role}=${name}`);
  }
});

test.each(
  rows(`
no outcome by its name         | readOnly=false archived=flag port=443 bytes=size level=level retry=code | outcome=-
what is true of a failure      | denied=bad                                          | outcome=denied(inverted)
a code of which 0 is good      | resultCode=code                                     | outcome=resultCode(inverted)
a code that is words           | resultType=word                                     | outcome=resultType
codes of errors and 0          | resultType=errors                                   | outcome=resultType(inverted)
what varies, of two outcomes   | httpStatus=200 success=good                         | outcome=success
words of both kinds            | gate=gate                                           | outcome=gate(value)
words that texts contradict    | webhook=hook reason=reason                          | outcome=- reason=reason
the state of a thing           | status=ACTIVE                                       | outcome=-
the error that is understood   | errorCode=fault errorMessage=reason                 | outcome=errorMessage
why it failed is also a reason | error=failure                                       | outcome=error reason=error
reasons before other texts     | message=vault read reason=reason                    | reason=reason
the event before its arrival   | time=none @timestamp=late eventTime=at              | time=eventTime
arrival first                  | time=none ingestionTime=late receivedAt=late ts=at  | time=ts
what varies, of two times      | time=2026-11-20T00:00:00Z @timestamp=at             | time=@timestamp
a date and a time of day       | time=clock date=3.11.2026                           | time=date+time
such ones of one day, not their arrival | time=clock date=3.11.2026 receivedAt=at    | time=date+time
dates of a vault               | time=none dateCreated=perVault createdAt=perVault ts=at expiryDate=late | time=ts
one time of all                | time=2026-11-20T00:00:00Z                           | time=time
a name without times           | time=number timestamp=at                            | time=timestamp
a call with a number of four   | time=call timestamp=at                              | time=timestamp
the path before a user         | vault=none subjectId=user endpoint=path             | vault=endpoint(value)
what the path has              | vault=none userId=session x=vault endpoint=path     | vault=x(value)
no user, session or trace      | vault=none userId=user sessionId=session x=vault    | vault=x(value)
no id of a user, deeper        | vault=none user.id=session x=vault                  | vault=x(value)
a target that varies           | vault=none subjectId=user objectId=vault            | vault=objectId
the vault in a path            | vault=none url=appPath                              | vault=url(value) endpoint=url
who calls, not who logs        | host=10.9.9.9 server=10.9.9.8 client=ip             | ip=client
a machine of the log alone     | host=10.9.9.9 node_ip=10.9.9.8 host.ip=10.9.9.7 podIP=10.9.9.6 | ip=-
an outcome with its reason     | outcome.result=word outcome.reason=reason           | outcome=outcome.result reason=outcome.reason
the first of those who forward | remoteAddr=10.1.1.1 x-forwarded-for=forwarded       | ip=x-forwarded-for
an unknown action and vault    | action=THING vault=vault-1                          | action=action vault=vault
the action in the description  | action=none description=action                      | action=description(value)
where known actions are        | action=one kind=action                              | action=kind
the method of the call         | action=event method=method url=path                 | action=method(value) endpoint=url vault=vault
the call itself                | action=none vault=none url=path                     | action=url(value) vault=url(value) endpoint=url
a uuid that repeats            | vault=none uuid=vault                               | vault=uuid(value)
a uuid that does not           | vault=none uuid=id x=vault                          | vault=x(value) id=uuid
ids of which one comes twice   | eventId=twice                                       | id=eventId app=-
no item by its user            | userId=session                                      | id=-
an item by its request         | requestId=twice                                     | id=requestId
addresses with another meaning | reference=ip outcome=ip app=ip                      | ref=reference outcome=outcome app=app ip=-`),
)("%s: %s", async (_what, columns = "", expected = "") => {
  expect((await chosen(columns, expected)).told).toBe(expected);
});

test("all columns are known by their values alone", async () => {
  const none = "time=none action=none vault=none";
  const made = `${none} a=id b=at c=spoken d=word e=vault f=user g=order h=ip i=path`;
  const expected =
    "time=b(value) action=c(value) vault=e(value) outcome=d(value) ip=h(value) endpoint=i(value) app=f(value) id=a(value)";
  expect((await chosen(made, expected)).told).toBe(expected);
  expect((await chosen(`${none} b=at c=action e=vault`, "vault", {}, 1)).told).toBe(
    "vault=e(value)",
  );
});

const iso =
  "have it exported with times in ISO 8601, or format that column like 2026-11-20T14:02:11Z";

test.each(
  rows(`
host=h dateCreated=perVault endpoint=path outcome=word |
_time=at ts=at outcome=word |
Time_(UTC)=zoneless time=none outcome=word |
time=zoneless tz=Europe/Berlin outcome=word |
outcome=word @timestamp=late | time is taken for time; --map time=@timestamp takes @timestamp
outcome=word vault=none subjectId=user url=path | url is taken for vault; --map vault=subjectId takes subjectId
outcome=SUCCESS gate=gate | outcome is taken for outcome; --map outcome=gate takes gate
level=level             | no column is taken for outcome; --map outcome=level takes level
outcome=word time=zoneless | times of time, like "2026-11-20T00:00:00", have no time zone and are read as UTC; --zone names theirs
outcome=word time=2026-11-20 01:00:00 CET | times of time, like "2026-11-20 01:00:00 CET", are read by a zone that may mean others; export UTC if others are meant
outcome=word time=3/11/2026 10:11Z | times of time, like "3/11/2026 10:11Z", are read with the day before the month; if that is wrong, ${iso}`),
)("a choice is said: %s", async (columns = "", sentence) => {
  const said = sentence === "" ? [] : [`items: ${sentence ?? ""}.`];
  expect((await chosen(columns)).warnings).toEqual(said);
});

test("a time that clocks show twice is said", async () => {
  const { warnings } = await chosen("outcome=word time=2026-10-25T02:10:00", "", {
    zone: "Europe/Berlin",
  });
  expect(warnings.join()).toContain('"2026-10-25T02:10:00", come twice');
});

test.each(
  rows(String.raw`
time=none action=none vault=none a=x b!=y | time, action, vault | the columns are a, "b!"; name it with --map time=COLUMN,action=COLUMN,vault=COLUMN
time=Nov 20 14:02:11 ingested=at x=at | time; time holds "Nov 20 14:02:11", which is no whole time in a form that is known | ${iso}; or name another column with --map time=COLUMN
time=date(2026, 11, 20) x=at | time; time holds "date(2026, 11, 20)", which is no whole time in a form that is known | ${iso}; or name another column with --map time=COLUMN
time=python createdAt=at | time; time holds "datetime.datetime(2026, 11, 20, 14, 2, …", which is no whole time in a form that is known | ${iso}; or name another column with --map time=COLUMN
time=2026-11-20 14:02:11 IST | time; time holds "2026-11-20 14:02:11 IST", which is no whole time in a form that is known | ${iso}; or name another column with --map time=COLUMN
vault=none a=user b=user | vault | the columns are time, action, a, b; name it with --map vault=COLUMN
vault=none a=id | vault | the columns are time, action, a; name it with --map vault=COLUMN`),
)("%s is refused", async (columns = "", missing, hint) => {
  const message = `items: found no column for ${missing ?? ""}`;
  const refused = { code: "invalid-input", message, facts: { hint } };
  await expect(chosen(columns)).rejects.toMatchObject(refused);
});

test("names of a megabyte cost nothing", async () => {
  const columns = [".", ".$a", "_", "a."].map((part) => `${part.repeat(50_000)}x=id`).join(" ");
  expect((await chosen(columns, "time", {}, 1)).told).toBe("time=time");
});

const others =
  "sent=late b=user Status=x outcome=word failed=bad archived=flag dateCreated=perVault";
test.each(
  rows(`
time=sent,vault=b,outcome=status | time=sent(--map) vault=b(--map) outcome=Status(--map) action=action
action=action,reason=action | action=action(--map) reason=action(--map)
outcome=none                     | outcome=-
outcome=archived,action=action   | outcome=archived(--map)
outcome=failed                   | outcome=failed(--map)(inverted)
time=dateCreated                 | time=dateCreated(--map)`),
)("--map %s", async (map = "", expected = "") => {
  expect((await chosen(others, expected, { map: parseMap(map) })).told).toBe(expected);
});

test("--map of what is not there, or no time, is refused", async () => {
  const mapped = async (map: string) => await chosen("b=user", "", { map: parseMap(map) });
  const missing = { code: "usage", message: '--map ip=…: items has no column "adress"' };
  await expect(mapped("ip=adress")).rejects.toMatchObject(missing);
  await expect(mapped("time=b")).rejects.toThrow("items: found no column for time; b holds ");
});
