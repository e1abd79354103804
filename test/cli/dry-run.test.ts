import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  firstGetArgs,
  offlineNote,
  onlineCard,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";

interface DryRun {
  kind: string;
  settlesFirst: string | null;
  request: {
    generation: number | string;
    body: { device?: object; vault: { credentials: object } };
  };
  counts: { before: object; atMostAfter: object };
}

const dryRun = async (machine: Machine, ...args: string[]): Promise<DryRun> =>
  JSON.parse((await machine.ok(...args, "--dry-run", "--json")).stdout) as DryRun;

describe.concurrent("--dry-run", () => {
  it("sends nothing, records nothing and shows no secret", async () => {
    const lab = await openLab(offlineNote);
    const { service, vault } = lab;
    const fresh = lab.machine();
    const first = await fresh.ok(...firstGetArgs(fresh, vault), "--dry-run", "--json");
    const machine = await lab.warmMachine();
    const sent = service.sandbox.requests().length;
    const before = await machine.status(vault.uuid);
    const shown = await machine.ok("get", vault.uuid, "--dry-run", "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({
      dryRun: true,
      settlesFirst: null,
      request: { generation: 2 },
      counts: {
        before: { unackedStarts: 0 },
        atMostAfter: { unackedStarts: 1, failedAttempts: 1 },
      },
    });
    await machine.ok("get", vault.uuid, "--dry-run");
    expect(service.sandbox.requests()).toHaveLength(sent);
    expect(await machine.status(vault.uuid)).toEqual(before);
    for (const secret of [vault.credentials.payload, service.application.apiKey])
      expect(first.stdout + shown.stdout).not.toContain(secret);
  });

  it("shows the hashedPin and the device of an online vault, and that an unanswered start may count as failed", async () => {
    const { lab, machine } = await coldLab(onlineCard);
    const shown = await machine.ok(...firstGetArgs(machine, lab.vault), "--dry-run", "--json");
    expect(JSON.parse(shown.stdout)).toMatchObject({
      request: {
        generation: "the given credentials",
        body: {
          device: lab.vault.device,
          vault: {
            credentials: { encryptedData: "«secret»", payload: "«secret»", hashedPin: "«secret»" },
          },
        },
      },
      counts: { atMostAfter: { unackedStarts: 1, failedAttempts: 1 } },
    });
  });

  it("raises what a run would raise: an unknown generation, a held exchange", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const unknown = ["get", uuid, "--generation", "99", "--force", "--dry-run", "--json"];
    expectError(await machine.vault(...unknown), "no-credentials", /generation 99/);
    await machine.ok("get", uuid, "--no-ack");
    expectError(await machine.vault("get", uuid, "--dry-run", "--json"), "pending", /held/);
    expect(await dryRun(machine, "get", uuid, "--discard-pending")).toMatchObject({
      settlesFirst: expect.stringMatching(/drops exchange/) as string,
      request: { generation: 2 },
    });
  });

  it("raises it also of given credentials that are not recorded yet", async () => {
    const { machine, uuid, kind, credentials } = await coldLab(offlineNote);
    await machine.ok(
      "import",
      uuid,
      ...machine.given({ encryptedData: "bm8=", payload: "bm8=" }, kind),
    );
    await machine.ok("guard", uuid, "--reset", "--starts", "3");
    const get = ["get", uuid, ...machine.given(credentials), "--no-ack", "--json"];
    expectError(await machine.vault(...get, "--dry-run"), "guard", /at once/);
    expectError(await machine.vault(...get), "guard", /at once/);
  });

  it("goes on from what settling would leave", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    lab.faults("end:drop-before");
    expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "0s" } }, "get", uuid), 11);
    expect(await dryRun(machine, "get", uuid)).toMatchObject({
      settlesFirst: expect.stringMatching(/^acknowledge exchange .* ending$/) as string,
      request: { generation: 3 },
      counts: { before: { unackedStarts: 0 } },
    });
  });

  it("prints one value of it with --field", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const kind = await machine.vault("get", uuid, "--dry-run", "--field", "kind");
    expect(kind).toMatchObject({ code: 0, stdout: lab.vault.kind });
  });

  it("takes the kind from a recovery document", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const given = machine.given(await machine.exported(uuid));
    expect(await dryRun(lab.machine(), "get", uuid, ...given)).toMatchObject({
      kind: lab.vault.kind,
      settlesFirst: expect.stringContaining("of the recovery document") as string,
      request: { generation: "the new credentials of the recovery document" },
    });
  });
});
