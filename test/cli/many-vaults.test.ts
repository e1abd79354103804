import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorOf } from "../support/machine.ts";
import type { Lab, ManyVaults } from "../support/lab.ts";
import {
  card,
  eventsOf,
  expectExit,
  expectInStep,
  expectError,
  importAll,
  manyVaults,
  offlineCard,
  outcomesOf,
  summaryOf,
  coldLab,
} from "../support/lab.ts";

/** Five vaults with labels, imported on one machine. */
const five = async (): Promise<ManyVaults> =>
  await manyVaults(Array.from({ length: 5 }, () => offlineCard));

const inspected = (lab: Lab): { state: string; unackedStarts: number }[] =>
  lab.service.vaults.map(({ uuid }) => lab.service.sandbox.inspect(uuid));

describe("vault get of many", () => {
  it("prints the contents before each end call, an outcome for each, and a summary", async () => {
    const { lab, machine, uuids } = await five();
    const result = await machine.ok("get", "--all");
    const events = eventsOf(result);
    expect(
      events
        .filter(({ event }) => event === "contents")
        .map(({ uuid }) => uuid)
        .toSorted(),
    ).toEqual(uuids.toSorted());
    for (const uuid of uuids) {
      const own = events.filter((event) => event.uuid === uuid);
      expect(own.map(({ event }) => event)).toEqual(["contents", "outcome"]);
      expect(own[0]?.vault?.creditCard.number).toBe(card.number);
      expect(own[1]).toMatchObject({ ok: true });
    }
    expect(summaryOf(result)).toMatchObject({ done: 5, failed: 0, skipped: 0, calls: 10 });
    expect(inspected(lab).every(({ unackedStarts }) => unackedStarts === 0)).toBe(true);
    expect((await machine.status(uuids[0] ?? "")).generation).toBe(2);
  });

  it.each<[string, string[], RegExp]>([
    ["rows that would show masked contents", ["get", "v1", "v2"], /the table masks the contents/],
    ["--json", ["get", "--all", "--json"], /--json prints one document/],
    ["--field", ["get", "v1", "v2", "--field", "vault"], /--field prints one value/],
    [
      "--credentials",
      ["get", "v1", "v2", "--credentials", "{}"],
      /--credentials is for one vault only, not with several vaults\n {2}hint: .* the lines of --from take kind, credentials/,
    ],
    [
      "--out",
      ["get", "v1", "v2", "--out", "x"],
      /--out is for one vault only, not with several vaults\n {2}hint: leave one/,
    ],
    ["one vault and its program", ["get", "v1", "--out", "x", "--exec", "cat"], /with --exec\n/],
    ["contents", ["update", "--all", "--card-name", "Ada"], /--card-name is for one vault only/],
    ["no contents", ["update", "v1", "v2"], /the contents of many vaults come from a list/],
    ["a vault twice", ["get", "v1", "v2", "v1", "-o", "ndjson"], /the same vault as v1/],
    ["vaults and a list", ["get", "v1", "--from", "-"], /--from cannot be used with a vault/],
    ["vaults and all", ["update", "v1", "--all"], /--all cannot be used with a vault/],
    ["a list and all", ["ack", "--all", "--from", "-"], /--from cannot be used with --all/],
  ])("refuses %s", async (_, args, message) => {
    const { lab, machine } = await five();
    const result = await machine.vault(...args);
    expectExit(result, 2);
    expect(result.stderr).toMatch(message);
    expect(lab.service.sandbox.requests().length).toBe(0);
  });

  it("leaves the others alone where one fails, and says which", async () => {
    const { lab, machine, uuids } = await five();
    const [first = "", second = ""] = uuids;
    lab.service.sandbox.lock(second);
    const result = await machine.vault("get", "--all");
    expectExit(result, 16);
    const failed = outcomesOf(result).filter(({ ok }) => !ok);
    expect(failed).toMatchObject([
      { uuid: second, label: "v2", error: { code: "locked", exitCode: 7 } },
    ]);
    expect(summaryOf(result)).toMatchObject({ done: 4, failed: 1, calls: 9 });
    // It is skipped from then on.
    const again = await machine.vault("get", "--all");
    expectExit(again, 16);
    expect(outcomesOf(again).filter(({ ok }) => !ok)).toMatchObject([
      { uuid: second, skipped: "locked" },
    ]);
    expect((await machine.status(first)).unackedStarts).toBe(0);
  });

  it("stops at once where the service refuses the application, and says so once", async () => {
    const { machine } = await five();
    const env = { VAULTSVC_API_KEY: "00000000-0000-4000-8000-000000000000" };
    const result = await machine.vaultWith({ env }, "get", "--all", "--concurrency", "1");
    expectExit(result, 5);
    expect(outcomesOf(result).map(({ error, skipped }) => error?.code ?? skipped)).toEqual([
      "unauthorized",
      ...Array.from({ length: 4 }, () => "stopped"),
    ]);
    expect(result.stderr).toMatch(
      /next: vault get --all --concurrency 1 --run get-[0-9a-z]{26} \(does the rest/,
    );
  });

  it("stops after --max-failures", async () => {
    const { lab, machine } = await five();
    for (const { uuid } of lab.service.vaults) lab.service.sandbox.lock(uuid);
    const result = await machine.vault("get", "--all", "--max-failures", "2", "--concurrency", "1");
    expectExit(result, 16);
    const became = outcomesOf(result).map(({ error, skipped }) => error?.code ?? skipped);
    expect(became.join(" ")).toBe("locked locked stopped stopped stopped");
  });

  it("shows the plan, and sends nothing", async () => {
    const { lab, machine, uuids } = await five();
    await machine.ok("get", uuids[0] ?? "", "--no-ack", "--json");
    const sent = lab.service.sandbox.requests().length;
    const env = { VAULTSVC_RATE: "4" };
    const result = await machine.vaultWith({ env }, "get", "--all", "--dry-run", "--json");
    expectExit(result, 16);
    expect(JSON.parse(result.stdout)).toEqual({
      plan: { vaults: 4, calls: 8, seconds: 2, skipped: [{ uuid: uuids[0], reason: "held" }] },
    });
    expect(lab.service.sandbox.requests().length).toBe(sent);
    await machine.ok("get", "v2", "v3", "--dry-run");
    const field = await machine.vault("get", "v2", "v3", "--dry-run", "--field", "plan.calls");
    expect(field).toMatchObject({ code: 0, stdout: "4" });
  });

  it("skips what the guard would refuse, whatever the reason is", async () => {
    const { lab, machine, uuids } = await five();
    const [refused = "", last = ""] = uuids;
    await machine.ok("forget", refused, "--yes");
    const wrong = machine.given({ encryptedData: "bm8=", payload: "bm8=" }, lab.vault.kind);
    expectError(await machine.vault("get", refused, ...wrong, "--json"), "rejected");
    await machine.ok("guard", last, "--reset", "--starts", "3");
    const skipped = [
      { uuid: refused, reason: "guard" },
      { uuid: last, reason: "guard" },
    ];
    const sent = lab.service.sandbox.requests().length;
    const line = ["get", ...uuids, "--exec", "cat > /dev/null"];
    const plan = await machine.vault(...line, "--dry-run", "--json");
    expectExit(plan, 16);
    expect(JSON.parse(plan.stdout)).toMatchObject({ plan: { vaults: 3, calls: 6, skipped } });
    const result = await machine.vault(...line, "-o", "ndjson");
    expectExit(result, 16);
    expect(summaryOf(result)).toMatchObject({ done: 3, failed: 0, skipped: 2, calls: 6 });
    expect(lab.service.sandbox.requests().length).toBe(sent + 6);
  });
});

describe("a run", () => {
  it("is continued by the same line: nothing is sent for what was acknowledged", async () => {
    const { lab, machine, uuids } = await five();
    await machine.ok("get", "v1", "v2", "-o", "ndjson", "--run", "may");
    const sent = lab.service.sandbox.requests().length;
    const result = await machine.ok("get", "--all", "--run", "may");
    expect(lab.service.sandbox.requests().length).toBe(sent + 6);
    expect(
      outcomesOf(result)
        .filter(({ earlier }) => earlier)
        .map(({ uuid }) => uuid)
        .toSorted(),
    ).toEqual(uuids.slice(0, 2).toSorted());
    expect(summaryOf(result)).toMatchObject({ run: "may", done: 5, calls: 6 });
    expect(result.stderr).toBe("");
  });

  it("says that all was done before, when, and how to begin anew: the same cron job a day later", async () => {
    const { lab, machine } = await five();
    const line = ["get", "--all", "--run=nightly"];
    await machine.ok(...line);
    const sent = lab.service.sandbox.requests().length;
    const result = await machine.ok(...line);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    expect(summaryOf(result)).toMatchObject({ done: 5, earlier: 5, calls: 0 });
    expect(result.stderr).toMatch(
      /^vault: warning: run nightly has done all 5 vaults before; nothing was sent: another --run NAME begins anew\n$/,
    );
  });

  it("settles what was left with an end call on its way, and begins nothing anew for it", async () => {
    const { lab, machine, uuids } = await five();
    lab.faults("end:drop-before*all");
    const [first = ""] = uuids;
    const get = ["get", first, "--run", "may", "-o", "ndjson"];
    expectExit(await machine.vault(...get, "--max-wait", "1s"), 16);
    lab.service.faults.clear();
    const starts = (): number =>
      lab.service.sandbox.requests().filter(({ step }) => step === "start").length;
    const before = starts();
    const result = await machine.ok(...get);
    expect(eventsOf(result).map(({ event }) => event)).toEqual(["outcome", "summary"]);
    expect(starts()).toBe(before);
  });

  it("reads again what was acknowledged and never delivered", async () => {
    const { lab, machine, uuids } = await five();
    const pay = `cat > /dev/null; test -e fixed && echo "$VAULTSVC_VAULT_UUID" >> paid`;
    const args = ["get", "--all", "--run", "may", "--exec", pay];
    expectExit(await machine.vault(...args), 16);
    await machine.ok("ack", "--all");
    machine.file("fixed", "");
    const again = await machine.ok(...args);
    expect(summaryOf(again)).toMatchObject({ done: 5, earlier: 0, calls: 10 });
    expect(readFileSync(join(machine.home, "paid"), "utf8").trim().split("\n").toSorted()).toEqual(
      uuids.toSorted(),
    );
    expect(summaryOf(await machine.vault(...args))).toMatchObject({ done: 5, earlier: 5 });
    for (const uuid of uuids) await expectInStep(lab, machine, uuid);
  });

  it("has one delivery: another one under its name is refused, and nothing is sent", async () => {
    const { lab, machine } = await five();
    const places = [
      ["-o", "ndjson"],
      ["--out-dir", "cards"],
      ["--out-dir", "other"],
      ["--exec", "cat > /dev/null"],
      ["--exec", "cat >/dev/null"],
    ];
    for (const [index, place] of places.entries()) {
      const run = ["--run", `run-${index}`];
      await machine.ok("get", "v1", ...run, ...place, "-o", "ndjson");
      const sent = lab.service.sandbox.requests().length;
      await machine.ok("get", "v1", ...run, ...place, "-o", "ndjson");
      for (const other of places.filter((one) => one !== place)) {
        // Another list does not make it another run.
        for (const vault of ["v1", "v2"]) {
          const refused = await machine.vault("get", vault, ...run, ...other, "-o", "ndjson");
          expectExit(refused, 3);
          expect(refused.stderr).toMatch(
            /--run run-\d: it delivers to another place .*; nothing was sent/,
          );
        }
      }
      expect(lab.service.sandbox.requests().length).toBe(sent);
    }
  });

  it("whose --out-dir lacks a file of what it has read is refused", async () => {
    const { lab, machine, uuids } = await five();
    const args = ["get", "--all", "--run", "may", "--out-dir", "cards"];
    await machine.ok(...args);
    const file = join(machine.home, "cards", `${uuids[1]}.json`);
    const text = readFileSync(file);
    const sent = lab.service.sandbox.requests().length;
    for (const content of [null, ""]) {
      if (content === null) rmSync(file);
      else writeFileSync(file, content);
      const refused = await machine.vault(...args);
      expectExit(refused, 3);
      expect(refused.stderr).toMatch(
        new RegExp(
          `it has read vault ${uuids[1]}, but cards/${uuids[1]}\\.json is missing; nothing was sent`,
        ),
      );
    }
    expect(lab.service.sandbox.requests().length).toBe(sent);
    writeFileSync(file, text);
    const whole = await machine.ok(...args);
    expect(summaryOf(whole)).toMatchObject({ done: 5, earlier: 5, calls: 0 });
  });

  it("in which nothing is left but what will be skipped again says so, and what helps", async () => {
    const { lab, machine } = await coldLab([
      offlineCard,
      { ...offlineCard, maxUsage: 3 },
      offlineCard,
    ]);
    await importAll(lab, machine);
    const [, , third = ""] = lab.service.vaults.map(({ uuid }) => uuid);
    await machine.ok("get", "--all", "-o", "ndjson");
    await machine.ok("get", third, "--no-ack");
    for (const times of ["first", "again"]) {
      const left = await machine.vault("get", "--all", "--run", "may", "-o", "ndjson");
      expectExit(left, 16);
      expect(left.stderr, times).toMatch(
        /run may left 2 of 3 vaults undone: 1 skipped \(limited\), 1 skipped \(held\)|1 skipped \(held\), 1/,
      );
      expect(left.stderr).toMatch(/the same command line would not change that/);
      expect(left.stderr).toMatch(/another run with --out-dir or --exec/);
      expect(errorOf(left).help).toContain(`vault ack ${third}`);
      expect(left.stderr).not.toMatch(/does the rest/);
    }
  });

  it("of reads names no way that a held update would be skipped on again", async () => {
    const { machine, uuids } = await five();
    const [first = ""] = uuids;
    const card = ["--card-number", "4111111111111111", "--card-name", "Ada", "--expiry", "11/2031"];
    await machine.ok("update", first, ...card, "--yes", "--no-ack");
    const args = ["get", "--all", "--run", "may", "-o", "ndjson"];
    const left = await machine.vault(...args);
    expectExit(left, 16);
    const anew = ["vault", "update", first, "--card", "@FILE", "--discard-pending"];
    const argvs = errorOf(left).next.map(({ argv }) => argv);
    expect(argvs).toEqual([["vault", "ack", first], anew]);
    const again = await machine.vault(...args, "--discard-pending");
    expectExit(again, 16);
    const forced = ["vault", "get", first, "--discard-pending", "--force"];
    expect(errorOf(again).next.map(({ argv }) => argv)).toEqual([["vault", "ack", first], forced]);
  });

  it("says of what a vault failed that the next one will skip", async () => {
    const { lab, machine, uuids } = await five();
    lab.service.sandbox.lock(uuids[0] ?? "");
    const left = await machine.vault("get", "--all", "--run", "may", "-o", "ndjson");
    expectExit(left, 16);
    expect(left.stderr).toMatch(/run may left 1 of 5 vaults undone: 1 failed \(locked\)/);
    expect(left.stderr).not.toMatch(/does the rest/);
    const again = await machine.vault("get", "--all", "--run", "may", "-o", "ndjson");
    expectExit(again, 16);
    expect(again.stderr).toMatch(
      /1 skipped \(locked\); the same command line would not change that/,
    );
    expect(errorOf(again).help).toContain(`vault guard ${uuids[0]} --reset`);
  });

  it("of refused credentials names the import, and does not say that the same line does the rest", async () => {
    const { machine, uuids } = await five();
    const [uuid = ""] = uuids;
    // A colleague reads it with a copy.
    const given = machine.given(await machine.exported(uuid), "credit-card/offline");
    const colleague = { ...machine.env, VAULTSVC_STATE: join(machine.home, "colleague") };
    await machine.okWith({ env: colleague }, "get", uuid, ...given, "--json");
    const left = await machine.vault("get", "--all", "-o", "ndjson");
    expectExit(left, 16);
    expect(left.stderr).toMatch(
      /1 failed \(rejected\); the same command line would not change that/,
    );
    expect(errorOf(left).help).toContain(`vault import ${uuid}`);
  });

  it("of acknowledgements that are in doubt names the read that finds out", async () => {
    const { lab, machine, uuids } = await five();
    await machine.ok("get", "--all", "-o", "ndjson", "--no-ack");
    // The service has processed them, and knows their tokens no more.
    lab.faults("get-end:drop-after*all");
    const lost = await machine.vault("ack", "--all", "--max-wait", "0s", "-o", "ndjson");
    expectExit(lost, 16);
    expect(errorOf(lost).help).toMatch(/^vault ack --all .*\(does the rest\)/);
    lab.service.faults.clear();
    const left = await machine.vault("ack", "--all", "-o", "ndjson");
    expectExit(left, 16);
    expect(left.stderr).toMatch(
      /5 failed \(in-doubt\); the same command line would not change that/,
    );
    expect(errorOf(left).help).toMatch(/^vault get \S+ \(finds out which credentials are valid\)$/);
    expect(left.stderr).not.toMatch(/does the rest/);
    await machine.ok("get", "--all", "-o", "ndjson");
    for (const uuid of uuids) await expectInStep(lab, machine, uuid);
  });

  it("of acknowledgements whose tokens have expired names the read that begins anew", async () => {
    const { lab, machine } = await five();
    await machine.ok("get", "v1", "--json", "--no-ack");
    lab.clock.ahead = 86_400_000;
    const left = await machine.vault("ack", "--all", "-o", "ndjson");
    expectExit(left, 16);
    expect(left.stderr).toMatch(
      /1 failed \(service\); the same command line would not change that/,
    );
    expect(errorOf(left).help).toMatch(/^vault get \S+$/);
  });

  it("says once what helps vaults that failed differently", async () => {
    const { machine } = await five();
    const fail = `cat > /dev/null; mkdir ${join(machine.home, "first")} && exit 1; exit 2`;
    const left = await machine.vault("get", "--all", "--exec", fail, "-o", "ndjson");
    expectExit(left, 16);
    const { next } = errorOf(left);
    expect(next.map(({ argv }) => argv.filter((word) => word !== fail).join(" "))).toEqual([
      expect.stringMatching(
        /^vault get --all --exec -o ndjson --run get-\w{26} --discard-pending$/,
      ),
      expect.stringMatching(/^vault ack [0-9a-f-]{36}$/),
    ]);
    // The same line starts again what it has left held.
    const again = await machine.vault(...(next[0]?.argv.slice(1) ?? []));
    expectExit(again, 16);
    expect(errorOf(again).next[0]?.argv).toEqual(next[0]?.argv);
    expect(again.stderr).not.toMatch(/the same command line would not/);
  });

  it("sends nothing where an update would differ from the run's", async () => {
    const { lab, machine, uuids } = await five();
    const line = (number: string): string =>
      JSON.stringify({ uuid: uuids[0], card: { ...card, number } });
    const args = ["update", "--from", "-", "--run", "may"];
    await machine.okWith({ input: line("4012888888881881") }, ...args);
    const sent = lab.service.sandbox.requests().length;
    const other = await machine.vaultWith({ input: line("4111111111111111") }, ...args);
    expectExit(other, 3);
    expect(other.stderr).toMatch(
      /--run may: the contents for vault .* are not those that the run has sent before/,
    );
    const wrong = await machine.vault("get", "v1", "--run", "may", "-o", "ndjson");
    expectExit(wrong, 3);
    expect(wrong.stderr).toMatch(/it is a run of vault update/);
    const same = await machine.okWith({ input: line("4012888888881881") }, ...args);
    expect(outcomesOf(same)).toMatchObject([{ ok: true, earlier: true }]);
    expect(lab.service.sandbox.requests().length).toBe(sent);
  });
});

describe("vault update of many", () => {
  it("prints a receipt after each acknowledgement", async () => {
    const { machine, uuids } = await five();
    const lines = uuids
      .map((uuid) => JSON.stringify({ uuid, card: { ...card, number: "4012888888881881" } }))
      .join("\n");
    const result = await machine.okWith({ input: lines }, "update", "--from", "-");
    for (const uuid of uuids) {
      const own = eventsOf(result).filter((event) => event.uuid === uuid);
      expect(own.map(({ event }) => event)).toEqual(["receipt", "outcome"]);
    }
    const read = await machine.vault("get", uuids[4] ?? "", "--json");
    expect(read.stdout).toContain("4012888888881881");
  });
});

describe("where the contents go", () => {
  it("--out-dir writes a file for each vault, in place of lines", async () => {
    const { machine, uuids } = await five();
    const result = await machine.ok("get", "--all", "--out-dir", "cards");
    expect(eventsOf(result).some(({ event }) => event === "contents")).toBe(false);
    const folder = join(machine.home, "cards");
    expect(readdirSync(folder).toSorted()).toEqual(uuids.map((uuid) => `${uuid}.json`).toSorted());
    expect(readFileSync(join(folder, `${uuids[0]}.json`), "utf8")).toContain(card.number);
  });

  it("a UUID in capitals is that of the file, of a vault that is new here too", async () => {
    const { lab, machine } = await coldLab(offlineCard);
    const { uuid, kind, credentials } = lab.vault;
    const input = JSON.stringify({ uuid: uuid.toUpperCase(), kind, credentials });
    const args = ["get", "--from", "-", "--out-dir", ".", "--run", "may"];
    const file = machine.file(`${uuid}.json`, "something else");
    const refused = await machine.vaultWith({ input }, ...args);
    expect(outcomesOf(refused)).toMatchObject([{ uuid, error: { code: "invalid-input" } }]);
    expect(lab.service.sandbox.requests()).toHaveLength(0);
    rmSync(file);
    expect(outcomesOf(await machine.okWith({ input }, ...args))).toMatchObject([
      { uuid, ok: true },
    ]);
    expect(readFileSync(file, "utf8")).toContain(card.number);
  });

  it("a label in the list of a vault that has none stands in its contents and its outcome", async () => {
    const { machine, lab } = await coldLab(offlineCard);
    const { uuid, kind, credentials } = lab.vault;
    const input = JSON.stringify({ uuid, kind, credentials, label: "palm" });
    const read = await machine.okWith({ input }, "get", "--from", "-");
    expect(eventsOf(read).slice(0, 2)).toMatchObject([
      { event: "contents", uuid, label: "palm" },
      { event: "outcome", uuid, label: "palm", ok: true },
    ]);
  });

  it("--exec gets each document; the vault of one that fails is held, and its repetition has the same id", async () => {
    const { lab, machine, uuids } = await five();
    const paid = join(machine.home, "paid");
    const pay = `cat > /dev/null; echo "$VAULTSVC_DELIVERY_ID" >> '${paid}'; test "$VAULTSVC_VAULT_LABEL" != v3 -o -e fixed`;
    const args = ["get", "--all", "--run", "pay", "--exec", pay];
    const first = await machine.vault(...args);
    expectExit(first, 16);
    const [failed] = outcomesOf(first).filter(({ ok }) => !ok);
    expect(failed).toMatchObject({ label: "v3", error: { code: "pending", exitCode: 11 } });
    expect((await machine.status(uuids[2] ?? "")).exchange).toMatchObject({
      state: "held",
      holdReason: "exec",
      delivered: false,
      saveOwed: false,
    });
    const held = await machine.vault(...args);
    expectExit(held, 16);
    expect(outcomesOf(held).find(({ uuid }) => uuid === uuids[2])).toMatchObject({
      skipped: "held",
    });
    machine.file("fixed", "");
    await machine.ok(...args, "--discard-pending");
    const ids = readFileSync(paid, "utf8").trim().split("\n");
    expect(ids).toHaveLength(6);
    expect(new Set(ids).size).toBe(5);
    expect(ids.filter((id) => id === `pay-${uuids[2]}`)).toHaveLength(2);
    expect(inspected(lab).every(({ unackedStarts }) => unackedStarts === 0)).toBe(true);
  });

  it("a limited vault is read only where its contents are kept", async () => {
    const { lab, machine } = await coldLab([{ ...offlineCard, maxUsage: 3 }, offlineCard]);
    const lines = lab.service.vaults
      .map(({ uuid, kind, credentials }) => JSON.stringify({ uuid, kind, credentials }))
      .join("\n");
    await machine.okWith({ input: lines }, "get", "--from", "-", "--out-dir", "cards");
    const result = await machine.vault("get", "--all");
    expectExit(result, 16);
    expect(outcomesOf(result).filter(({ ok }) => !ok)).toMatchObject([
      { uuid: lab.vault.uuid, skipped: "limited" },
    ]);
    await machine.ok("get", "--all", "--out-dir", "cards");
    expect(existsSync(join(machine.home, "cards", `${lab.vault.uuid}.json`))).toBe(true);
  });
});

describe("vault ack of many", () => {
  it("tells each outcome as an event, or all of them in one document", async () => {
    const { lab, machine, uuids } = await five();
    for (const uuid of uuids) await machine.ok("get", uuid, "--no-ack", "--json");
    const events = await machine.ok("ack", uuids[0] ?? "", "v2", "-o", "ndjson");
    expect(outcomesOf(events)).toHaveLength(2);
    expect(summaryOf(events)).toMatchObject({ done: 2, calls: 2 });
    const document = await machine.ok("ack", "--all", "--json");
    expect((JSON.parse(document.stdout) as { acknowledged: object[] }).acknowledged).toHaveLength(
      3,
    );
    expect(inspected(lab).every(({ unackedStarts }) => unackedStarts === 0)).toBe(true);
  });
});
