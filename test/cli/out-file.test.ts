import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectInStep,
  note,
  offlineNote,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import { mayMount, smallDisk } from "../support/disks.ts";
import { readJson, type Machine } from "../support/machine.ts";

/** What a lost response counts: with sole credentials, which nobody else can have used, no failed attempt. */
async function failedByLostStart(lab: Lab, machine: Machine): Promise<number> {
  const { uuid } = lab.vault;
  lab.faults("get-start:drop-before");
  expectExit(await machine.vault("get", uuid, "--max-wait", "0s"), 10);
  return (await machine.status(uuid)).failedAttempts;
}

const writeV = `printf '{"vault":%s}' "$V" > got`;

describe("who receives contents gets no keys of the vault, unless --with-credentials says so", () => {
  it.each<[string, (uuid: string) => string[], string]>([
    ["--out", (uuid) => ["get", uuid, "--out", "got"], "got"],
    ["--out-dir", (uuid) => ["get", uuid, "--out-dir", "dir"], "dir/UUID.json"],
    ["--exec", (uuid) => ["get", uuid, "--exec", "cat > got"], "got"],
    ["run --stdin", (uuid) => ["run", uuid, "--stdin", "--", "tee", "got"], "got"],
    ["run --env", (uuid) => ["run", uuid, "--env", "V=vault", "--", "sh", "-c", writeV], "got"],
  ])("%s", async (_, line, file) => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const vault = async (...args: string[]): Promise<unknown> => {
      await machine.ok(...args);
      const path = join(machine.home, file.replace("UUID", uuid));
      return (JSON.parse(readFileSync(path, "utf8")) as { vault: unknown }).vault;
    };
    const [command = "", ...rest] = line(uuid);
    const got = await vault(command, ...rest);
    expect(got).toMatchObject({ content: note });
    expect(got).not.toHaveProperty("credentials");
    expect(await vault(command, "--with-credentials", ...rest)).toMatchObject({
      credentials: lab.service.sandbox.inspect(uuid).pair,
    });
    await expectInStep(lab, machine, uuid);
    expect(await failedByLostStart(lab, machine)).toBe(1);
  });

  it("without them, they stay sole", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--out", "got");
    expect(await failedByLostStart(lab, machine)).toBe(0);
  });

  it("stdout has them", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    for (const args of [[uuid, "--json"], ["--all"]]) {
      const { stdout } = await machine.vault("get", ...args);
      expect(JSON.parse(stdout.trim().split('\n{"event":"outcome"')[0] ?? "")).toMatchObject({
        vault: { credentials: lab.service.sandbox.inspect(uuid).pair },
      });
    }
  });

  it("a variable of a program that would hold them is refused before anything is sent", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const sent = lab.service.sandbox.requests().length;
    const line = ["run", uuid, "--json", "--env", "X=vault.credentials.payload"];
    const why =
      /^--env X: a program receives no credentials without --with-credentials; nothing was sent$/;
    expectError(await machine.vault(...line, "--", "true"), "usage", why);
    expect(lab.service.sandbox.requests().length).toBe(sent);
  });
});

describe.concurrent("vault get --out", () => {
  it("removes what a killed one has left beside the file", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const left = join(machine.home, ".note.json.0123456789abcdef.vault-new");
    writeFileSync(left, note);
    await machine.ok("get", uuid, "--out", "note.json");
    expect(existsSync(left)).toBe(false);
  });

  it("writes the contents there for their owner alone, prints nothing, and replaces the same vault's", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    for (const args of [[], ["--json"], ["-o", "table"]]) {
      const result = await machine.ok("get", uuid, "--out", "note.json", ...args);
      expect(result).toMatchObject({ stdout: "", stderr: "" });
    }
    const file = join(machine.home, "note.json");
    const exchange = { generation: 5 };
    expect(readJson(file)).toMatchObject({ uuid, vault: { content: note }, exchange });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const beside = readdirSync(machine.home).filter((name) => name.includes("note"));
    expect(beside).toEqual(["note.json"]);
    await expectInStep(lab, machine, uuid);
  });

  it("delivers the last read whole, where a masked table would not", async () => {
    const { machine, uuid, kind, credentials } = await coldLab({ ...offlineNote, maxUsage: 1 });
    await machine.ok("get", uuid, ...machine.given(credentials, kind), "--out", "note.json");
    const vault = { content: note, usesRemaining: 1 };
    expect(readJson(join(machine.home, "note.json"))).toMatchObject({ vault });
  });

  it("refuses, before anything is sent, a file that holds something else, and what cannot be written or combined", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const pair = machine.file("pair.json", lab.vault.credentials);
    const sent = lab.service.sandbox.requests().length;
    for (const [file, why] of [
      [pair, /^--out: .*holds something else.*nothing was sent/],
      ["no/folder.json", /^--out: the folder .* does not exist/],
      ["/dev/stdout", /^--out: .* is a symbolic link/],
      [join(machine.stateDir, "x"), /own files/],
    ] as const)
      expectError(await machine.vault("get", uuid, "--json", "--out", file), "invalid-input", why);
    expect(readJson(pair)).toEqual(lab.vault.credentials);
    for (const [more, why] of [
      [["--credentials-out", "./one"], /same file/],
      [["--field", "vault.content"], /cannot be used with --field/],
    ] as const)
      expectError(
        await machine.vault("get", uuid, "--json", "--out", "one", ...more),
        "usage",
        why,
      );
    await machine.ok("get", uuid, "--out", "one", "--dry-run");
    expect(existsSync(join(machine.home, "one"))).toBe(false);
    expect(lab.service.sandbox.requests().length).toBe(sent);
  });

  it.runIf(mayMount)(
    "holds the exchange where the disk is full; the file of before stays whole",
    async () => {
      const content = "x".repeat(60_000);
      const { lab, machine, uuid } = await warmLab({ ...offlineNote, content });
      const { sandbox } = lab.service;
      const file = join(smallDisk(96), "note.json");
      await machine.ok("get", uuid, "--out", file);
      const [before, ends] = [readFileSync(file, "utf8"), sandbox.inspect(uuid).counts.ends];
      const full = await machine.vault("get", uuid, "--json", "--out", file);
      expectError(full, "pending", /could not be delivered: the disk is full/);
      expect(readFileSync(file, "utf8")).toBe(before);
      expect(sandbox.inspect(uuid).counts.ends).toBe(ends);
      expect(await machine.status(uuid)).toMatchObject({
        exchange: { state: "held", holdReason: "delivery", delivered: false },
      });
    },
  );
});
