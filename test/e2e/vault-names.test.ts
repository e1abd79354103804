import { describe, expect, it } from "vitest";
import { expectError, expectExit } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { machineFor } from "../support/machine.ts";
import { startInPty } from "../support/pty.ts";
import { vaultBin } from "../support/run-vault.ts";

const service = {
  baseUrl: "http://127.0.0.1:9",
  application: { uuid: "11111111-2222-4333-8444-555555555555", apiKey: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee" },
};
const [first, second, third] = [
  "abcd1111-0000-4000-8000-000000000001",
  "abcd2222-0000-4000-8000-000000000002",
  "beef3333-0000-4000-8000-000000000003",
];

/** Knows three vaults: `spare` and `Checkout`, and one without a label. */
async function knowing(): Promise<Machine> {
  const machine = machineFor(service, { env: { VAULTSVC_MAX_WAIT: "0s" } });
  const lines = [
    [first, "spare"],
    [second, "Checkout"],
    [third, undefined],
  ].map(([uuid, label]) =>
    JSON.stringify({ uuid, label, kind: "generic/offline", credentials: { encryptedData: `${uuid}`, payload: "p" } }),
  );
  expectExit(await machine.vaultWith({ input: lines.join("\n") }, "import", "--file", "-"), 0);
  return machine;
}

const shown = async (machine: Machine, ...args: string[]): Promise<string[]> => {
  const { stdout, stderr, code } = await machine.vault("status", ...args, "--json");
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { vaults: { uuid: string }[] }).vaults.map(({ uuid }) => uuid);
};

describe("a vault is named", () => {
  it("by its UUID, its label, or the first digits of its UUID", async () => {
    const machine = await knowing();
    for (const name of [first, first.toUpperCase(), "spare", "abcd1", "abcd1111-0"]) expect(await shown(machine, name)).toEqual([first]);
    expect(await shown(machine, "Checkout")).toEqual([second]);
    const [exported, guarded] = [await machine.vault("export", "spare"), await machine.vault("guard", "beef", "--json")];
    expect(JSON.parse(exported.stdout)).toMatchObject({ label: "spare", credentials: { encryptedData: first } });
    expect(guarded.stdout).toContain(third);
  });

  it("not by what fits several, by fewer than four digits, or by what fits none", async () => {
    const machine = await knowing();
    expectError(await machine.vault("status", "abcd", "--json"), 2, "usage", new RegExp(`fits 2 vaults: .*${first} \\(spare\\)`));
    expectError(await machine.vault("status", "bee", "--json"), 2, "usage", /at least 4 digits/);
    for (const name of ["checkout", "cafe", "no such"]) {
      expectError(await machine.vault("get", name, "--json"), 4, "no-credentials", /nothing was sent/);
    }
    expectError(await machine.vault("get", "", "--json"), 3, "invalid-input");
  });

  it("by digits for update, delete and forget only where a person can be asked", async () => {
    const machine = await knowing();
    const card = ["--content", "env:VAULTSVC_API_KEY"];
    for (const args of [
      ["update", "beef3", ...card],
      ["delete", "beef3", "--yes"],
      ["forget", "beef3", "--yes"],
    ]) {
      expectError(await machine.vault(...args, "--json"), 2, "usage", new RegExp(`whole UUID \\(${third}\\)`));
    }
    expectExit(await machine.vault("forget", "spare", "--yes"), 0);
    const { code, text } = await startInPty([process.execPath, vaultBin, "forget", "beef3", "--yes"], {
      cwd: machine.home,
      env: machine.env,
    }).exit;
    expect(code, text).toBe(0);
    expect(await shown(machine)).toEqual([second]);
  });

  it("by a label that another vault has as the start of its UUID: the label wins", async () => {
    const machine = await knowing();
    expectExit(await machine.vault("label", first, "beef3"), 0);
    expect(await shown(machine, "beef3")).toEqual([first]);
    expect(await shown(machine, "beef33")).toEqual([third]);
  });
});

it("status sorts by label without regard to case; vaults without one come last", async () => {
  const machine = await knowing();
  expect(await shown(machine)).toEqual([second, first, third]);
});

describe("vault label", () => {
  it("names a vault and renames it, by its old label too", async () => {
    const machine = await knowing();
    expect(await machine.vault("label", "beef3333", "backup card", "--json")).toMatchObject({ code: 0 });
    expect(JSON.parse((await machine.vault("label", "backup card", "old card", "--json")).stdout)).toEqual({
      uuid: third,
      label: "old card",
    });
    expect(await shown(machine, "old card")).toEqual([third]);
    expectExit(await machine.vault("label", "old card", "old card"), 0);
  });

  it("takes no label that another vault has, and no vault that is not known", async () => {
    const machine = await knowing();
    expectError(await machine.vault("label", third, "spare", "--json"), 2, "usage", new RegExp(first));
    expectError(await machine.vault("label", "99999999-0000-4000-8000-000000000009", "new", "--json"), 4, "no-credentials");
    expectError(await machine.vault("label", third, "", "--json"), 3, "invalid-input");
  });
});
