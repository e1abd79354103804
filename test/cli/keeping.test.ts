import { describe, expect, it, test } from "vitest";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import {
  card,
  expectError,
  expectExit,
  expectInStep,
  firstGetArgs,
  offlineCard,
  offlineNote,
  onlineCard,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { hostileWorld, kind as wellBehaved } from "../support/hostile-service.ts";
import type { Lab } from "../support/lab.ts";
import { documentOf, errorOf, type Recovery } from "../support/machine.ts";
import { fingerprint } from "../../src/protocol/fingerprint.ts";
import { namedFingerprint } from "../../src/terminal/secrets.ts";
import { device } from "../support/examples.ts";

const entriesOf = ({ service }: Lab): Pick<KnownVault, "uuid" | "kind" | "credentials">[] =>
  service.vaults.map(({ uuid, kind, credentials }) => ({ uuid, kind, credentials }));

describe.concurrent("ack --token", () => {
  it("of this machine's own exchange is recorded, as the acknowledgement without it", async () => {
    const { lab, machine, uuid, kind } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const { token } = (await machine.exported(uuid)) as Recovery;
    const args = ["--token", "env:TOKEN", "--kind", kind, "--operation", "get", "--json"];
    const done = await machine.okWith({ env: { TOKEN: token } }, "ack", uuid, ...args);
    expect(JSON.parse(done.stdout)).toMatchObject({
      acknowledged: [{ uuid, exchange: { generation: 3 } }],
    });
    expect(await machine.status(uuid)).toMatchObject({ status: "ready", generation: 3 });
    await expectInStep(lab, machine, uuid);
  });

  it("from another machine is sent until it is answered, the answer is a refusal, or no time is left", async () => {
    const { lab, machine, uuid, kind } = await warmLab(offlineNote);
    const elsewhere = lab.machine();
    await machine.ok("get", uuid, "--no-ack");
    const { token } = (await machine.exported(uuid)) as Recovery;
    const ack = async (TOKEN: string, ...wait: string[]) => {
      const call = ["--token", "env:TOKEN", "--kind", kind, "--operation", "get"];
      return await elsewhere.vaultWith({ env: { TOKEN } }, "ack", uuid, ...call, ...wait, "--json");
    };
    lab.faults("get-end:drop-before*all");
    expectError(await ack(token, "--max-wait", "300ms"), "network", /no complete response/);
    lab.service.faults.clear();
    lab.faults("get-end:status=429,retry-after=60*all");
    const why = /still rate limited by the service \(service: .*HTTP 429/;
    expectError(await ack(token, "--max-wait", "300ms"), "rate-limited", why);
    lab.service.faults.clear();
    expectError(await ack(`${token}x`), "service", /did not accept the token/);
    const before = lab.service.sandbox.requests().length;
    lab.faults("get-end:drop-before", "get-end:status=429,retry-after=0");
    expectExit(await ack(token), 0);
    expect(lab.service.sandbox.requests()).toHaveLength(before + 3);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ unackedStarts: 0, pending: null });
  });

  it("from another machine is no refused one where an end call may have been accepted", async () => {
    const { lab, machine, uuid, kind } = await warmLab(offlineNote);
    const elsewhere = lab.machine();
    await machine.ok("get", uuid, "--no-ack");
    const { token } = (await machine.exported(uuid)) as Recovery;
    const args = ["--token", "env:TOKEN", "--kind", kind, "--operation", "get", "--json"];
    lab.faults("get-end:drop-after");
    const ack = await elsewhere.vaultWith({ env: { TOKEN: token } }, "ack", uuid, ...args);
    expectError(ack, "in-doubt", /did not accept the token .* went unanswered/);
    // The next one has seen no answer get lost.
    const again = await elsewhere.vaultWith({ env: { TOKEN: token } }, "ack", uuid, ...args);
    expectError(again, "service", /did not accept the token/);
    expect(errorOf(again).help).toMatch(/the new ones if it was used before: keep both/);
  });

  it.each([{ status: "DONE" }, { status: true }, undefined])(
    "from another machine is sent again after an answer with neither SUCCESS nor ERROR: %j",
    async (responseStatus) => {
      const { service, machine, uuid } = await hostileWorld();
      const acking = ["ack", uuid, "--token", "env:TOKEN", "--kind", "generic/offline"];
      const ack = async (...wait: string[]) =>
        await machine.vaultWith({ env: { TOKEN: "t" } }, ...acking, "--operation", "get", ...wait);
      service.be((_, { send }) => send({ responseStatus }));
      expectExit(await ack("--max-wait", "0s"), 10);
      service.be((_, { send }) => {
        service.be(wellBehaved);
        send({ responseStatus });
      });
      expectExit(await ack("--max-wait", "10s"), 0);
      expect(service.asked.map(({ what }) => what)).toEqual(["get-end", "get-end", "get-end"]);
    },
  );
});

