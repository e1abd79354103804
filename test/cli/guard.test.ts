import { describe, expect, it } from "vitest";
import {
  expectError,
  expectInStep,
  firstGetArgs,
  offlineCard,
  offlineNote,
  onlineCard,
  openLab,
  warmLab,
} from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";

const { hashedPin: _pin, ...withoutPin } = onlineCard;

const wrong = (n: number) => ({ encryptedData: `wrong-data-${n}`, payload: `wrong-payload-${n}` });

describe.concurrent("the guard", () => {
  it("refuses the third of three wrong pairs, and the right one behind them, until a person resets it", async () => {
    const lab = await openLab(offlineCard);
    const { service, vault } = lab;
    const machine = lab.machine();
    const get = (n: number) => [
      "get",
      vault.uuid,
      ...machine.given(wrong(n), vault.kind),
      "--json",
    ];
    for (const n of [1, 2]) {
      expectError(await machine.vault(...get(n)), "rejected");
      expect(service.sandbox.requests()).toHaveLength(n);
    }
    const third = await machine.vault(...get(3));
    expectError(third, "guard", /failed attempts/);
    expect(errorOf(third).help).toContain(`vault guard ${vault.uuid} --reset`);
    expect(errorOf(third).spent).toMatchObject({ failedAttempts: 2 });
    const right = [...firstGetArgs(machine, vault), "--json"];
    expectError(await machine.vault(...right), "guard");
    expect(service.sandbox.requests()).toHaveLength(2);
    expect(service.sandbox.inspect(vault.uuid)).toMatchObject({
      state: "active",
      failedAccesses: 2,
      maxFailedAccesses: 2,
    });
    await machine.ok("guard", vault.uuid, "--reset", "--yes", "--json");
    await machine.ok(...right);
    await expectInStep(lab, machine, vault.uuid);
  });

  it("never sends a refused combination twice, not as the stored pair and not as a given one", async () => {
    const lab = await openLab(onlineCard);
    const { service, vault } = lab;
    const machine = lab.machine();
    const get = [...firstGetArgs(machine, { ...vault, credentials: wrong(1) }), "--json"];
    expectError(await machine.vault(...get), "rejected");
    expectError(await machine.vault(...get), "guard", /refused .* before/);
    expectError(await machine.vault("get", vault.uuid, "--json"), "guard", /refused .* before/);
    const shown = await machine.ok("guard", vault.uuid, "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({
      vaults: [{ refuses: expect.stringMatching(/refused .* before$/) as string }],
    });
    expect(service.sandbox.requests()).toHaveLength(1);
    // Another device makes it another combination.
    const device = machine.file("other.json", { ...vault.device, fonts: ["Courier"] });
    expectError(
      await machine.vault("get", vault.uuid, "--device", `@${device}`, "--json"),
      "rejected",
    );
    expect(service.sandbox.requests()).toHaveLength(2);
  });

  it("never sends a superseded pair, but as a generation that is chosen with --force", async () => {
    const lab = await openLab(offlineNote);
    const { service, vault } = lab;
    const machine = await lab.warmMachine();
    const old = machine.given(vault.credentials, vault.kind);
    const sent = service.sandbox.requests().length;
    const refused = async (command: string, ...args: string[]): Promise<void> => {
      const result = await machine.vault(command, vault.uuid, ...args, "--json");
      expectError(result, "no-credentials", /superseded/);
    };
    for (const args of [[], ["--force"], ["--force", "--dry-run"]])
      await refused("get", ...old, ...args);
    await refused("get", "--generation", "1");
    const chosen = ["get", vault.uuid, "--generation", "1", "--force", "--json"];
    expectError(
      await machine.vault(...chosen),
      "usage",
      /^confirmation required: Send generation 1 /,
    );
    await refused("import", ...old);
    // Fingerprints outlive the vault.
    await machine.ok("forget", vault.uuid, "--yes");
    await refused("get", ...old, "--force");
    expect(service.sandbox.requests()).toHaveLength(sent);
  });

  it("sent by a person, are no sign of another holder", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const sent = ["get", uuid, "--generation", "1", "--force", "--yes", "--json"];
    const result = await machine.vault(...sent);
    expectError(result, "rejected");
    expect(errorOf(result).message).not.toContain("another machine");
    await machine.ok("get", uuid);
  });

  it("never sends a pair of one service to another", async () => {
    const lab = await openLab(offlineNote);
    const other = await openLab({ ...offlineNote, uuid: lab.vault.uuid });
    const { uuid, kind } = lab.vault;
    const machine = await lab.warmMachine();
    const moved = { env: { VAULTSVC_BASE_URL: other.service.baseUrl } };
    const pair = machine.file("other.json", other.vault.credentials);
    for (const args of [
      ["get", uuid],
      ["get", uuid, "--force"],
      ["get", uuid, "--dry-run"],
      ["get", uuid, "--kind", kind, "--credentials", `@${pair}`],
      ["ack", uuid],
    ]) {
      expectError(
        await machine.vaultWith(moved, ...args, "--json"),
        "no-credentials",
        /belongs to/,
      );
    }
    expectError(
      await machine.vault("get", uuid, "--api-prefix", "/other/v1-2", "--json"),
      "no-credentials",
      /belongs to/,
    );
    expect(other.service.sandbox.requests()).toEqual([]);
    expect(lab.service.sandbox.requests()).toHaveLength(2);
    await machine.ok("get", uuid);
  });
});

