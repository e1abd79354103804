import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import {
  expectInStep,
  firstGetArgs,
  note,
  offlineCard,
  offlineNote,
  onlineCard,
  openLab,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import type { PtyOptions, RunningInPty } from "../support/pty.ts";
import { quote, startInPty, vaultInPty } from "../support/pty.ts";
import { vaultCommand } from "../support/run-vault.ts";
import { device } from "../support/examples.ts";

const inPty = (machine: Machine, args: readonly string[], options: PtyOptions = {}): RunningInPty =>
  vaultInPty(args, { cwd: machine.home, ...options, env: { ...machine.env, ...options.env } });

const enter = "\r";
const down = "\x1b[B";
const ctrlC = "\x03";
const ctrlD = "\x04";

describe.concurrent("what is missing, on a terminal, is asked for", () => {
  it("kind and pair of a vault that is read for the first time; secrets are not shown", async () => {
    const { lab, machine, uuid, credentials } = await coldLab(offlineNote);
    const run = inPty(machine, ["get", uuid]);
    await run.waitFor(/What kind of vault is it/);
    run.type(down + down + enter);
    await run.waitFor(/Credentials \(JSON on one line/);
    run.type(JSON.stringify(credentials) + enter);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text).toContain("New credentials stored (generation 2).");
    expect(text).toContain(`No credentials of vault ${uuid} are known here.\n`);
    expect(text).not.toContain(credentials.payload);
    expect(text).not.toContain(credentials.encryptedData);
    await expectInStep(lab, machine, uuid);
  });

  it("a wrong answer is cleared and asked again, with the rule; an online vault also for its hashedPin and device", async () => {
    const lab = await openLab(onlineCard);
    const { uuid, credentials } = lab.vault;
    const { encryptedData, payload, hashedPin = "" } = credentials;
    const machine = lab.machine();
    machine.file("device.json", device);
    const run = inPty(machine, ["get", uuid, "--kind", "credit-card/online"], { columns: 120 });
    await run.waitFor(/Credentials/);
    run.type(`@none.json${enter}`);
    await run.waitFor(/cannot read the file none.json/);
    run.type(JSON.stringify({ encryptedData, payload }) + enter);
    await run.waitFor(/Hashed PIN/);
    run.type(`no base64${enter}`);
    await run.waitFor(/must be base64/);
    run.type(hashedPin + enter);
    await run.waitFor(/Device for this online vault/);
    run.type(`@devise.json${enter}`);
    await run.waitFor(/cannot read the file devise.json/);
    run.type(`{"browserType":"F"}${enter}`);
    await run.waitFor(/browserType: must be/);
    run.type(`@device.json${enter}`);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    await expectInStep(lab, machine, uuid);
  });

  it("the vault, from those that are known, by label", async () => {
    const lab = await openLab([offlineNote, { ...offlineNote, content: "the second" }]);
    const [first, second] = lab.service.vaults;
    const machine = lab.machine();
    for (const [vault, label] of [
      [first, "spare key"],
      [second, "garden gate"],
    ] as const) {
      const pair = { PAIR: JSON.stringify(vault?.credentials) };
      const args = ["--kind", vault?.kind ?? "", "--credentials", "env:PAIR", "--label", label];
      await machine.okWith({ env: pair }, "import", vault?.uuid ?? "", ...args);
    }
    const run = inPty(machine, ["get", "--reveal"], { columns: 120 });
    await run.waitFor(/Which vault/);
    await run.waitFor(/garden gate/);
    const listed = (await machine.vault("status", "--json")).stdout;
    const order = (JSON.parse(listed) as { vaults: { label: string }[] }).vaults.map(
      (vault) => vault.label,
    );
    run.type((order[0] === "garden gate" ? "" : down) + enter);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text).toContain("the second");
  });

  it("whether a table shows the contents of a limited vault, before its first read is used up", async () => {
    const { lab, machine, uuid } = await coldLab({ ...offlineNote, maxUsage: 3 });
    const args = firstGetArgs(machine, lab.vault);
    const masked = inPty(machine, args);
    await masked.waitFor(/This vault has 3 reads left, this one included[^]*Show them\?/);
    masked.type(enter);
    const held = await masked.exit;
    expect(held.code, held.text).toBe(11);
    expect(held.raw.lastIndexOf("\x1b[?25h")).toBeGreaterThan(held.raw.lastIndexOf("\x1b[?25l"));
    expect(lab.service.sandbox.inspect(uuid).usesRemaining).toBe(3);
    const chosen = inPty(machine, ["get", "--discard-pending"], { columns: 120 });
    await chosen.waitFor(/Which vault/);
    chosen.type(down + enter);
    await chosen.waitFor(/Show them\?/);
    chosen.type(enter);
    // The way on names the vault that was chosen.
    const { text: told } = await chosen.exit;
    expect(told).toContain(`next: vault get --discard-pending ${uuid} --reveal`);
    const run = inPty(machine, ["get", uuid, "--discard-pending"]);
    await run.waitFor(/Show them\?/);
    run.type(`maybe${enter}`);
    await run.waitFor(/must be y or n/);
    run.type(`y${enter}`);
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expect(text).toContain(note);
    // Only the contents were asked for.
    expect(text).not.toContain("encryptedData");
    expect(lab.service.sandbox.inspect(uuid).usesRemaining).toBe(2);
  });
});

