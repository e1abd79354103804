import { join } from "node:path";
import fc from "fast-check";
import { expect, it } from "vitest";
import { offlineCard, offlineNote, openLab } from "../support/lab.ts";
import { tempDir } from "../support/cleanup.ts";
import type { VaultReport } from "../../src/documents/audit.ts";

/** What a client does to one of the vaults; `fault` is armed before it. */
const happening = fc.record({
  vault: fc.nat(5),
  what: fc.constantFrom(
    "get",
    "get",
    "get",
    "hold",
    "hold",
    "ack",
    "wrong",
    "wrong",
    "update",
    "delete",
  ),
  fault: fc.constantFrom(
    undefined,
    undefined,
    undefined,
    "get-start:drop-after",
    "get-end:drop-after",
    "get-end:drop-before",
    "get-start:status=503",
  ),
});

const wrong = JSON.stringify({ encryptedData: "d3Jvbmc=", payload: "d3Jvbmc=" });
const card = JSON.stringify({
  number: "4111111111111111",
  name: "Ada Lovelace",
  expiryMonth: 4,
  expiryYear: 2031,
});

it(
  "of the sandbox's own export, after real commands with faults: every vault as the sandbox has it",
  { timeout: 300_000 },
  async () => {
    const seed = [
      offlineNote,
      offlineCard,
      offlineNote,
      offlineCard,
      offlineNote,
      { ...offlineNote, maxUsage: 6 },
    ];
    const seen = new Set<string>();
    for (const run of [1, 2, 3, 4]) {
      const readyFile = join(tempDir("ready"), "ready.json");
      const lab = await openLab(seed, { readyFile });
      const machine = lab.machine();
      const { vaults, sandbox } = lab.service;
      const command = async (...args: string[]) =>
        await machine.vaultWith({ env: { WRONG: wrong, CARD: card } }, ...args);
      for (const { uuid, kind, credentials } of vaults) {
        await machine.vaultWith(
          { env: { PAIR: JSON.stringify(credentials) } },
          "import",
          uuid,
          "--kind",
          kind,
          "--credentials",
          "env:PAIR",
        );
      }
      const [happenings = []] = fc.sample(fc.array(happening, { minLength: 60, maxLength: 60 }), {
        seed: run,
        numRuns: 1,
      });
      for (const { vault, what, fault } of happenings) {
        const { uuid = "", kind = "" } = vaults[vault] ?? {};
        if (fault !== undefined) lab.faults(fault);
        const quick = ["--force", "--timeout", "10s", "--max-wait", "2s", "--json"];
        if (what === "get") await command("get", uuid, ...quick);
        else if (what === "hold")
          await command("get", uuid, "--no-ack", "--discard-pending", ...quick);
        else if (what === "ack") await command("ack", uuid, "--timeout", "10s", "--max-wait", "2s");
        else if (what === "wrong")
          await command("get", uuid, "--credentials", "env:WRONG", "--discard-pending", ...quick);
        else if (what === "update" && kind.startsWith("credit"))
          await command("update", uuid, "--card", "env:CARD", "--yes", ...quick);
        else if (what === "delete" && vault === 4) await command("delete", uuid, "--yes", "--json");
        lab.service.faults.clear();
      }
      for (const file of [join(machine.home, "items.ndjson"), join(machine.home, "items.csv.gz")]) {
        expect(
          await machine.vault("sandbox", "audit", "--export", file, "--ready-file", readyFile),
        ).toMatchObject({ code: 0 });
        const replayed = await machine.vault(
          "audit-replay",
          file,
          "--token-lifetime",
          "5m",
          "--json",
        );
        const { vaults: reports } = JSON.parse(replayed.stdout) as { vaults: VaultReport[] };
        for (const {
          uuid,
          verdict,
          state,
          unackedStarts,
          failedAttempts,
          cause,
          contradictions,
        } of reports) {
          const truth = sandbox.inspect(uuid);
          seen.add(verdict === "locked" ? `locked ${truth.lockReason}` : verdict);
          expect({
            uuid,
            state: state === "exchange-open" ? "active" : state,
            contradictions,
          }).toEqual({
            uuid,
            state: truth.state,
            contradictions: [],
          });
          if (truth.state !== "deleted")
            expect([unackedStarts, failedAttempts]).toEqual([
              truth.unackedStarts,
              truth.failedAccesses,
            ]);
          if (truth.state === "locked")
            expect(cause?.rule).toBe(
              truth.lockReason === "failed" ? "failed-attempts" : "unacknowledged-starts",
            );
        }
        expect(reports).toHaveLength(vaults.length);
      }
    }
    // The runs have met what there is to be met.
    expect([...seen].sort()).toEqual(
      expect.arrayContaining(["deleted", "locked failed", "locked unacknowledged"]) as string[],
    );
  },
);
