import { editVaults } from "../support/stored-vaults.ts";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import type { Lab } from "../support/lab.ts";
import { card, expectError, expectExit, offlineCard, warmLab, coldLab } from "../support/lab.ts";
import { documentOf, errorOf, type Machine } from "../support/machine.ts";

const grace = { host: "build-7", user: "grace", pid: 7 };

/** Runs a command as somebody else with the same state. */
async function asGrace(
  { env, home }: Machine,
  ...words: string[]
): Promise<{ code: number; err: string }> {
  const host = fakeHost({ env, home, cwd: home, now: "real", files: "real" });
  const code = await main(words, Object.assign(host, { actor: grace }));
  await host.flush();
  return { code, err: host.err };
}

/** A vault whose update is held. */
async function heldUpdate(): Promise<{ lab: Lab; machine: Machine; uuid: string; id: string }> {
  const { lab, machine, uuid } = await warmLab(offlineCard);
  const contents = `@${machine.file("card.json", card)}`;
  await machine.ok("update", uuid, "--card", contents, "--no-ack");
  const id = (await machine.status(uuid)).exchange?.id ?? "";
  return { lab, machine, uuid, id };
}

const drop = ["--discard-pending", "--force"];

describe.concurrent("a held update of somebody else", () => {
  it("is dropped by a get only with --force, and 11 names that way; it is told whose it was", async () => {
    const { lab, machine, uuid, id } = await heldUpdate();
    const { length } = lab.service.sandbox.requests();
    const stopped = await asGrace(machine, "get", uuid, "--discard-pending", "--json");
    expect(stopped.code).toBe(11);
    expect(stopped.err).toMatch(/held \(by --no-ack\)/);
    const { next } = (JSON.parse(stopped.err) as { error: { next: { argv: string[] }[] } }).error;
    expect(next.map(({ argv }) => argv.slice(1))).toEqual([
      ["ack", uuid],
      ["get", uuid, ...drop],
    ]);
    expect(lab.service.sandbox.requests()).toHaveLength(length);
    expect(await machine.status(uuid)).toMatchObject({ status: "held", exchange: { id } });
    const read = await asGrace(machine, "get", uuid, ...drop);
    expect(read.code).toBe(0);
    expect(read.err).toMatch(
      /^Dropped the update of ada@desk since \S+ \(exchange \w+\); the update did not/m,
    );
  });
});

describe.concurrent("ack with nothing pending", () => {
  it("is 6 where the last exchange of this user was dropped by somebody else, and says by whom", async () => {
    const { machine, uuid, id } = await heldUpdate();
    expect(await asGrace(machine, "get", uuid, ...drop)).toMatchObject({ code: 0 });
    const ack = await machine.vault("ack", uuid, "--json");
    expectError(ack, "rejected", /update was not acknowledged: discarded by grace@build-7 at 20/);
    expect(errorOf(ack)).toMatchObject({
      by: grace,
      exchange: { id, operation: "update", state: "discarded" },
      next: [{ argv: ["vault", "update", uuid, "--card", "@FILE"] }],
    });
    const failed = [{ error: { exitCode: 6 } }];
    expect(documentOf(ack)).toMatchObject({ acknowledged: [], failed });
    expect(await asGrace(machine, "ack", uuid)).toMatchObject({ code: 0 });
    await machine.ok("ack", "--all");
  });

  it("is 0 where that was acknowledged, whatever became of others and of starts that were never sent", async () => {
    const { lab, machine, uuid } = await heldUpdate();
    await machine.ok("ack", uuid);
    expect(await asGrace(machine, "get", uuid, "--no-ack")).toMatchObject({ code: 0 });
    expect(await asGrace(machine, "get", uuid, ...drop)).toMatchObject({ code: 0 });
    lab.faults("start:status=429*all");
    const env = { VAULTSVC_MAX_WAIT: "0s" };
    expectExit(await machine.vaultWith({ env }, "get", uuid), 9);
    lab.service.faults.clear();
    const ack = await machine.ok("ack", uuid, "--json");
    expect(documentOf(ack)).toMatchObject({ acknowledged: [], last: { state: "discarded" } });
  });

  it("is 6 after a refusal, with the way on", async () => {
    const { machine, uuid, kind } = await coldLab(offlineCard);
    const wrong = { encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" };
    expectExit(await machine.vault("get", uuid, ...machine.given(wrong, kind)), 6);
    const ack = await machine.vault("ack", uuid, "--json");
    expectError(ack, "rejected");
    const next = [{ argv: ["vault", "import", uuid, "--credentials", "@FILE"] }];
    expect(errorOf(ack)).toMatchObject({ next });
  });

  it("looks in the log for what the rows do not have any more", async () => {
    const { machine, uuid, id } = await heldUpdate();
    expect(await asGrace(machine, "get", uuid, ...drop)).toMatchObject({ code: 0 });
    editVaults(join(machine.stateDir, "vault.db"), (stored) => {
      stored.exchanges = stored.exchanges.filter(({ by }) => by?.user === "grace");
    });
    for (const more of [[], ["--exchange", id]]) {
      const ack = await machine.vault("ack", uuid, ...more, "--json");
      expectError(ack, "rejected", /discarded by grace/);
    }
  });
});

describe.concurrent("ack --exchange", () => {
  it("means that very one: acknowledges it, and is 0 for ever after", async () => {
    const { machine, uuid, id } = await heldUpdate();
    for (const earlier of [undefined, true, true]) {
      const ack = await machine.ok("ack", uuid, "--exchange", id, "--json");
      const { acknowledged } = JSON.parse(ack.stdout) as { acknowledged: { earlier?: true }[] };
      const exchange = { id, state: "acknowledged" };
      expect(acknowledged).toMatchObject([{ uuid, operation: "update", exchange }]);
      expect(acknowledged[0]?.earlier).toBe(earlier);
      if (earlier === true) await machine.ok("get", uuid);
    }
    editVaults(join(machine.stateDir, "vault.db"), (stored) => {
      stored.exchanges = stored.exchanges.filter((row) => row.id !== id);
    });
    await machine.ok("ack", uuid, "--exchange", id);
  });

  it("is 6 for one that was dropped, and leaves another one as it is; 3 for one that nobody knows", async () => {
    const { lab, machine, uuid, id } = await heldUpdate();
    expect(await asGrace(machine, "get", uuid, ...drop, "--no-ack")).toMatchObject({ code: 0 });
    const { length } = lab.service.sandbox.requests();
    const line = ["ack", uuid, "--json", "--exchange"];
    expectError(await machine.vault(...line, id), "rejected", /discarded by grace@build-7/);
    expectError(await machine.vault(...line, "01M7Y3P9D38A32BTQW7FNSAFG1"), "invalid-input");
    expect(lab.service.sandbox.requests()).toHaveLength(length);
    expect(await machine.status(uuid)).toMatchObject({ status: "held" });
    const all = await machine.vault("ack", "--all", "--exchange", id, "--json");
    expectError(all, "usage", /--exchange cannot be used with --all/);
  });

  it("is 6 for one that has expired", async () => {
    const { lab, machine, uuid, id } = await heldUpdate();
    lab.clock.ahead = 86_400_000;
    expectExit(await machine.vault("ack", uuid), 13);
    const ack = await machine.vault("ack", uuid, "--exchange", id, "--json");
    expectError(ack, "rejected", /expired by ada@desk/);
    expectError(await machine.vault("ack", uuid, "--json"), "rejected");
  });
});
