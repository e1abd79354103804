import { describe, expect, it } from "vitest";
import { offlineNote, openLab, type Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { vaultInPty, type RunningInPty } from "../support/pty.ts";

const inPty = (machine: Machine, ...args: string[]): RunningInPty =>
  vaultInPty(args, { cwd: machine.home, env: machine.env });

async function warm(): Promise<{ lab: Lab; machine: Machine; uuid: string }> {
  const lab = await openLab(offlineNote);
  return { lab, machine: await lab.warmMachine(), uuid: lab.vault.uuid };
}

describe.concurrent("what takes more than two seconds says on a terminal what it waits for", () => {
  it("a response; and nothing where it comes sooner, or with --quiet", async () => {
    const { lab, machine, uuid } = await warm();
    lab.faults("get-start:delay=3s");
    const { code, text } = await inPty(machine, "get", uuid).exit;
    expect(text).toMatch(/Waiting for the service's response to the start …/);
    expect(text).not.toMatch(/Waiting for (another|a turn)|response to the acknowledgement/);
    expect(code).toBe(0);
    lab.faults("get-start:delay=3s");
    expect((await inPty(machine, "get", uuid, "--quiet").exit).text).not.toMatch(/Waiting/);
  });

  it("another process that is using the vault", async () => {
    const { lab, machine, uuid } = await warm();
    lab.faults("get-start:delay=5s");
    const first = inPty(machine, "get", uuid);
    await first.waitFor(/Waiting for the service/);
    const { text } = await inPty(machine, "get", uuid).exit;
    expect(text.replaceAll(/\s+/g, " ")).toMatch(
      new RegExp(`Waiting for vault ${uuid}, in use by process \\d+ since \\d\\d:\\d\\d …`),
    );
    await first.exit;
  });

  it("Ctrl-C says at once what is being finished, and how long that takes", async () => {
    const { lab, machine, uuid } = await warm();
    lab.faults("get-end:delay=4s");
    const run = inPty(machine, "get", uuid);
    await run.waitFor(/Waiting for the service's response to the acknowledgement/);
    run.type("\u0003");
    await run.waitFor(
      /Finishing the acknowledgement \(at most 5s\)\. Press Ctrl-C again to stop now\./,
    );
    expect((await run.exit).code).toBe(0);
  });
});