describe.concurrent("what goes beside a pair", () => {
  it.each([{ browserType: "Chrome" }, { osType: "Windows" }])(
    "a device with %o is refused before it is sent",
    async (change) => {
      const lab = await openLab(onlineCard);
      const { service, vault } = lab;
      const machine = lab.machine();
      const pin = `@${machine.file("pin", vault.credentials.hashedPin)}`;
      await machine.ok(...firstGetArgs(machine, vault), "--hashed-pin", pin);
      const other = machine.file("other.json", { ...vault.device, ...change });
      expectError(
        await machine.vault("get", vault.uuid, "--device", `@${other}`, "--json"),
        "guard",
        /device/,
      );
      expect(service.sandbox.requests()).toHaveLength(2);
      // A newer version of the same browser is the same device; kind, pin and device are remembered.
      const newer = machine.file("newer.json", { ...vault.device, browserVersion: "140.0" });
      await machine.ok("get", vault.uuid, "--device", `@${newer}`, "--json");
      await machine.ok("get", vault.uuid, "--json");
      await expectInStep(lab, machine, vault.uuid);
    },
  );

  it.each([
    ["a hashedPin", onlineCard],
    ["a first hashedPin", withoutPin],
  ] as const)("%s that is refused says nothing of a pair that has worked", async (_, seed) => {
    const lab = await openLab(seed);
    const { uuid } = lab.vault;
    const machine = lab.machine();
    await machine.ok(...firstGetArgs(machine, lab.vault));
    const get = ["get", uuid, "--hashed-pin", `@${machine.file("pin", "d3Jvbmc=")}`, "--json"];
    const refused = await machine.vault(...get);
    expectError(refused, "rejected", /^the service refused/);
    const plain = {
      argv: ["vault", "get", uuid],
      note: "without --hashed-pin, --device and --kind",
    };
    expect(errorOf(refused).next[0]).toEqual(plain);
    const again = await machine.vault(...get);
    expectError(again, "guard", /refused generation \d of vault \S+ before$/);
    expect(errorOf(again).next[0]).toEqual(plain);
    expect(lab.service.sandbox.requests()).toHaveLength(3);
    expect(await machine.status(uuid)).toMatchObject({ status: "ready", failedAttempts: 1 });
    await machine.ok("status", uuid, "--fail-on", "any");
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("another device that is sent by force and refused says nothing of a pair that has worked", async () => {
    const lab = await openLab(onlineCard);
    const { uuid, device } = lab.vault;
    const machine = lab.machine();
    await machine.ok(...firstGetArgs(machine, lab.vault));
    const other = `@${machine.file("other", { ...device, osType: "Windows" })}`;
    const get = ["get", uuid, "--device", other, "--force", "--json"];
    const refused = await machine.vault(...get);
    expectError(refused, "rejected", /^the service refused/);
    expect(errorOf(refused).next[0]).toMatchObject({ argv: ["vault", "get", uuid] });
    expect(await machine.status(uuid)).toMatchObject({ status: "ready", failedAttempts: 1 });
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("a refusal with a first device, or a newer version of one, is of the pair", async () => {
    const lab = await openLab(onlineCard);
    const { uuid, kind, credentials, device } = lab.vault;
    const refusedWith = async (machine: Machine, sent: object | undefined): Promise<void> => {
      const line = ["get", uuid, "--device", `@${machine.file("device", sent)}`, "--json"];
      expectError(await machine.vault(...line), "rejected");
      expect(await machine.status(uuid)).toMatchObject({ status: "rejected", failedAttempts: 1 });
    };
    const machine = lab.machine();
    await machine.ok("import", uuid, ...machine.given({ ...credentials, payload: "bm8=" }, kind));
    await refusedWith(machine, device);
    const first = lab.machine();
    await first.ok(...firstGetArgs(first, lab.vault));
    const copy = first.copy();
    await first.ok("get", uuid);
    await refusedWith(copy, { ...device, browserVersion: "140.0" });
  });

  it.each([{ osType: "Windows" }, { browserVersion: "1.0" }])(
    "a choice names all that may be valid, also what was refused with %o",
    async (change) => {
      const lab = await openLab(onlineCard);
      const { uuid, kind, credentials, device } = lab.vault;
      const machine = lab.machine();
      const own = `@${machine.file("device", device)}`;
      await machine.ok("import", uuid, ...machine.given(credentials, kind), "--device", own);
      const other = `@${machine.file("other", { ...device, ...change })}`;
      expectError(await machine.vault("get", uuid, "--device", other, "--json"), "rejected");
      await machine.ok("import", uuid, ...machine.given(wrong(1)), "--device", own);
      const choice = await machine.vault("get", uuid, "--json");
      expectError(choice, "guard", /generations 2 \(imported\), 1 \(imported\)/);
      expect(errorOf(choice).help).toMatch(/--generation 2 .*--generation 1 /);
      await machine.ok("get", uuid, "--generation", "1");
    },
  );

  it("a given pair that differs from the stored one needs --force", async () => {
    const lab = await openLab(offlineNote);
    const { service, vault } = lab;
    const machine = await lab.warmMachine();
    const get = ["get", vault.uuid, ...machine.given(wrong(1)), "--json"];
    expectError(await machine.vault(...get), "no-credentials", /differ/);
    expect(service.sandbox.requests()).toHaveLength(2);
    expectError(await machine.vault(...get, "--force"), "rejected");
    expect(service.sandbox.requests()).toHaveLength(3);
    // The wrong one stands in the way of nothing.
    await machine.ok("get", vault.uuid, "--json");
    await expectInStep(lab, machine, vault.uuid);
  });

  it("the stored pair may be given again", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, ...machine.given(lab.service.sandbox.inspect(uuid).pair));
    await expectInStep(lab, machine, uuid);
  });
});

describe.concurrent("counters", () => {
  it("outlive forget", async () => {
    const lab = await openLab(offlineNote);
    const { service, vault } = lab;
    const machine = await lab.warmMachine();
    for (const n of [1, 2]) {
      const get = ["get", vault.uuid, ...machine.given(wrong(n)), "--force", "--json"];
      expectError(await machine.vault(...get), "rejected");
    }
    const { pair } = service.sandbox.inspect(vault.uuid);
    await machine.ok("forget", vault.uuid, "--yes", "--json");
    const known = await machine.ok("guard", vault.uuid, "--json");
    expect(JSON.parse(known.stdout)).toMatchObject({
      vaults: [{ failedAttempts: 2, allows: false }],
    });
    const sent = service.sandbox.requests().length;
    const get = ["get", vault.uuid, ...machine.given(pair, vault.kind), "--json"];
    expectError(await machine.vault(...get), "guard");
    expect(service.sandbox.requests()).toHaveLength(sent);
    await machine.ok(...get, "--force");
    await expectInStep(lab, machine, vault.uuid);
  });

  it("are reset for one vault, and only when it is confirmed", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    expectError(
      await machine.vault("guard", uuid, "--reset", "--json"),
      "usage",
      /--yes|confirm|asked/i,
    );
    expectError(await machine.vault("guard", "--reset", "--yes", "--json"), "usage");
    expect((await machine.status(uuid)).unackedStarts).toBe(1);
    await machine.ok("guard", uuid, "--reset", "--yes");
    expect((await machine.status(uuid)).unackedStarts).toBe(0);
    await machine.ok("ack", uuid);
  });

  it("are set to what the audit log shows: after two refusals, credentials that were imported read", async () => {
    const lab = await openLab(offlineNote);
    const { service, vault } = lab;
    const machine = lab.machine();
    for (const n of [1, 2]) {
      const get = firstGetArgs(machine, { ...vault, credentials: wrong(n) });
      expectError(await machine.vault(...get, "--json"), "rejected");
    }
    // Another program has read the vault meanwhile, and one more attempt has failed since: that is what the log shows.
    await machine.ok("import", vault.uuid, ...machine.given(vault.credentials));
    expectError(await machine.vault("get", vault.uuid, "--json"), "guard");
    expect(service.sandbox.requests()).toHaveLength(2);
    await machine.ok("guard", vault.uuid, "--reset", "--failed", "1", "--starts", "0");
    expect(await machine.status(vault.uuid)).toMatchObject({ failedAttempts: 1, unackedStarts: 0 });
    await machine.ok("get", vault.uuid);
    await expectInStep(lab, machine, vault.uuid);
    // One number leaves the other.
    await machine.ok("guard", vault.uuid, "--reset", "--starts", "3");
    await machine.ok("guard", vault.uuid, "--reset", "--failed", "1");
    expect(await machine.status(vault.uuid)).toMatchObject({ failedAttempts: 1, unackedStarts: 3 });
  });
});
