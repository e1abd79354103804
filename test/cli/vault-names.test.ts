import { describe, expect, it } from "vitest";
import { expectError, expectExit } from "../support/lab.ts";
import { errorOf, machineFor, type Machine } from "../support/machine.ts";
import { startInPty } from "../support/pty.ts";
import { vaultBin } from "../support/run-vault.ts";

const service = {
  baseUrl: "http://127.0.0.1:9",
  application: {
    uuid: "11111111-2222-4333-8444-555555555555",
    apiKey: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
  },
};
const [first, second, third] = [
  "abcd1111-0000-4000-8000-000000000001",
  "abcd2222-0000-4000-8000-000000000002",
  "beef3333-0000-4000-8000-000000000003",
];

const kind = "generic/offline";
const credentials = { encryptedData: "e", payload: "p" };

/** Knows three vaults: `spare` and `Checkout`, and one without a label. */
async function knowing(): Promise<Machine> {
  const machine = machineFor(service, { env: { VAULTSVC_MAX_WAIT: "0s" } });
  const labels = ["spare", "Checkout", undefined];
  const lines = [first, second, third].map((uuid, n) =>
    JSON.stringify({
      uuid,
      label: labels[n],
      kind,
      credentials: { ...credentials, encryptedData: uuid },
    }),
  );
  await machine.okWith({ input: lines.join("\n") }, "import", "--file", "-");
  return machine;
}

it("an import names it in lower case, as all else does", async () => {
  const machine = await knowing();
  const pair = JSON.stringify({ ...credentials, encryptedData: "bmV3" });
  const one = ["import", third.toUpperCase(), "--kind", kind, "--credentials", "-", "--json"];
  const line = JSON.stringify({ uuid: third.toUpperCase(), kind, credentials });
  for (const [input, args] of [
    [pair, one],
    [line, ["import", "--file", "-", "--json"]],
  ] as const) {
    const { stdout } = await machine.okWith({ input }, ...args);
    expect(JSON.parse(stdout)).toMatchObject({ imported: [{ uuid: third }] });
  }
});

const onTerminal = async (
  machine: Machine,
  ...args: string[]
): Promise<{ code: number | null; text: string }> =>
  await startInPty([process.execPath, vaultBin, ...args], { cwd: machine.home, env: machine.env })
    .exit;

const shown = async (machine: Machine, ...args: string[]): Promise<string[]> =>
  await listed(machine, "status", ...args);

const listed = async (machine: Machine, ...args: string[]): Promise<string[]> => {
  const { stdout, stderr, code } = await machine.vault(...args, "--json");
  expect(code, stderr).toBe(0);
  return (JSON.parse(stdout) as { vaults: { uuid: string }[] }).vaults.map(({ uuid }) => uuid);
};

describe("a vault is named", () => {
  it("by its UUID or its label; by the first digits of its UUID on a terminal", async () => {
    const machine = await knowing();
    for (const name of [first, first.toUpperCase(), "spare"])
      expect(await shown(machine, name)).toEqual([first]);
    expect(await shown(machine, "Checkout")).toEqual([second]);
    const exported = await machine.vault("export", "spare");
    expect(JSON.parse(exported.stdout)).toMatchObject({
      label: "spare",
      credentials: { encryptedData: first },
    });
    for (const name of ["abcd1", "abcd1111-0"]) {
      const { code, text } = await onTerminal(machine, "export", name);
      expect(code, text).toBe(0);
      expect(text).toContain(`"encryptedData": "${first}"`);
    }
  });

  it("by a part of its UUID nowhere without a terminal: 3, and nothing is done", async () => {
    const machine = await knowing();
    const list = machine.file("list", `${first}\n${second.slice(0, -1)}\n`);
    // A digit that was lost, doubled or mistyped at the end of a UUID names no vault.
    for (const name of [
      "abcd1",
      "beef3333-0000",
      first.slice(0, -1),
      `${first}1`,
      `${first.slice(0, -1)}g`,
      "cafe",
    ]) {
      for (const command of [
        "status",
        "get",
        "guard",
        "ack",
        "export",
        "forget",
        "delete",
        "info",
      ]) {
        const yes = ["forget", "delete"].includes(command) ? ["--yes"] : [];
        const refused = await machine.vault(command, name, ...yes, "--json");
        const why = /abbreviated UUIDs work only on a terminal; nothing was sent/;
        expectError(refused, "invalid-input", why);
      }
    }
    const listed = await machine.vault("get", "--from", list, "-o", "ndjson");
    expectError(listed, "invalid-input", /--from line 2/);
    expectError(await machine.vault("get", "first", "--json"), "no-credentials");
    expect(await shown(machine)).toHaveLength(3);
  });

  it("not by what fits several, by fewer than four digits, or by what fits none", async () => {
    const machine = await knowing();
    const several = await onTerminal(machine, "status", "abcd");
    expect(several.code).toBe(2);
    expect(several.text.replaceAll(/\s+/g, " ")).toMatch(
      new RegExp(`fits 2 vaults: .*${first} \\(spare\\)`),
    );
    expectError(await machine.vault("status", "bee", "--json"), "usage", /at least 4 digits/);
    for (const name of ["checkout", "no such"]) {
      const unknown = await machine.vault("get", name, "--json");
      expectError(unknown, "no-credentials", new RegExp(`^no vault named "${name}"; nothing`));
      expect(errorOf(unknown).help).toBe("vault status");
    }
    expectError(await machine.vault("get", "", "--json"), "invalid-input");
  });

  it("not before the settings of the service are there: all that are missing are named, with the ways out", async () => {
    const machine = machineFor(service, {
      env: { VAULTSVC_BASE_URL: "", VAULTSVC_APP_UUID: "", VAULTSVC_API_KEY: "" },
    });
    for (const command of ["get", "update", "info", "delete", "ack"]) {
      const refused = await machine.vault(command, "no such", "--json");
      expectError(
        refused,
        "usage",
        /^the base URL .*, the application UUID and the API key are missing/,
      );
      expect(errorOf(refused).help).toMatch(/vault init; vault sandbox exec -- sh$/);
    }
    for (const command of ["status", "export"])
      expectError(await machine.vault(command, "no such", "--json"), "no-credentials");
  });

  it("by a label that another vault has as the start of its UUID: the label wins", async () => {
    const machine = await knowing();
    await machine.ok("label", first, "beef3");
    expect(await shown(machine, "beef3")).toEqual([first]);
    expect((await onTerminal(machine, "export", "beef33")).text).toContain(
      `"encryptedData": "${third}"`,
    );
  });
});

