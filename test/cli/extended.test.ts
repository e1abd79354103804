import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it } from "vitest";
import { releaseLockFile, tryLockFile } from "../../src/files/lock-file.ts";
import type { Pair } from "../../src/protocol/answers.ts";
import { kinds, isCreditCard, isOnline, type Kind } from "../../src/protocol/endpoints.ts";
import type { Lab } from "../support/lab.ts";
import {
  card,
  expectError,
  expectExit,
  expectInStep,
  firstGetArgs,
  note,
  offlineNote,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { documentOf, errorOf, type Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { device } from "../support/examples.ts";

interface Created {
  vault: { uuid: string; credentials: Pair };
  kind: string;
  created: { generation: number; fingerprint: string };
}

const createdOf = (result: RunResult): Created => JSON.parse(result.stdout) as Created;

function createArgs(machine: Machine, kind: Kind, ...more: string[]): string[] {
  const contents = isCreditCard(kind)
    ? ["--card", `@${machine.file("new-card.json", card)}`]
    : ["--content", `@${machine.file("new-note.txt", note)}`];
  const online = isOnline(kind) ? ["--device", `@${machine.file("device.json", device)}`] : [];
  return ["create", "--kind", kind, ...contents, ...online, "--json", ...more];
}

async function create(
  machine: Machine,
  kind: Kind = "generic/offline",
  ...more: string[]
): Promise<Created> {
  const result = await machine.ok(...createArgs(machine, kind, ...more));
  expect(result.stderr).toBe("");
  return createdOf(result);
}

/** The vaults that the service has beside the one of the lab. */
const others = ({ service, vault }: Lab): string[] =>
  service.sandbox.vaults().flatMap(({ uuid }) => (uuid === vault.uuid ? [] : [uuid]));
const auditOf = ({ service }: Lab, uuid: string | null): string[] =>
  service.sandbox
    .audit()
    .flatMap((item) => (item.vaultUuid === uuid ? [`${item.action} ${item.outcome}`] : []));

describe.concurrent.each(kinds)("a %s vault", (kind) => {
  it("is created, and read, asked about and deleted without more being given", async () => {
    const { lab, machine } = await coldLab();
    const online = isOnline(kind);
    const pin = machine.file("pin", "c2VjcmV0LXBpbg==");
    const made = await create(
      machine,
      kind,
      "--label",
      "mine",
      ...(online ? ["--hashed-pin", `@${pin}`] : ["--max-usage", "5"]),
    );
    const { uuid } = made.vault;
    expect(others(lab)).toEqual([uuid]);
    expect(made).toMatchObject({ uuid, label: "mine", kind, created: { generation: 1 } });
    expect(await machine.exported(uuid)).toEqual({
      ...made.vault.credentials,
      ...(online ? { hashedPin: "c2VjcmV0LXBpbg==" } : {}),
    });
    expect(await machine.status(uuid)).toMatchObject({
      status: "ready",
      generation: 1,
      proven: true,
      usesRemaining: online ? null : 5,
    });

    const read = await machine.ok("get", uuid, "--json");
    expect(documentOf(read).vault).toMatchObject(
      isCreditCard(kind) ? { creditCard: card } : { content: note },
    );
    await expectInStep(lab, machine, uuid);

    const info = await machine.ok("info", uuid, "--json");
    const { autoLockDate, usesRemaining } = lab.service.sandbox.inspect(uuid);
    expect(JSON.parse(info.stdout)).toMatchObject({
      uuid,
      kind,
      info: {
        autoLockDate: new Date(autoLockDate).toISOString(),
        metadata: {},
        ...(online ? {} : { usesRemaining }),
      },
    });

    const deleted = await machine.ok("delete", uuid, "--yes", "--json", "--external-ref", "closed");
    expect(JSON.parse(deleted.stdout)).toEqual({
      deleted: [{ uuid, label: "mine", kind, externalRef: "closed" }],
    });
    expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
    expect(await machine.exported(uuid)).toBeNull();
    expectExit(await machine.vault("status", uuid), 4);
    expectError(await machine.vault("get", uuid, "--json"), "no-credentials");
    const gone = await machine.vault("info", uuid, "--kind", kind, "--json");
    expectError(gone, "service", /no such endpoint, or no such vault/);
    expect(auditOf(lab, uuid)).toEqual([
      "CREATE_VAULT SUCCESS",
      "READ_VAULT SUCCESS",
      "ACKNOWLEDGE_READ_VAULT SUCCESS",
      "DELETE_VAULT SUCCESS",
    ]);
  });
});

describe.concurrent("vault create", () => {
  it("sends what is asked for; content goes to the last byte", async () => {
    const { lab, machine } = await coldLab();
    const args = [
      "create",
      "--kind",
      "generic/offline",
      "--content",
      "-",
      "--external-ref",
      "order-7",
    ];
    const expiry = ["--expiry-date", "2099-01-01T00:00:00+02:00", "--field", "vault.uuid"];
    const metadata = ["--metadata", "team=ops", "--metadata", "cost centre=7"];
    const result = await machine.okWith({ input: "two\nlines\n" }, ...args, ...expiry, ...metadata);
    const uuid = result.stdout;
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      content: "two\nlines\n",
      expiryDate: Date.parse("2098-12-31T22:00:00Z"),
    });
    expect(lab.service.sandbox.audit().at(-1)).toMatchObject({
      action: "CREATE_VAULT",
      externalRef: "order-7",
    });
    const kept = await machine.vault("info", uuid, "--field", "info.metadata");
    expect(JSON.parse(kept.stdout)).toEqual({ team: "ops", "cost centre": "7" });
  });

  it("prints a table without secrets, and with them only if asked to", async () => {
    const { lab, machine } = await coldLab();
    const args = createArgs(machine, "generic/offline").filter((word) => word !== "--json");
    const table = await machine.ok(...args, "--label", "mine");
    const [uuid = ""] = others(lab);
    const { encryptedData } = lab.service.sandbox.inspect(uuid).pair;
    expect(table.stdout).toContain(uuid);
    expect(table.stdout).toMatch(/Label\tmine[^]*Credentials\tgeneration 1, sha256:/);
    expect(table.stdout).not.toContain(encryptedData);
    const revealed = await machine.vault(...args, "--reveal");
    const second = others(lab).find((one) => one !== uuid) ?? "";
    expect(revealed.stdout).toContain(lab.service.sandbox.inspect(second).pair.encryptedData);
  });

  it.each([
    ["drop-after", true],
    ["cut", true],
    ["garbage", true],
    ["error-after=502", true],
    ["status=503", false],
    ["drop-before", false],
  ])(
    "unanswered (%s): exit 10, never sent twice, and the external reference finds what nobody has the credentials of",
    async (fault, made) => {
      const { lab, machine } = await coldLab();
      lab.faults(`create:${fault}*all`);
      const result = await machine.vault(...createArgs(machine, "generic/offline"));
      expectError(result, "network", /a vault may exist whose credentials nobody has/);
      const { retry, hint } = errorOf(result);
      expect(retry).toBe("after-status");
      const [, reference] = /external reference (vault-\w+)/.exec(hint ?? "") ?? [];
      const items = lab.service.sandbox
        .audit()
        .filter(({ externalRef }) => externalRef === reference);
      expect(items.map(({ action }) => action)).toEqual(made ? ["CREATE_VAULT"] : []);
      expect(
        lab.service.sandbox.requests().filter(({ operation }) => operation === "create"),
      ).toHaveLength(1);
      lab.service.faults.clear();
      await create(machine);
    },
  );

  it("SUCCESS without credentials: exit 13, and the whole answer is printed, because it may hold them", async () => {
    const { lab, machine } = await coldLab();
    lab.faults("create:no-credentials");
    const result = await machine.vault(...createArgs(machine, "generic/offline"));
    expectError(result, "service", /a vault was created/);
    const [uuid] = others(lab);
    expect(JSON.parse(result.stdout)).toMatchObject({ answer: { vault: { uuid } } });
  });

  it("waits after a 429, and a refusal says what is wrong; nothing is left of either", async () => {
    const { lab, machine } = await coldLab();
    lab.faults("create:status=429,retry-after=0*2");
    await create(machine);
    const refused = await machine.vaultWith(
      { env: { VAULTSVC_API_KEY: "ffffffff-ffff-4fff-8fff-ffffffffffff" } },
      ...createArgs(machine, "generic/offline"),
    );
    expectError(refused, "unauthorized");
    await create(machine);
    expect(others(lab)).toHaveLength(2);
  });

  it("what cannot be stored after all is printed: exit 14, and nothing is lost", async ({
    expect,
  }) => {
    const { lab, machine } = await warmLab();
    lab.faults("create:delay=1500ms");
    const running = machine.start({}, ...createArgs(machine, "generic/offline"));
    await expect.poll(() => others(lab).length, { timeout: 20_000 }).toBe(1);
    const state = new DatabaseSync(join(machine.stateDir, "vault.db"), { timeout: 5000 });
    state.exec("ALTER TABLE spent RENAME TO elsewhere");
    state.close();
    const result = await running.exit;
    expectError(result, "state", /was created, but its credentials could not be stored/);
    expect(errorOf(result)).toMatchObject({
      retry: "never",
      help: expect.stringContaining("vault import") as string,
    });
    const [uuid = ""] = others(lab);
    expect(lab.service.sandbox.accepts(uuid, createdOf(result).vault.credentials)).toBe(true);
  });

  it("says busy while an operation has the whole state", async () => {
    const { lab, machine } = await warmLab();
    const gate = tryLockFile(join(machine.stateDir, "locks", "gate.lock"));
    const args = createArgs(machine, "generic/offline", "--max-wait", "100ms");
    const busy = await machine.vault(...args);
    if (gate !== null) releaseLockFile(gate);
    expectError(busy, "busy", /another process is changing the whole state/);
    expect(others(lab)).toEqual([]);
    await create(machine);
  });

  it("shows no secret, not even with --debug", async () => {
    const { lab, machine } = await coldLab();
    const pin = machine.file("pin", "c2VjcmV0LXBpbg==");
    const result = await machine.ok(
      ...createArgs(machine, "generic/online", "--hashed-pin", `@${pin}`, "--debug"),
    );
    const { credentials, uuid } = createdOf(result).vault;
    const deleted = await machine.ok("delete", uuid, "--yes", "--debug");
    for (const stderr of [result.stderr, deleted.stderr]) {
      expect(stderr).toContain('"type":"response"');
      const secrets = ["Palme", "c2VjcmV0LXBpbg==", ...Object.values({ ...credentials })];
      for (const secret of [note, lab.service.application.apiKey, ...secrets])
        expect(stderr).not.toContain(secret);
    }
  });

  it("with a key that does not fit the state sends nothing", async () => {
    const { lab, machine } = await coldLab();
    await create(machine);
    const wrong = { env: { VAULTSVC_STATE_KEY: Buffer.alloc(32, 7).toString("base64") } };
    expectError(await machine.vaultWith(wrong, ...createArgs(machine, "generic/offline")), "state");
    expect(others(lab)).toHaveLength(1);
  });
});

