import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, it } from "vitest";
import { fingerprint } from "../../../src/protocol/fingerprint.ts";
import { parseGivenKey } from "../../../src/secrets/keys.ts";
import type { SealingKey } from "../../../src/secrets/sealing.ts";
import { Outbox, type Entry } from "../../../src/store/postgres/outbox.ts";
import { begun, VaultRows, type VaultRow } from "../../../src/store/steps/rows.ts";
import { pair, service } from "../../contract/store-fixture.ts";
import { tempDir } from "../../support/cleanup.ts";

const key = parseGivenKey("7".repeat(64), "--state-key");
const [state, another] = ["11111111", "22222222"].map((id) => `${id}-0000-4000-8000-000000000000`);
const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-000000000001";
const address = "postgres://me@db:5432/v";
const day = 86_400_000;
const now = Date.parse("2026-11-21T10:00:00Z");

let directory: string;
let warnings: string[];
beforeEach(() => {
  directory = tempDir("outbox");
  warnings = [];
});
const warn = (message: string): void => void warnings.push(message);
/** As another process has it. */
const open = (keys = [key], shown = address): Outbox => {
  const find = async (id: string): Promise<SealingKey | null> =>
    await Promise.resolve(keys.find((each) => each.id === id) ?? null);
  return new Outbox({ directory, warn, shown, keyring: { find } });
};
const names = (of = uuid): string[] => readdirSync(join(directory, "outbox", of));

/** Keeps an exchange that is called by the payload of its new pair. */
function keep(
  name: string,
  at: number,
  { of = uuid, where = address, id = state ?? "" } = {},
): void {
  const time = new Date(at).toISOString();
  const vault = { lastGeneration: 0, forgotten: false } as VaultRow;
  const rows = new VaultRows({ service, uuid: of, at: time, key, vault });
  const [base, made] = [pair("old"), pair(name)].map((each) =>
    rows.add(each, { standing: "imported", device: null, elsewhere: true }),
  );
  open([key], where).keep(id, rows, {
    ...begun,
    id: name,
    operation: "get",
    kind: "generic/offline",
    state: "ending",
    externalRef: "",
    baseGeneration: base?.generation ?? 0,
    newGeneration: made?.generation ?? 0,
    startedAt: time,
    token: rows.seal("exchanges.token", name, `token-of-${name}`),
    by: null,
  });
}

/** What is offered to a vault of the state, and how that ended. */
async function offered({ here = state ?? "", keys = [key] } = {}): Promise<string[]> {
  const offers: string[] = [];
  await open(keys).offer(
    {
      service,
      uuid,
      stored: async () => await Promise.resolve(new VaultRows({ service, uuid, at: "" })),
      adopt: async ({ exchangeId }) => {
        offers.push(`adopt ${exchangeId}`);
        return await Promise.resolve("open");
      },
      recordPair: async ({ credentials }) => {
        offers.push(`record ${credentials.payload}`);
        return await Promise.resolve(1);
      },
    },
    { state: here, predecessors: [] },
  );
  return offers;
}

it("an entry is sealed, private, named by its vault, and needs no key to be told apart", () => {
  keep("first", now);
  const [name = ""] = names();
  expect(name).toBe(`${state}.${now}.${fingerprint(uuid, pair("first"))}.json`);
  const path = join(directory, "outbox", uuid, name);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  for (const secret of Object.values(pair("first")))
    expect(readFileSync(path, "utf8")).not.toContain(secret);
});

it("older ones of a vault go after 7 days by the database's clock, the newest one never, whatever vaults are used since", () => {
  const other = uuid.replace(/1$/, "2");
  keep("first", now);
  keep("other", now, { of: other });
  keep("second", now + 6 * day);
  const kept = (id: string): number[] =>
    names(id).map((name) => (Number(name.split(".")[1]) - now) / day);
  expect(kept(uuid).toSorted()).toEqual([0, 6]);
  // The clock of the database is set ahead, and back.
  keep("third", now + 20 * day);
  expect(kept(uuid)).toEqual([20]);
  keep("fourth", now + 7 * day);
  expect(open().of(uuid)[0]).toMatchObject({ fingerprint: fingerprint(uuid, pair("fourth")) });
  expect(kept(other)).toEqual([0]);
  for (let n = 0; n < 40; n += 1) keep(`more ${n}`, now + 30 * day + n);
  expect(kept(uuid)).toHaveLength(16);
});

it("the newest one is offered, of a state that came here, or was at the address", async () => {
  keep("first", now);
  keep("second", now + 1);
  expect(await offered()).toEqual(["adopt second"]);
  expect(await offered({ here: another ?? "" })).toEqual([`record ${pair("second").payload}`]);
  keep("elsewhere", now + 2, { id: another ?? "", where: "postgres://me@other:5432/v" });
  expect(await offered()).toEqual(["adopt second"]);
});

it("one whose key is missing stops its vault, names the key and the file, and is out of the way elsewhere", async () => {
  keep("first", now);
  const refused = offered({ keys: [] });
  await expect(refused).rejects.toMatchObject({ code: "state", facts: { uuid } });
  await expect(refused).rejects.toThrow(new RegExp(`encrypted with key ${key.id}, which is not`));
  await expect(refused).rejects.toHaveProperty(
    "facts.hint",
    expect.stringContaining(`move ${join(directory, "outbox", uuid)} elsewhere`),
  );
});

it("one that is damaged is moved aside with a warning, and the one before is offered from then on", async () => {
  keep("first", now);
  keep("second", now + 1);
  const [entry] = open().of(uuid) as [Entry];
  const path = join(
    directory,
    "outbox",
    uuid,
    names().find((name) => name.includes(entry.fingerprint)) ?? "",
  );
  for (const text of ["", "{}", `{"service": "${service}", "document": "s1:${key.id}:x"}`]) {
    writeFileSync(path, text);
    warnings.length = 0;
    expect(await offered()).toEqual([]);
    expect(warnings).toEqual([expect.stringContaining(`is ${path}.damaged now`)]);
  }
  expect(await offered()).toEqual(["adopt first"]);
});
