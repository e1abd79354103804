import { describe, expect, it } from "vitest";
import { expectError, expectExit, offlineNote, warmLab } from "../support/lab.ts";
import { documentOf, errorOf } from "../support/machine.ts";

describe.concurrent("what an error says was counted", () => {
  it.each([
    ["a refused application", 5, "start:status=401"],
    ["a locked vault", 7, ""],
    ["an end call without an answer", 11, "end:drop-before*all"],
    ["an end call that is refused", 13, "end:error-after=400"],
    ["an unknown error", 13, "start:status=418"],
  ])(
    "after %s: what was counted so far, because something was sent",
    async (_, exitCode, fault) => {
      const { lab, machine, uuid } = await warmLab(offlineNote);
      if (fault === "") lab.service.sandbox.lock(uuid);
      else lab.faults(fault);
      const failed = await machine.vault("get", uuid, "--max-wait", "0s", "--json");
      expectExit(failed, exitCode);
      const { unackedStarts, failedAttempts } = await machine.status(uuid);
      expect(errorOf(failed).spent).toMatchObject({
        unackedStarts,
        failedAttempts,
        limits: { unackedStarts: 5, failedAttempts: 3 },
      });
    },
  );

  it("names the vault by UUID and label, and the exchange whole", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("label", uuid, "spare");
    const held = documentOf(await machine.vault("get", uuid, "--no-ack", "--json"));
    const result = await machine.vault("get", "spare", "--json");
    expectError(result, "pending");
    expect(errorOf(result)).toMatchObject({
      uuid,
      label: "spare",
      exchange: { ...held.exchange, state: "held" },
    });
    lab.faults("get-end:drop-before*all");
    const failed = await machine.vault("ack", "--all", "--max-wait", "100ms", "--json");
    expectError(failed, "pending");
    expect(JSON.parse(failed.stdout)).toMatchObject({
      failed: [{ uuid, label: "spare", error: { code: "pending", uuid, label: "spare" } }],
    });
  });

  it("what was settled before it failed", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    lab.faults("end:drop-before");
    expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "0s" } }, "get", uuid), 11);
    lab.faults("start:status=418");
    const failed = await machine.vault("get", uuid, "--json");
    expectError(failed, "service");
    expect(errorOf(failed)).toMatchObject({
      settled: [{ operation: "get", outcome: "acknowledged" }],
    });
  });

  it("that an exchange is in doubt, but not if the start of the same command has resolved it", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote, { policy: { tokenTtlMs: 60_000 } });
    for (const [fault, code, told] of [
      ["end:drop-after", 0, /^Finished the interrupted get \(exchange \w+\)\.\n$/],
      ["start:status=418", 13, /^Could not finish the interrupted get \(exchange \w+\).*\nvault: /],
    ] as const) {
      lab.faults("end:drop-after");
      expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "0s" } }, "get", uuid), 11);
      lab.clock.ahead += 61_000;
      if (code !== 0) lab.faults(fault);
      const next = await machine.vault("get", uuid, "--field", "vault.content");
      expectExit(next, code);
      expect(next.stderr).toMatch(told);
    }
  });
});

describe.concurrent("--max-wait", () => {
  it("bounds the wait for a place under the rate limit; a free place is taken all the same", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const slow = { VAULTSVC_RATE: "1", VAULTSVC_MAX_WAIT: "0s" };
    await machine.okWith({ env: slow }, "get", uuid);
    const sent = lab.service.sandbox.requests().length;
    const limited = await machine.vaultWith({ env: slow }, "get", uuid, "--json");
    expectError(limited, "rate-limited", /--max-wait/);
    expect(errorOf(limited)).toMatchObject({ retry: "safe", uuid, label: null });
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });
});

describe.concurrent("a start that is refused for want of a place", () => {
  it("takes no place: acknowledgements of others do not queue behind it", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const slow = { VAULTSVC_RATE: "1", VAULTSVC_MAX_WAIT: "100ms" };
    await machine.okWith({ env: slow }, "get", uuid, "--no-ack");
    // Within the second of the first one, unless the machine is slow; as places, they would take longer than an end call waits.
    for (let n = 0; n < 8; n += 1) {
      const result = await machine.vaultWith({ env: slow }, "get", uuid, "--discard-pending");
      expectExit(result, 9, 0);
      if (result.code === 0) break;
    }
    await machine.okWith({ env: slow }, "ack", uuid);
  });
});

describe.concurrent("a lock", () => {
  it("is not forgotten for a later error that says nothing about it", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    lab.service.sandbox.lock(uuid);
    expectExit(await machine.vault("get", uuid), 7);
    lab.faults("start:drop-before*all");
    expectExit(await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "0s" } }, "get", uuid), 10);
    const found = await machine.vault("status", "--fail-on", "locked", "--json");
    expectError(found, "finding", /locked/);
    lab.service.faults.clear();
    lab.service.sandbox.unlock(uuid);
    await machine.ok("get", uuid);
    await machine.ok("status", "--fail-on", "locked");
  });
});