describe.concurrent("vault info", () => {
  it("is no start: it counts nothing, also when refused, and records nothing", async () => {
    const { lab, machine, uuid } = await warmLab();
    lab.service.sandbox.lock(uuid);
    lab.service.sandbox.unlock(uuid);
    const before = await machine.status(uuid);
    const table = await machine.ok("info", uuid);
    expect(table.stdout).toMatch(/Kind\tgeneric\/offline\nAuto-locks\t20\S+Z\n/);
    const there = new Date(lab.service.sandbox.inspect(uuid).autoLockDate).toISOString();
    expect(table.stdout).toContain(there);
    expect((before as unknown as { autoLockDate: string }).autoLockDate).not.toBe(there);
    lab.faults("info:status=403");
    expectError(await machine.vault("info", uuid, "--json"), "unauthorized");
    expect(await machine.status(uuid)).toEqual(before);
    expect(
      lab.service.sandbox.requests().filter(({ operation }) => operation === "info"),
    ).toHaveLength(2);
  });

  it("of a vault that is not known here needs --kind, and makes nothing known", async () => {
    const { machine, uuid } = await coldLab();
    await machine.ok("info", uuid, "--kind", "generic/offline");
    expect(JSON.parse((await machine.vault("status", "--json")).stdout)).toEqual({ vaults: [] });
    expect(existsSync(join(machine.configDir, "keys"))).toBe(false);
  });

  it("without an answer is exit 10, and safe to run again", async () => {
    const { lab, machine, uuid } = await coldLab();
    lab.faults("info:drop-before*all");
    const failed = await machine.vault("info", uuid, "--kind", "generic/offline", "--json");
    expectError(failed, "network");
    expect(errorOf(failed).retry).toBe("safe");
  });

  it("does not wait for another process that holds the vault", async ({ expect }) => {
    const { lab, machine, uuid } = await warmLab();
    lab.faults("get-start:hang");
    const slow = machine.start({}, "get", uuid, "--json");
    await expect
      .poll(() => lab.service.sandbox.inspect(uuid).pending, { timeout: 20_000 })
      .not.toBeNull();
    const info = await machine.ok("info", uuid, "--json", "--max-wait", "2s");
    expect(info.stderr).toBe("");
    slow.kill("SIGKILL");
    expect((await slow.exit).signal).toBe("SIGKILL");
  });
});

