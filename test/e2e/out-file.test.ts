import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectInStep,
  note,
  offlineNote,
  openLab,
} from "../support/lab.ts";
import { mayMount, smallDisk } from "../support/disks.ts";

describe.concurrent("vault get --out", () => {
  it("writes the contents there for their owner alone, prints nothing, and replaces the same vault's", async () => {
    const lab = await openLab(offlineNote);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    for (const args of [[], ["--json"], ["-o", "table"]]) {
      const result = await machine.vault("get", uuid, "--out", "note.json", ...args);
      expectExit(result, 0);
      expect(result).toMatchObject({ stdout: "", stderr: "" });
    }
    const file = join(machine.home, "note.json");
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({
      uuid,
      vault: { content: note },
      exchange: { generation: 5 },
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(machine.home).filter((name) => name.includes("note"))).toEqual([
      "note.json",
    ]);
    await expectInStep(lab, machine, uuid);
  });

  it("delivers the last read whole, where a masked table would not", async () => {
    const lab = await openLab({ ...offlineNote, maxUsage: 1 });
    const machine = lab.machine();
    const { uuid, kind, credentials } = lab.vault;
    const pair = machine.file("pair", credentials);
    expectExit(
      await machine.vault(
        "get",
        uuid,
        "--kind",
        kind,
        "--credentials",
        `@${pair}`,
        "--out",
        "note.json",
      ),
      0,
    );
    expect(JSON.parse(readFileSync(join(machine.home, "note.json"), "utf8"))).toMatchObject({
      vault: { content: note, usesRemaining: 1 },
    });
  });

  it("refuses, before anything is sent, a file that holds something else, and what cannot be written or combined", async () => {
    const lab = await openLab(offlineNote);
    const { uuid } = lab.vault;
    const machine = await lab.warmMachine();
    const pair = machine.file("pair.json", lab.vault.credentials);
    const sent = lab.service.sandbox.requests().length;
    const refused = async (...args: string[]) =>
      await machine.vault("get", uuid, "--json", ...args);
    expectError(
      await refused("--out", pair),
      3,
      "invalid-input",
      /^--out: .*holds something else.*nothing was sent/,
    );
    expect(JSON.parse(readFileSync(pair, "utf8"))).toEqual(lab.vault.credentials);
    expectError(
      await refused("--out", "no/folder.json"),
      3,
      "invalid-input",
      /^--out: the folder .* does not exist/,
    );
    expectError(
      await refused("--out", "/dev/stdout"),
      3,
      "invalid-input",
      /^--out: .* is a symbolic link/,
    );
    expectError(
      await refused("--out", join(machine.stateDir, "x")),
      3,
      "invalid-input",
      /own files/,
    );
    expectError(
      await refused("--out", "one", "--credentials-out", "./one"),
      2,
      "usage",
      /same file/,
    );
    expectError(
      await refused("--out", "one", "--field", "vault.content"),
      2,
      "usage",
      /cannot be used with --field/,
    );
    expectExit(await machine.vault("get", uuid, "--out", "one", "--dry-run"), 0);
    expect(existsSync(join(machine.home, "one"))).toBe(false);
    expect(lab.service.sandbox.requests().length).toBe(sent);
  });

  it.runIf(mayMount)(
    "holds the exchange where the disk is full; the file of before stays whole",
    async () => {
      const lab = await openLab({ ...offlineNote, content: "x".repeat(60_000) });
      const { uuid } = lab.vault;
      const { sandbox } = lab.service;
      const machine = await lab.warmMachine();
      const file = join(smallDisk(96), "note.json");
      expectExit(await machine.vault("get", uuid, "--out", file), 0);
      const [before, ends] = [readFileSync(file, "utf8"), sandbox.inspect(uuid).counts.ends];
      expectError(
        await machine.vault("get", uuid, "--json", "--out", file),
        11,
        "pending",
        /could not be delivered: the disk is full/,
      );
      expect(readFileSync(file, "utf8")).toBe(before);
      expect(sandbox.inspect(uuid).counts.ends).toBe(ends);
      expect(await machine.status(uuid)).toMatchObject({
        exchange: { state: "held", holdReason: "delivery", delivered: false },
      });
    },
  );
});
