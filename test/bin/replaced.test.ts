import type { ChildProcess } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, test } from "vitest";
import { tempDir } from "../support/cleanup.ts";
import { warmLab, type Lab } from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";
import { runVault, vaultBin, type RunResult } from "../support/run-vault.ts";

/** An installation of its own. */
function installation(): { bin: string; dist: string } {
  const folder = tempDir("installed");
  for (const name of ["bin", "dist", "package.json"])
    cpSync(join(vaultBin, "..", "..", name), join(folder, name), { recursive: true });
  return { bin: join(folder, "bin", "vault.js"), dist: join(folder, "dist") };
}

const remove = (dist: string): void => rmSync(dist, { recursive: true });

/** Puts another build in the place of one. */
function upgrade(dist: string): void {
  for (const name of readdirSync(dist).filter((file) => file.endsWith(".cjs"))) {
    const text = readFileSync(join(dist, name), "utf8");
    writeFileSync(join(dist, name), text.replace(/^\/\/[^\n]*/, "//0000000000000000"));
  }
}

/** Runs a command of an installation to which something `happens` once a request has arrived. */
async function runWhile(
  happens: (dist: string, child: ChildProcess) => void,
  lab: Lab,
  machine: Machine,
  ...args: string[]
): Promise<RunResult> {
  const { bin, dist } = installation();
  const before = lab.service.sandbox.requests().length;
  lab.faults("any:delay=500ms*2");
  const { child, exit } = machine.start({ bin, cwd: machine.home }, ...args);
  while (lab.service.sandbox.requests().length === before && child.exitCode === null)
    await setTimeout(10);
  happens(dist, child);
  return await exit;
}

test.each([
  [["get", "VAULT", "--reveal"]],
  [["get", "VAULT", "--json"]],
  [["update", "VAULT", "--content", "@note", "--yes"]],
  [["update", "VAULT", "--content", "@note", "--yes", "--json"]],
  [["create", "--kind", "generic/offline", "--content", "@note"]],
])("%j ends well where the program is removed once its call has arrived", async (line) => {
  const { lab, machine, uuid } = await warmLab();
  machine.file("note", "another note");
  const args = line.map((word) => (word === "VAULT" ? uuid : word));
  expect(await runWhile(remove, lab, machine, ...args)).toMatchObject({ code: 0, stderr: "" });
});

test.each([remove, upgrade])(
  "a start that is refused, or interrupted, says all of it where the program is replaced meanwhile",
  async (happens) => {
    const { lab, machine, uuid } = await warmLab();
    const get = ["get", uuid, "--json"];
    const interrupt = (dist: string, child: ChildProcess): void => {
      happens(dist);
      child.kill("SIGINT");
    };
    expect(errorOf(await runWhile(interrupt, lab, machine, ...get))).toMatchObject({
      code: "interrupted",
      exchange: { state: "intent" },
      next: [{ argv: ["vault", "status", uuid] }],
    });
    lab.service.sandbox.lock(uuid);
    expect(errorOf(await runWhile(happens, lab, machine, ...get))).toMatchObject({
      code: "locked",
      uuid,
      service: { responseStatus: { status: "ERROR" } },
    });
  },
);

test.each([[["get", "VAULT", "--reveal", "--color"]], [["run", "VAULT", "--stdin", "--", "cat"]]])(
  "%j holds what it cannot deliver where the program is removed meanwhile",
  async (line) => {
    const { lab, machine, uuid } = await warmLab();
    const args = line.map((word) => (word === "VAULT" ? uuid : word));
    expect(await runWhile(remove, lab, machine, ...args)).toMatchObject({
      code: 11,
      stdout: "",
      stderr: expect.stringContaining(`next: vault ack ${uuid}`) as string,
    });
    expect((await machine.ok("ack", uuid)).stdout).toContain("acknowledged");
  },
);

test.each([
  [["update", "VAULT", "--content", "@note", "--yes", "--color"], "the update is acknowledged"],
  [
    ["create", "--kind", "generic/offline", "--content", "@note", "--color"],
    "was created, and its credentials are stored",
  ],
])(
  "%j says what is done, and not to run it again, where the program is removed meanwhile",
  async (line, what) => {
    const { lab, machine, uuid } = await warmLab();
    machine.file("note", "another note");
    const args = line.map((word) => (word === "VAULT" ? uuid : word));
    const { code, stdout, stderr } = await runWhile(remove, lab, machine, ...args);
    expect({ code, stdout }).toEqual({ code: 14, stdout: "" });
    expect(stderr).toContain(
      `${what}, but the result could not be printed (the program was replaced or removed while it ran)`,
    );
    expect(stderr).toContain("next: vault status ");
    expect(stderr).not.toContain("run it again");
  },
);

test.each([
  ["is missing", remove],
  ["is of another build", upgrade],
])("what %s when it is needed is not run, and no bug", async (why, happens) => {
  const { lab, machine, uuid } = await warmLab();
  const { code, stdout, stderr } = await runWhile(happens, lab, machine, "info", uuid, "--color");
  expect({ code, stdout }).toEqual({ code: 14, stdout: "" });
  expect(stderr).toMatch(
    new RegExp(`^vault: the program was replaced or removed while it ran \\([^ ]+ ${why}\\)\n`),
  );
});

test("a command never ends with 0 because its error cannot be shown", async () => {
  const { bin, dist } = installation();
  rmSync(join(dist, "app.cjs"));
  expect(await runVault(["status"], { bin })).toMatchObject({
    code: 14,
    stderr: expect.stringContaining("(app.cjs is missing)") as string,
  });
});
