import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  firstGetArgs,
  note,
  offlineNote,
  openLab,
  coldLab,
} from "../support/lab.ts";
import { documentOf, errorOf, type Machine } from "../support/machine.ts";

/** A vault with one read left, and a machine that knows its pair. */
async function lastRead(): Promise<{ lab: Lab; machine: Machine; uuid: string }> {
  const lab = await openLab({ ...offlineNote, maxUsage: 2 });
  return { lab, machine: await lab.warmMachine(), uuid: lab.vault.uuid };
}

describe.concurrent("the last read of a limited vault", () => {
  it("with --json delivers and acknowledges, and the vault is gone", async () => {
    const { lab, machine, uuid } = await lastRead();
    const result = await machine.ok("get", uuid, "--json");
    expect(documentOf(result).vault).toMatchObject({ content: note, usesRemaining: 1 });
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ state: "deleted", usesRemaining: 0 });
    expectError(await machine.vault("get", uuid, "--json"), "locked", /gone/);
  });

  it.each([
    { output: "the masked table", args: [] },
    { output: "one field of it", args: ["--field", "exchange.id"] },
    { output: "the credentials alone", args: ["--field", "vault.credentials"] },
  ])("with $output and without a terminal is held, and nothing is printed", async ({ args }) => {
    const { lab, machine, uuid } = await lastRead();
    const result = await machine.vault("get", uuid, ...args);
    expectExit(result, 11);
    expect(result.stdout).toBe("");
    expect(result.stderr).toMatch(/last read/);
    expect(result.stderr).not.toContain(note);
    const next = ["get UUID --discard-pending --reveal", "ack UUID --unread"].map((way) => ({
      argv: ["vault", ...way.replace("UUID", uuid).split(" ")],
    }));
    expect(await machine.status(uuid)).toMatchObject({
      exchange: { state: "held", holdReason: "masked", delivered: false },
      next,
    });
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ state: "active", usesRemaining: 1 });
    const refused = await machine.vault("ack", uuid, "--json");
    expectError(refused, "pending");
    expect(errorOf(refused).help).toMatch(/--discard-pending.*--unread/);
    // What the hint says works.
    const whole = await machine.ok("get", uuid, "--discard-pending", "--reveal");
    expect(whole.stdout).toContain(note);
    expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
  });

  it("with one field of it names a line that prints the whole vault", async () => {
    const { lab, machine, uuid } = await lastRead();
    const held = await machine.vault("get", uuid, "--field", "exchange.id", "--json");
    const { argv } = errorOf(held).next[0] ?? {};
    const again = ["--field", "exchange.id", "--json", "--discard-pending", "--field=vault"];
    expect(argv).toEqual(["vault", "get", uuid, ...again]);
    const whole = await machine.ok("get", uuid, ...again);
    expect(JSON.parse(whole.stdout)).toMatchObject({ content: note });
    expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
  });

  it("with --save-cmd and a masked table serves nobody", async () => {
    const { lab, machine, uuid } = await lastRead();
    const result = await machine.vault("get", uuid, "--save-cmd", "cat > saved.json");
    expectExit(result, 11);
    expect(lab.service.sandbox.inspect(uuid).state).toBe("active");
    expect(existsSync(join(machine.home, "saved.json"))).toBe(false);
  });

  it.each([["--field", "vault"], ["--field", "vault.content"], ["--reveal"], ["-o", "ndjson"]])(
    "with an output that holds the contents (%s %s) is acknowledged",
    async (...args) => {
      const { lab, machine, uuid } = await lastRead();
      const result = await machine.ok("get", uuid, ...args.filter((arg) => arg !== undefined));
      expect(result.stdout.includes(note) || result.stdout.includes(JSON.stringify(note))).toBe(
        true,
      );
      expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
    },
  );

  it("with --no-ack and a masked table prints the table, and is not known to be delivered", async () => {
    const { lab, machine, uuid } = await lastRead();
    await machine.ok("get", uuid, "--no-ack");
    expectError(await machine.vault("ack", uuid, "--json"), "pending");
    await machine.ok("ack", uuid, "--unread");
    expect(lab.service.sandbox.inspect(uuid).state).toBe("deleted");
  });

  it("with --no-ack, a masked table and a --save-cmd that fails is not known to be delivered either", async () => {
    const { lab, machine, uuid } = await lastRead();
    const result = await machine.vault("get", uuid, "--no-ack", "--save-cmd", "exit 3");
    expectExit(result, 11);
    expectError(await machine.vault("ack", uuid, "--saved", "--json"), "pending");
    expect(lab.service.sandbox.inspect(uuid).state).toBe("active");
  });
});

describe.concurrent("a limited vault with reads left", () => {
  it("is read by table, and needs --unread only for what is not known to be delivered", async () => {
    const { lab, machine, uuid } = await coldLab({ ...offlineNote, maxUsage: 3 });
    await machine.ok(...firstGetArgs(machine, lab.vault));
    expect(lab.service.sandbox.inspect(uuid).usesRemaining).toBe(2);
    await machine.ok("get", uuid, "--no-ack", "--json");
    await machine.ok("ack", uuid);
    expect(lab.service.sandbox.inspect(uuid).usesRemaining).toBe(1);
    await expectInStep(lab, machine, uuid);
  });
});
