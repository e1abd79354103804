import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Pair } from "../../src/protocol/answers.ts";
import type { Kind } from "../../src/protocol/endpoints.ts";
import { startHostileService } from "../support/hostile-service.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectFarFromLock,
  offlineNote,
  openLab,
  warmLab,
} from "../support/lab.ts";
import { errorOf, machineFor, type Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";

const get = async (machine: Machine, { vault }: Lab, ...more: string[]): Promise<RunResult> =>
  await machine.vault("get", vault.uuid, "--json", ...more);

/** Puts what one machine exports into the state of another one. */
async function carry(from: Machine, to: Machine, { vault: { uuid, kind } }: Lab): Promise<void> {
  await to.ok("import", uuid, ...to.given((await from.vault("export", uuid)).stdout, kind));
}

/** A machine, and the recovery document of an exchange that it acknowledged and has followed by another one. */
async function withOldDocument(lab: Lab): Promise<{ first: Machine; document: string }> {
  const first = await lab.warmMachine();
  const document = first.file("document.json", "");
  expectExit(await get(first, lab, "--no-ack", "--save-cmd", `cat > ${document}`), 0);
  await first.ok("ack", lab.vault.uuid, "--saved");
  expectExit(await get(first, lab), 0);
  return { first, document };
}

describe.each([true, false])(
  "recovery documents of any age; a repeated acknowledgement is answered SUCCESS: %s",
  (idempotentEnd) => {
    const open = async (): Promise<Lab> =>
      await openLab(offlineNote, { policy: { idempotentEnd } });

    it.each(["--credentials", "--file"])(
      "an old one does not supersede what is current and proven (import %s)",
      async (by) => {
        const lab = await open();
        const { uuid, kind } = lab.vault;
        const { first, document } = await withOldDocument(lab);
        const second = lab.machine();
        await carry(first, second, lab);
        for (let times = 0; times < 2; times += 1) expectExit(await get(second, lab), 0);
        const line = {
          uuid,
          kind,
          credentials: JSON.parse(readFileSync(document, "utf8")) as unknown,
        };
        const source =
          by === "--file"
            ? ["--file", second.file("lines.ndjson", line)]
            : [uuid, "--credentials", `@${document}`];
        const imported = await second.vault("import", ...source, "--json");
        // Where the repetition is refused, it is in doubt.
        expect([0, 12, 16], imported.stderr).toContain(imported.code);
        for (let times = 0; times < 2; times += 1) expectExit(await get(second, lab), 0);
        expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
          state: "active",
          maxFailedAccesses: 0,
        });
        expect(lab.service.sandbox.accepts(uuid, (await second.exported(uuid)) as Pair)).toBe(true);
      },
    );

    it("nor what was imported before it on a fresh machine", async () => {
      const lab = await open();
      const { first, document } = await withOldDocument(lab);
      const fresh = lab.machine();
      await carry(first, fresh, lab);
      expect([0, 12]).toContain(
        (await fresh.vault("import", lab.vault.uuid, "--credentials", `@${document}`, "--json"))
          .code,
      );
      const read = await get(fresh, lab);
      // Where the first one tried was the old one, a person chooses: one attempt is left before the last.
      if (read.code !== 0) expect(errorOf(read).message).toMatch(/generations .*1 \(imported\)/);
      if (read.code !== 0) expectExit(await get(fresh, lab, "--generation", "1"), 0);
      expectExit(await get(fresh, lab), 0);
      expectFarFromLock(lab, lab.vault.uuid);
    });

    it("one whose credentials are known here to be superseded is refused, and changes nothing", async () => {
      const lab = await open();
      const { first, document } = await withOldDocument(lab);
      const before = await first.status(lab.vault.uuid);
      const again = ["import", lab.vault.uuid, "--credentials", `@${document}`, "--json"];
      const imported = await first.vault(...again);
      expectError(imported, "no-credentials", /older/);
      expect(await first.status(lab.vault.uuid)).toEqual(before);
    });

    it("one of a colleague's exchange, made and left since, is acknowledged and used; the chain goes on", async () => {
      const lab = await open();
      const first = await lab.warmMachine();
      const colleague = lab.machine();
      await carry(first, colleague, lab);
      const document = colleague.file("document.json", "");
      expectExit(await get(colleague, lab, "--no-ack", "--save-cmd", `cat > ${document}`), 0);
      await first.ok("import", lab.vault.uuid, "--credentials", `@${document}`);
      expectExit(await get(first, lab), 0);
      expect(lab.service.sandbox.inspect(lab.vault.uuid)).toMatchObject({
        failedAccesses: 0,
        maxFailedAccesses: 0,
      });
    });
  },
);