describe.concurrent("ack --all", () => {
  it("says of each pending vault of another service that it is not acknowledged", async () => {
    const here = await openLab(offlineNote);
    const there = await openLab(offlineCard);
    const machine = await here.warmMachine();
    const elsewhere = there.machine({ stateDir: machine.stateDir, configDir: machine.configDir });
    await machine.ok("get", here.vault.uuid, "--no-ack");
    await elsewhere.ok(...firstGetArgs(elsewhere, there.vault), "--no-ack");
    const all = await machine.vault("ack", "--all", "--json");
    expectError(all, "partial");
    expect(JSON.parse(all.stdout)).toMatchObject({
      acknowledged: [{ uuid: here.vault.uuid }],
      failed: [{ uuid: there.vault.uuid, error: { code: "no-credentials" } }],
    });
    expect(all.stdout).toContain("belongs to");
    await elsewhere.ok("ack", "--all");
    await expectInStep(there, elsewhere, there.vault.uuid);
  });
});

test("with nothing to send, ack --all and export --all need no setup, and guard asks nothing", async () => {
  const lab = await openLab(offlineNote);
  const missing = { VAULTSVC_BASE_URL: "", VAULTSVC_APP_UUID: "", VAULTSVC_API_KEY: "" };
  const bare = lab.machine({ env: missing });
  const nothing = await bare.ok("ack", "--all", "--json");
  expect(JSON.parse(nothing.stdout)).toEqual({ acknowledged: [], failed: [] });
  expect((await bare.ok("export", "--all")).stdout).toBe("");
  const machine = await lab.warmMachine();
  await machine.ok("guard", "--all", "--reset", "--unanswered");
  // Now there is something to send, and the settings for it are needed.
  await machine.ok("get", lab.vault.uuid, "--no-ack");
  expectError(await machine.vaultWith({ env: missing }, "ack", "--all", "--json"), "usage");
});