describe.concurrent("standard input that an option has read", () => {
  it("is not asked at: the update is sent without a question", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    const run = inPty(machine, ["update", uuid, "--card", "-"]);
    run.type(
      `{"number":"5555555555554444","name":"Grace","expiryMonth":12,"expiryYear":2030}${enter}\x04`,
    );
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    await expectInStep(lab, machine, uuid);
  });
});

describe.concurrent("a card number that was typed", () => {
  it("is grouped while it is typed, and masked once it is taken", async () => {
    const { machine, uuid } = await warmLab(offlineCard);
    const run = inPty(machine, ["update", uuid]);
    await run.waitFor(/Card number/);
    run.type("5555555555554444");
    await run.waitFor(/5555 5555 5555 4444/);
    run.type(enter);
    await run.waitFor(/Card number •••• •••• •••• 4444/);
    run.type(ctrlC);
    expect((await run.exit).code).toBe(130);
  });
});

describe.concurrent("a question that is left", () => {
  it.each([
    ["Ctrl-C at the kind", ctrlC, ["get", "UUID"], /What kind/],
    ["Ctrl-C at the uuid", ctrlC, ["get"], /Vault UUID/],
    ["Ctrl-D at the kind", ctrlD, ["get", "UUID"], /What kind/],
    ["Ctrl-D at the pair", ctrlD, ["get", "UUID", "--kind", "generic/offline"], /Credentials/],
    ["Ctrl-D at an import", ctrlD, ["import", "UUID", "--kind", "generic/offline"], /Credentials/],
  ])("%s: 130, nothing sent, nothing written", async (_, key, args, question) => {
    const { lab, machine, uuid } = await coldLab(offlineNote);
    const run = inPty(
      machine,
      args.map((arg) => (arg === "UUID" ? uuid : arg)),
    );
    await run.waitFor(question);
    run.type(key);
    const { code, raw } = await run.exit;
    expect(code, raw).toBe(130);
    expect(raw).toMatch(/nothing was changed/);
    // The cursor is back.
    expect(raw.lastIndexOf("\x1b[?25h")).toBeGreaterThan(raw.lastIndexOf("\x1b[?25l"));
    expect(lab.service.sandbox.requests()).toEqual([]);
    expect(existsSync(machine.stateDir)).toBe(false);
  });

  it("Ctrl-D behind what is typed does not leave it, nor does Ctrl-Z: after fg it is still asked", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const line = [...vaultCommand, "forget", uuid].map(quote).join(" ");
    const shell = startInPty(["bash", "--noprofile", "--norc", "-i"], {
      env: { ...machine.env, PS1: "READY> ", HISTFILE: "" },
    });
    await shell.waitFor(/READY> /);
    shell.type(`${line}${enter}`);
    await shell.waitFor(/\(y\/N\)/);
    shell.type("x\x04\x1a");
    await shell.waitFor(/Stopped/);
    shell.type(`fg${enter}`);
    // The terminal takes the key, until the program has it again.
    const erase = setInterval(() => shell.type("\x15"), 50);
    await shell.waitFor(/Stopped[^]*\(y\/N\)/);
    clearInterval(erase);
    shell.type(ctrlD);
    await shell.waitFor(/nothing was changed/);
    shell.type(`echo "co""de $?"${enter}`);
    await shell.waitFor(/code 130/);
    shell.type(`exit${enter}`);
    expect((await shell.exit).code).toBe(0);
  });
});

describe.concurrent("nobody is asked", () => {
  it.each<[string, string[], Record<string, string>]>([
    ["with --no-input", ["--no-input"], {}],
    ["with CI", [], { CI: "true" }],
  ])("%s, on a terminal: the usage error says how to give it", async (_, flags, env) => {
    const { lab, machine, uuid } = await coldLab(offlineNote);
    for (const [args, says] of [
      [["get"], /a vault is missing/],
      [["get", uuid], /no credentials are known/],
      [["forget", uuid], /no credentials are known/],
    ] as const) {
      const { code, text } = await inPty(machine, [...args, ...flags], { env }).exit;
      expect([2, 4]).toContain(code);
      expect(text).toMatch(says);
      expect(text).toMatch(/next: /);
    }
    expect(lab.service.sandbox.requests()).toEqual([]);
  });
});