it("status and guard sort by label without regard to case; vaults without one come last", async () => {
  const machine = await knowing();
  expect(await shown(machine)).toEqual([second, first, third]);
  expect(await listed(machine, "guard")).toEqual([second, first, third]);
});

describe("vault label", () => {
  it("names a vault and renames it, by its old label too", async () => {
    const machine = await knowing();
    expect(await machine.vault("label", third, "backup card", "--json")).toMatchObject({ code: 0 });
    const renamed = await machine.vault("label", "backup card", "old card", "--json");
    expect(JSON.parse(renamed.stdout)).toEqual({ uuid: third, label: "old card" });
    expect(await shown(machine, "old card")).toEqual([third]);
    await machine.ok("label", "old card", "old card");
  });

  it("takes no label that another vault has, and no vault that is not known", async () => {
    const machine = await knowing();
    expectError(await machine.vault("label", third, "spare", "--json"), "usage", new RegExp(first));
    const stranger = "99999999-0000-4000-8000-000000000009";
    expectError(await machine.vault("label", stranger, "new", "--json"), "no-credentials");
    expectError(await machine.vault("label", third, "", "--json"), "invalid-input");
    await machine.ok("forget", third, "--yes");
    expectError(await machine.vault("label", third, "ghost", "--json"), "no-credentials");
  });

  it.each([
    "two\nlines",
    "tab\tbed",
    "zero\u200Bwidth",
    "soft\u00ADhyphen",
    "\u202Ereversed",
    " ",
    first.toUpperCase(),
    third.replaceAll("-", "a"),
  ])("takes no label like %j: 3", async (label) => {
    const machine = await knowing();
    const why = /must be one line without invisible characters/;
    expectError(await machine.vault("label", third, label, "--json"), "invalid-input", why);
    const line = { uuid: third, label, kind, credentials };
    const file = machine.file("line", line);
    const refused = await machine.vault("import", "--file", file, "--json");
    expectExit(refused, 3, 16);
    expect(refused.stderr).toMatch(why);
    expect(await machine.status(third)).toMatchObject({ label: null });
  });

  it("gives a label to one vault, of two processes at once; an import that would take one changes nothing", async () => {
    const machine = await knowing();
    const runs = [first, second, third].map(
      async (uuid) => await machine.start({}, "label", uuid, "palm").exit,
    );
    expect((await Promise.all(runs)).map(({ code }) => code).toSorted()).toEqual([0, 2, 2]);
    const fresh = "cafe0000-0000-4000-8000-000000000004";
    const lines = (...labels: string[]): string =>
      labels
        .map((label, n) => ({ uuid: fresh.replace(/4$/, String(n)), label, kind, credentials }))
        .map((line) => JSON.stringify(line))
        .join("\n");
    for (const [input, ...known] of [
      [lines("new", "palm"), "new"],
      [lines("twice", "twice"), "twice"],
    ] as const) {
      const one = await machine.vaultWith({ input }, "import", "--file", "-", "--json");
      expectError(one, "partial", /1 of 2 vaults .*already has this label/);
      for (const label of known) await machine.ok("forget", label, "--yes");
    }
    const one = ["import", fresh, ...machine.given(credentials, kind), "--label", "palm", "--json"];
    expectError(await machine.vault(...one), "usage", /already has this label/);
    expect(await shown(machine)).toHaveLength(3);
  });

  it("takes emoji and letters of every script", async () => {
    const machine = await knowing();
    for (const label of ["❤️ Ärzte", "карта", "0a1b", "日本"])
      await machine.ok("label", third, label);
  });
});