describe.concurrent("import", () => {
  it("of an exported recovery document decides nothing that waits for a decision", async () => {
    const { lab, machine, uuid } = await coldLab({ ...offlineCard, maxUsage: 1 });
    // The last read, masked: held, and not delivered.
    expectExit(await machine.vault(...firstGetArgs(machine, lab.vault)), 11);
    const document = JSON.stringify(await machine.exported(uuid));
    const again = await machine.vault("import", uuid, ...machine.given(document), "--json");
    expectError(again, "pending", /held/);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ usesRemaining: 1 });
    expect(await machine.status(uuid)).toMatchObject({
      status: "held",
      exchange: { delivered: false },
    });
    // Another machine has nothing but the document, and must not use the last read up either: it can read it.
    for (const command of ["import", "get"]) {
      const other = lab.machine();
      const run = await other.vault(command, uuid, ...other.given(document), "--json");
      expectError(run, "pending", /held/);
      expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ usesRemaining: 1 });
    }
    const third = lab.machine();
    expectExit(await third.vault("import", uuid, ...third.given(document)), 11);
    const read = await third.ok("get", uuid, "--discard-pending", "--json");
    expect(documentOf(read).vault).toMatchObject({ creditCard: { number: card.number } });
  });

  it("of a recovery document settles it also where its new pair was imported alone before", async () => {
    const { lab, machine, uuid, kind } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const document = (await machine.exported(uuid)) as Recovery;
    const other = lab.machine();
    await other.ok("import", uuid, ...other.given(document.new, kind));
    const { stderr } = await other.ok("import", uuid, ...other.given(document));
    expect(stderr).toMatch(/^Finished the interrupted get \(exchange \S+\)/m);
    expect(await other.status(uuid)).toMatchObject({ status: "unverified" });
    await expectInStep(lab, other, uuid);
  });

  it.each(["lines", "a list"])(
    "--file as %s: what cannot be imported is told with its place and vault, the rest is imported",
    async (form) => {
      const { lab, machine } = await coldLab([offlineNote, offlineCard, offlineNote]);
      const [first, second, third] = lab.service.vaults as [KnownVault, KnownVault, KnownVault];
      await machine.ok(...firstGetArgs(machine, second));
      const current = await machine.exported(second.uuid);
      // The pair of the second line was superseded by the read.
      const entries = entriesOf(lab);
      const text =
        form === "a list"
          ? JSON.stringify(entries)
          : entries.map((entry) => `${JSON.stringify(entry)}\n\n`).join("");
      const place = form === "a list" ? { item: 2 } : { line: 3 };
      const file = machine.file("vaults", text);
      const json = await machine.vault("import", "--file", file, "--json");
      const told = form === "a list" ? "item 2" : "line 3";
      const why = new RegExp(`1 of 3 .* ${told}, vault ${second.uuid}: .*superseded`);
      expectError(json, "partial", why);
      expect(JSON.parse(json.stdout)).toMatchObject({
        imported: [{ uuid: first.uuid }, { uuid: third.uuid }],
        failed: [{ ...place, uuid: second.uuid, error: { code: "no-credentials" } }],
      });
      for (const { uuid, credentials } of [first, third])
        expect(await machine.exported(uuid)).toEqual(credentials);
      const prints = [first, third].map(({ uuid, credentials }) =>
        namedFingerprint(fingerprint(uuid, credentials)),
      );
      expect(JSON.parse(json.stdout)).toMatchObject({
        imported: prints.map((each) => ({ fingerprint: each, proven: false })),
      });
      expect(await machine.exported(second.uuid)).toEqual(current);
      // Again, as a table: what is recorded already changes nothing.
      const table = await machine.vault("import", "--file", file);
      expectExit(table, 16);
      expect(table.stdout.split("\n")).toEqual([
        ...[first, third].map(({ uuid, kind }, n) => {
          const [, shown = ""] = /^sha256:(.{12})/.exec(prints[n] ?? "") ?? [];
          return `${uuid}\timported as generation 1 (${kind}), unverified (sha256:${shown})`;
        }),
        expect.stringMatching(new RegExp(`^${second.uuid}\t${told} not imported: .*superseded`)),
        "",
      ]);
    },
  );

  it("--file: one that no kind is known of is told, and the others are imported", async () => {
    const { lab, machine } = await coldLab([offlineNote, offlineCard, offlineNote]);
    const entries = entriesOf(lab);
    const lines = (list: object[]): string =>
      machine.file("lines", list.map((entry) => JSON.stringify(entry)).join("\n"));
    const { kind: _, ...without } = entries[2] ?? {};
    const file = lines([...entries.slice(0, 2), without]);
    const refused = await machine.vault("import", "--file", file, "--json");
    expectError(refused, "partial", /^1 of 3 vaults .* line 3, vault .*--kind/);
    expect(JSON.parse(refused.stdout)).toMatchObject({ imported: [{}, {}], failed: [{ line: 3 }] });
  });

  it("--file: lines of one vault are imported one after the other, in their order", async () => {
    const { lab, machine, uuid } = await coldLab(offlineNote);
    const entry = { ...entriesOf(lab)[0], kind: undefined };
    const lines = Array.from({ length: 8 }, (_, n) => {
      const kind = n === 0 ? "generic/offline" : undefined;
      const credentials = { encryptedData: `pair ${n}`, payload: "p" };
      const list = [{ ...entry, kind, credentials, uuid: n % 2 ? uuid.toUpperCase() : uuid }];
      return JSON.stringify(n % 3 === 0 ? list : list[0]);
    });
    const file = machine.file("lines", lines.join("\n"));
    const { stdout } = await machine.ok("import", "--file", file, "--json");
    const { imported } = JSON.parse(stdout) as { imported: { generation: number }[] };
    expect(imported.map(({ generation }) => generation)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it.each(["", " \n\n", "[]", "\uFEFF"])("--file: a list of nothing (%j) is 3", async (list) => {
    const machine = (await openLab(offlineNote)).machine();
    const empty = await machine.vaultWith({ input: list }, "import", "--file", "-", "--json");
    expectError(empty, "invalid-input", /^--file: the list is empty; nothing was imported$/);
    expect(empty.stdout).toBe("");
  });

  it("says whether what was imported is verified", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const pair = machine.given(await machine.exported(uuid));
    const { stdout } = await machine.vault("import", uuid, ...pair);
    expect(stdout).toMatch(/imported as generation 2 \(generic\/offline\), verified \(sha256:/);
  });

  it("of a recorded pair never changes what the service has accepted beside it", async () => {
    const { lab, machine, uuid, credentials } = await coldLab(onlineCard);
    await machine.ok(...firstGetArgs(machine, lab.vault));
    const current = await machine.exported(uuid);
    expect(current).toMatchObject({ hashedPin: credentials.hashedPin });
    const other = { ...current, hashedPin: "YW5vdGhlcg==" };
    const imported = await machine.ok("import", uuid, ...machine.given(other), "--json");
    expect(JSON.parse(imported.stdout)).toMatchObject({ imported: [{ generation: 3 }] });
    // The pair that was accepted is the next one, with its own hashedPin.
    await machine.ok("get", uuid, "--json");
    await expectInStep(lab, machine, uuid);
  });

  it("reports the generation that the pair is recorded as", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const current = JSON.stringify(await machine.exported(uuid));
    const wrong = JSON.stringify({ encryptedData: "other", payload: "other" });
    for (const [pair, generation] of [
      [wrong, 3],
      [current, 2],
      [wrong, 3],
    ] as const) {
      const imported = await machine.ok("import", uuid, ...machine.given(pair), "--json");
      expect(JSON.parse(imported.stdout)).toMatchObject({ imported: [{ uuid, generation }] });
    }
  });

  it("takes what was exported at another base URL: there it is as it was", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const before = await machine.exported(uuid);
    const moved = { VAULTSVC_BASE_URL: lab.service.baseUrl.replace("127.0.0.1", "localhost") };
    const refused = await machine.vaultWith({ env: moved }, "get", uuid, "--json");
    expectError(refused, "no-credentials", /belongs to/);
    const [way] = errorOf(refused).next;
    const words = (way?.argv ?? []).slice(1);
    const exported = machine.given((await machine.vaultWith({ env: moved }, ...words)).stdout);
    await machine.okWith({ env: moved }, "import", uuid, ...exported);
    expect(await machine.exported(uuid)).toEqual(before);
    await machine.okWith({ env: moved }, "get", uuid);
  });

  it("takes what export --all prints, in both forms", async () => {
    const { lab, machine } = await coldLab([offlineNote, onlineCard]);
    for (const vault of lab.service.vaults) await machine.ok(...firstGetArgs(machine, vault));
    for (const flag of [["--json"], []]) {
      const exported = await machine.ok("export", "--all", ...flag);
      const lines = exported.stdout.trimEnd().split("\n");
      const entries = (
        flag.length > 0
          ? JSON.parse(exported.stdout)
          : lines.map((line) => JSON.parse(line) as unknown)
      ) as object[];
      expect(entries).toMatchObject([{ credentials: {} }, { credentials: {} }]);
      expect(entries).toContainEqual(expect.objectContaining({ device }));
      const other = lab.machine();
      await other.ok("import", "--file", machine.file("all", exported.stdout));
      for (const { uuid } of lab.service.vaults)
        expect(await other.exported(uuid)).toEqual(await machine.exported(uuid));
    }
  });
});