describe("credentials that somebody else has used since", () => {
  it("are told as that, with the command that helps; imported ones come first, also with a failed attempt on record", async () => {
    const lab = await openLab();
    const first = await lab.warmMachine();
    const colleague = lab.machine();
    await carry(first, colleague, lab);
    expectExit(await get(colleague, lab), 0);
    const refused = await get(first, lab);
    expectError(
      refused,
      "rejected",
      /^another machine or program has probably used this vault since 20.*refused/,
    );
    expect(errorOf(refused).help).toMatch(/^vault import .* \(the right credentials\)$/);
    const again = await get(first, lab);
    expectExit(again, 8);
    expect(errorOf(again).help).not.toMatch(/--force/);
    await carry(colleague, first, lab);
    expectExit(await get(first, lab), 0);
    expectFarFromLock(lab, lab.vault.uuid);
  });

  it("a copied state is told once, and never locks the vault where answers get lost", async () => {
    const lab = await openLab();
    const first = await lab.warmMachine();
    const copied = first.copy();
    expectExit(await get(first, lab), 0);
    lab.faults("start:drop-after");
    const read = await get(copied, lab);
    expectExit(read, 10);
    expect(read.stderr).toMatch(/was copied or moved/);
    for (let tries = 0; tries < 4; tries += 1) {
      lab.faults("start:drop-after");
      const next = await get(copied, lab);
      expect([6, 8, 10]).toContain(next.code);
      expect(next.stderr).not.toMatch(/copied or moved/);
    }
    expectFarFromLock(lab, lab.vault.uuid);
  });

  it.each(["export", "backup", "--save-cmd"])(
    "what has left by %s may have been acknowledged: a dead token is in doubt",
    async (by) => {
      const { lab, machine, uuid } = await warmLab();
      expectExit(await get(machine, lab, "--no-ack"), 0);
      const leaves: Record<string, string[]> = {
        export: ["export", uuid],
        backup: ["state", "backup", `${machine.home}/state.backup`],
      };
      if (by in leaves) await machine.ok(...(leaves[by] ?? []));
      const saves = by === "--save-cmd" ? ["--save-cmd", "cat > /dev/null"] : [];
      lab.clock.ahead = 3_600_000;
      expectError(
        await machine.vault("ack", uuid, "--json", ...saves),
        "in-doubt",
        /acknowledgement may or may not have arrived/,
      );
      expectExit(await get(machine, lab), 0);
    },
  );

  it("an export prints what the next start would send, and refused ones only by --generation", async () => {
    const { lab, machine, uuid } = await warmLab();
    const wrong = { encryptedData: "wrong", payload: "wrong" };
    const good = (await machine.vault("export", uuid)).stdout;
    await machine.ok("import", uuid, ...machine.given(wrong));
    expect((await machine.vault("export", uuid)).stdout).toMatch(/"wrong"/);
    lab.faults("end:drop-before*all");
    expectExit(await machine.vault("get", uuid, "--json", "--generation", "3"), 6);
    expect((await machine.vault("export", uuid)).stdout).toBe(good);
    expect((await machine.vault("export", uuid, "--generation", "3")).stdout).toMatch(/"wrong"/);
    expect((await machine.vault("export", uuid, "--generation", "1")).stdout).toContain(
      lab.vault.credentials.payload,
    );
  });
});