describe.concurrent("vault delete", () => {
  it("without a terminal and --yes is a usage error; nothing is sent", async () => {
    const { lab, machine, uuid } = await warmLab();
    const refused = await machine.vault("delete", uuid, "--json");
    expectError(refused, "usage", /^confirmation required: /);
    expect(errorOf(refused).help).toContain("--yes");
    expect(lab.service.sandbox.inspect(uuid).state).toBe("active");
  });

  it("of a vault whose credentials are not known here is exit 4", async () => {
    const lab = await openLab();
    expectError(
      await lab.machine().vault("delete", lab.vault.uuid, "--yes", "--json"),
      "no-credentials",
    );
  });

  it("with wrong credentials counts a failed access, and the guard refuses the one that would lock", async () => {
    const { lab, machine, uuid, kind } = await coldLab();
    for (const wrong of ["one", "two"]) {
      const pair = { encryptedData: wrong, payload: wrong };
      await machine.ok("import", uuid, ...machine.given(pair, kind));
      expectError(await machine.vault("delete", uuid, "--yes", "--json"), "rejected");
    }
    expect(await machine.status(uuid)).toMatchObject({ failedAttempts: 2, unackedStarts: 0 });
    await machine.ok("import", uuid, ...machine.given(lab.vault.credentials));
    expectError(await machine.vault("delete", uuid, "--yes", "--json"), "guard");
    // Nobody is asked for what is refused anyway.
    expectError(await machine.vault("delete", uuid, "--json"), "guard");
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ state: "active", failedAccesses: 2 });
    await machine.ok("delete", uuid, "--yes", "--force");
    expect(auditOf(lab, uuid)).toEqual([
      "CREATE_VAULT SUCCESS",
      "DELETE_VAULT FAILURE",
      "DELETE_VAULT FAILURE",
      "DELETE_VAULT SUCCESS",
    ]);
  });

  it.each([
    ["by --no-ack", ["--no-ack"]],
    ["undelivered", ["--exec", "false"]],
  ])(
    "with an exchange held %s is exit 11, and goes through with --discard-pending",
    async (_, flags) => {
      const { lab, machine, uuid } = await warmLab();
      await machine.vault("get", uuid, "-o", "ndjson", ...flags);
      const refused = await machine.vault("delete", uuid, "--yes", "--json");
      expectError(refused, "pending", /is held/);
      expect(errorOf(refused).next).toContainEqual({ argv: ["vault", "ack", uuid] });
      await machine.ok("delete", uuid, "--yes", "--discard-pending");
      expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
    },
  );

  it.each([
    ["the end call had arrived", "get-end:drop-after"],
    ["the end call had not arrived", "get-end:drop-before"],
  ])(
    "while it is not known whether an end call arrived (%s), finds that out first",
    async (_, fault) => {
      const { lab, machine, uuid } = await warmLab();
      // Also the last try, at the deadline.
      lab.faults(`${fault}*2`);
      expectExit(await machine.vault("get", uuid, "--json", "--max-wait", "100ms"), 11);
      await machine.ok("delete", uuid, "--yes", "--json");
      expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ state: "deleted" });
      expect(await machine.exported(uuid)).toBeNull();
    },
  );

  it.each([
    ["drop-after", true],
    ["drop-before", false],
    ["status=503", false],
  ])(
    "unanswered (%s): exit 10, sent once, the credentials are kept until it is known",
    async (fault, done) => {
      const { lab, machine, uuid } = await warmLab();
      lab.faults(`delete:${fault}`);
      const result = await machine.vault("delete", uuid, "--yes", "--json");
      expectError(result, "network", /may have been deleted; its credentials are kept/);
      expect(errorOf(result)).toMatchObject({
        retry: "after-status",
        spent: { unackedStarts: 1, failedAttempts: 0 },
        next: [{ argv: ["vault", "info", uuid] }],
      });
      expect(await machine.exported(uuid)).not.toBeNull();
      const again = await machine.vault("delete", uuid, "--yes", "--json");
      if (done) {
        expectError(again, "service", /no such vault/);
        expectError(await machine.vault("get", uuid, "--json"), "locked", /the vault is gone/);
      } else expectExit(again, 0);
      expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
      expect(
        lab.service.sandbox.requests().filter(({ operation }) => operation === "delete"),
      ).toHaveLength(2);
    },
  );

  it("is not sent where nothing can be written", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    expect(readFileSync(join(machine.stateDir, "vault.db")).length).toBeGreaterThan(0);
    const wrong = { env: { VAULTSVC_STATE_KEY: Buffer.alloc(32, 7).toString("base64") } };
    expectError(await machine.vaultWith(wrong, "delete", uuid, "--yes", "--json"), "state");
    expect(lab.service.sandbox.inspect(uuid).state).toBe("active");
  });
});

describe.concurrent("generic vaults (extended)", () => {
  it("an offline one is updated", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    machine.file("new.txt", "the new text\n");
    await machine.ok("update", uuid, "--content", "@new.txt", "--json");
    expect(lab.service.sandbox.inspect(uuid).content).toBe("the new text\n");
    await machine.ok("get", uuid, "--field", "vault.content");
    await expectInStep(lab, machine, uuid);
  });

  it("an online one has no update", async () => {
    const { lab, machine, uuid } = await coldLab({ kind: "generic/online", content: note, device });
    const read = await machine.ok(...firstGetArgs(machine, lab.vault), "--json");
    expect(documentOf(read).vault.content).toBe(note);
    const refused = await machine.vaultWith(
      { input: "x" },
      "update",
      uuid,
      "--content",
      "-",
      "--json",
    );
    expectError(refused, "invalid-input", /no update of generic\/online/);
  });
});