describe.concurrent("export", () => {
  it("prints a document that --credentials takes, with the device of an online vault", async () => {
    const { lab, machine, uuid } = await coldLab(onlineCard);
    await machine.ok(...firstGetArgs(machine, lab.vault));
    await machine.ok("label", uuid, "spare");
    const exported = (await machine.vault("export", uuid)).stdout;
    expect(JSON.parse(exported)).toMatchObject({
      uuid,
      label: "spare",
      kind: "credit-card/online",
      device,
    });
    const other = lab.machine();
    const out = join(other.home, "renewed.json");
    const given = [...other.given(exported), "--credentials-out", out];
    const read = await other.ok("get", uuid, ...given, "--json");
    expect(JSON.parse(read.stdout)).toMatchObject({ uuid, label: null });
    // The label of another machine is none here, but stays in the file.
    expect(JSON.parse(readFileSync(out, "utf8"))).toMatchObject({ uuid, label: "spare" });
    const wrong = "123e4567-e89b-42d3-a456-426614174000";
    const refused = await other.vault("get", wrong, ...other.given(exported), "--json");
    expectError(refused, "invalid-input", new RegExp(uuid));
  });

  it("prints what the next start would send, and says so where others are live too", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const other = JSON.stringify({ encryptedData: "other", payload: "other" });
    await machine.ok("import", uuid, ...machine.given(other));
    const exported = await machine.ok("export", uuid);
    expect(JSON.parse(exported.stdout)).toMatchObject({ credentials: { payload: "other" } });
    expect(exported.stderr).toMatch(/exported generation 3, but 2 may be valid instead/);
    const unknown = await machine.vault("export", uuid, "--generation", "9", "--json");
    expectError(unknown, "no-credentials", /^generation 9 of vault \S+ is not kept$/);
  });

  it("--all says which services are left out, and needs no base URL where there is one only", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const none = { env: { VAULTSVC_BASE_URL: "" } };
    expect((await machine.vaultWith(none, "export", "--all")).stdout).toContain(uuid);
    const env = { VAULTSVC_BASE_URL: "https://other.example.com" };
    const elsewhere = await machine.okWith({ env }, "export", "--all");
    expect(elsewhere.stderr).toMatch(/vaults of other services are not included/);
  });
});

describe.concurrent("a pair that was offered by an exchange that expired", () => {
  it("is tried once the old one is refused, because nothing has superseded it", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    // The service takes the acknowledgement, and something on the way answers with an error in its name.
    lab.faults("get-end:error-after=400");
    expectError(await machine.vault("ack", uuid, "--all", "--json"), "usage");
    expectExit(await machine.vault("ack", uuid, "--json"), 13);
    expect(await machine.status(uuid)).toMatchObject({ status: "ready", generation: 2 });
    const unknown = await machine.vault("get", uuid, "--generation", "9", "--json");
    expectError(unknown, "no-credentials", /generation 9 .* is not kept/);
    expect(errorOf(unknown).help).toMatch(/vault status \S+ --history/);
    const read = await machine.ok("get", uuid, "--json");
    expect(documentOf(read).settled).toMatchObject([{ outcome: "acknowledged" }]);
    await expectInStep(lab, machine, uuid);
  });
});
