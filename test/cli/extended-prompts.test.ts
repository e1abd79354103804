import { describe, expect, it } from "vitest";
import { openLab, warmLab, coldLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { vaultInPty, type RunningInPty } from "../support/pty.ts";

const inPty = (machine: Machine, ...args: string[]): RunningInPty =>
  vaultInPty(args, { cwd: machine.home, env: machine.env });
const enter = "\r";
const down = "\x1b[B";
const ctrlC = "\x03";

describe.concurrent("vault delete on a terminal", () => {
  it("asks, and deletes after a Yes", async () => {
    const { lab, machine, uuid } = await warmLab();
    const run = inPty(machine, "delete", uuid);
    await run.waitFor(/permanently\?/);
    expect(lab.service.sandbox.inspect(uuid).state).toBe("active");
    run.type(`y${enter}`);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text).toContain("deleted at the service");
    expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
  });

  it.each([
    ["Enter", enter],
    ["Ctrl-C", ctrlC],
  ])("%s changes nothing: exit 130", async (_, keys) => {
    const { lab, machine, uuid } = await warmLab();
    const run = inPty(machine, "delete", uuid);
    await run.waitFor(/permanently\?/);
    run.type(keys);
    const { code, text } = await run.exit;
    expect(code, text).toBe(130);
    expect(text).toMatch(/canceled; nothing was (?:sent or )?changed/);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      state: "active",
      failedAccesses: 0,
    });
    expect(
      lab.service.sandbox.requests().filter(({ operation }) => operation === "delete"),
    ).toEqual([]);
    await machine.ok("get", uuid, "--json");
  });
});

describe.concurrent("vault create on a terminal", () => {
  it("asks nothing before the settings of the service are there", async () => {
    const { machine } = await coldLab();
    const env = { ...machine.env, VAULTSVC_BASE_URL: "" };
    const { code, text } = await vaultInPty(["create"], { cwd: machine.home, env }).exit;
    expect(code, text).toBe(2);
    expect(text).toMatch(/the base URL of the service is missing/);
    expect(text).toContain("next: vault sandbox exec -- sh");
  });

  it("asks for kind and contents; the text is not shown", async () => {
    const { lab, machine } = await coldLab();
    const run = inPty(machine, "create");
    await run.waitFor(/[Kk]ind of vault/);
    run.type(down + down + enter);
    await run.waitFor(/[Cc]ontents/);
    run.type(`my secret${enter}`);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text).not.toContain("my secret");
    const made = lab.service.sandbox.vaults().find(({ uuid }) => uuid !== lab.vault.uuid);
    expect(lab.service.sandbox.inspect(made?.uuid ?? "")).toMatchObject({
      kind: "generic/offline",
      content: "my secret",
    });
  });

  it("Ctrl-C at a question: exit 130, nothing made", async () => {
    const lab = await openLab();
    const run = inPty(lab.machine(), "create", "--kind", "credit-card/offline");
    await run.waitFor(/Card number/);
    run.type(ctrlC);
    expect((await run.exit).code).toBe(130);
    expect(lab.service.sandbox.vaults()).toHaveLength(1);
  });
});
