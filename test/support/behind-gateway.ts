import { main } from "../../src/main.ts";
import { fakeHost } from "./fake-host.ts";
import type { Gateway } from "./gateway.ts";
import { startGateway } from "./gateway.ts";
import type { Lab } from "./lab.ts";
import { expectExit, offlineNote, openLab } from "./lab.ts";
import type { Machine } from "./machine.ts";
import { machineFor } from "./machine.ts";
import type { ManyVaults } from "./many.ts";
import { importAll } from "./many.ts";
import { cleanEnv, type RunResult } from "./run-vault.ts";

/** A machine behind a gateway, on a clock of their own that only waiting moves. */
export interface Behind {
  lab: Lab;
  gateway: Gateway;
  machine: Machine;
  clock: { time: number };
  vault(...args: string[]): Promise<RunResult>;
}

export async function behindGateway(count = 1): Promise<Behind> {
  const clock = { time: Date.parse("2026-11-21T12:00:00Z") };
  const lab = await openLab(
    Array.from({ length: count }, () => offlineNote),
    { now: () => clock.time },
  );
  const gateway = await startGateway(lab.service.baseUrl);
  const machine = machineFor({ ...lab.service, baseUrl: gateway.baseUrl });
  const vault = async (...args: string[]): Promise<RunResult> => {
    const { home, env } = machine;
    const host = fakeHost({
      home,
      cwd: home,
      env: cleanEnv({ env }),
      now: clock.time,
      files: "real",
    });
    const code = await main(args, host);
    clock.time = host.now();
    return { code, signal: null, stdout: host.out, stderr: host.err };
  };
  return { lab, gateway, machine, clock, vault };
}

/** Many vaults that were all read once. */
export async function fleet(count: number): Promise<Behind & ManyVaults> {
  const behind = await behindGateway(count);
  await importAll(behind.lab, behind.machine);
  expectExit(await behind.vault("get", "--all", "-o", "ndjson", "--run", "first"), 0);
  return { ...behind, uuids: behind.lab.service.vaults.map(({ uuid }) => uuid) };
}