describe("a service that is out", () => {
  it("costs each vault one start at most, whatever is run meanwhile", async () => {
    const service = await startHostileService();
    const machine = machineFor(service);
    const vaults = Array.from({ length: 5 }, (_, n) => `aaaaaaaa-bbbb-4ccc-8ddd-00000000000${n}`);
    const pair = machine.given({ encryptedData: "e", payload: "p" }, "generic/offline");
    for (const uuid of vaults) await machine.ok("import", uuid, ...pair);
    for (const status of [503, 502]) {
      service.be((_, { send }) => send("Service Unavailable", status));
      for (let round = 0; round < 3; round += 1) {
        for (const uuid of vaults)
          expect((await machine.vault("get", uuid, "--json", "--max-wait", "10ms")).code).toBe(10);
      }
    }
    const starts = service.asked.filter(({ what }) => what === "get-start").map(({ path }) => path);
    expect(new Set(starts).size).toBe(starts.length);
    service.be((_, { good, send }) => send(good));
    for (const uuid of vaults) await machine.ok("get", uuid, "--json");
  });

  it("a token that has died meanwhile does not stand in the way of a get for ever", async () => {
    for (const answer of [
      { status: 503 },
      { status: 204 },
      { status: 302 },
      { status: 200, body: "<html>" },
    ]) {
      const service = await startHostileService();
      const machine = machineFor(service);
      const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-000000000001";
      const pair = machine.given({ encryptedData: "e", payload: "p" }, "generic/offline");
      service.be(({ what }, { good, send }) => {
        if (what === "get-end") return send(answer.body ?? "", answer.status);
        const token = good["transactionToken"] as Record<string, unknown>;
        send({ ...good, transactionToken: { ...token, expiry: "2020-01-01T00:00:00Z" } });
      });
      expectExit(await machine.vault("get", uuid, "--json", ...pair), 12);
      expectExit(await machine.vault("ack", uuid, "--json"), 12);
      service.be((_, { good, send }) => send(good));
      const read = await machine.ok("get", uuid, "--json");
      expect(JSON.parse(read.stdout)).toMatchObject({ settled: [{ outcome: "acknowledged" }] });
    }
  });
});

describe("a read whose answer lacks the contents", () => {
  const uuid = "aaaaaaaa-bbbb-4ccc-8ddd-000000000001";
  const without =
    (what: object) =>
    async (kind: Kind, usesRemaining: number | undefined, ...output: string[]) => {
      const service = await startHostileService();
      const machine = machineFor(service);
      service.be((_, { good, send }) => {
        const vault = good["vault"] as Record<string, unknown> | undefined;
        const { creditCard: _card, content: _content, ...rest } = vault ?? {};
        const uses = usesRemaining === undefined ? {} : { usesRemaining };
        send(vault === undefined ? good : { ...good, vault: { ...rest, ...what, ...uses } });
      });
      const pair = machine.given({ encryptedData: "e", payload: "p" }, kind);
      const read = await machine.vault("get", uuid, "--json", ...pair, ...output);
      const isEnd = ({ path, what: asked }: (typeof service.asked)[number]): boolean =>
        asked === "get-end" && path.includes(uuid);
      return { read, ends: service.asked.filter(isEnd).length };
    };

  it.each<[Kind, object]>([
    ["generic/offline", {}],
    ["credit-card/offline", {}],
    ["credit-card/offline", { creditCard: null }],
    ["credit-card/offline", { creditCard: { name: "Ada", expiryMonth: 4, expiryYear: 2031 } }],
  ])("is held for a limited vault, and a warning for any other: %s %j", async (kind, what) => {
    const limited = await without(what)(kind, 1);
    expectError(limited.read, "pending", /lacks the contents/);
    expect(limited.ends).toBe(0);
    const unlimited = await without(what)(kind, undefined);
    expectExit(unlimited.read, 0);
    expect(unlimited.read.stderr).toMatch(/warning|content|creditCard/);
  });

  it("is held where it lacks the one field of them that is to be printed", async () => {
    const creditCard = { number: "4111111111111111", expiryMonth: 4, expiryYear: 2031 };
    const name = ["--field", "vault.creditCard.name"];
    const { read, ends } = await without({ creditCard })("credit-card/offline", undefined, ...name);
    expectError(read, "pending", /the service's response has no vault\.creditCard\.name/);
    expect([read.stdout, ends]).toEqual(["", 0]);
  });
});
