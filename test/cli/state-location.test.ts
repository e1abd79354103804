import { mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { expectError, firstGetArgs, offlineNote, openLab, type Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";

const secret = "pass-of-the-team";

/** What became of an address on its way here, and no directory. */
const accidents = [
  `"postgres://team:${secret}@db.example/vaults"`,
  `'postgres://team:${secret}@db.example/vaults'`,
  ` postgres://team:${secret}@db.example/vaults`,
  ` state`,
  `state\r`,
  `/tmp/state `,
  `postgres://team:${secret}@db.example/vaults"`,
  `postgres://team:${secret}@db.example/vaults `,
  `postgres:/team:${secret}@db.example/vaults`,
  `postgres:team:${secret}@db.example/vaults`,
  `jdbc:postgresql://team:${secret}@db.example/vaults`,
  `mysql://team:${secret}@db.example/vaults`,
  `POSTGRES://team:${secret}@db.example/vaults`,
  `file:/var/lib/${secret}`,
  `state/postgres:${secret}`,
  `\u201Cpostgres://team:${secret}@db.example/vaults\u201D`,
  "${DATABASE_URL}",
  "state/${NAME}",
  "postgres://team:${PGPASSWORD}@db.example/vaults",
  `postgres://team:${secret}@db.example/vaults?sslmode=prefer`,
  `postgres://team:${secret}/word@db.example/vaults`,
  `postgres://team:${secret}@db.example:port/vaults`,
  `host=db.example user=team password=${secret}`,
  "service=vaults",
  "db.example:5432/vaults",
  "127.0.0.1:5432/vaults",
  `postgres//team:${secret}@db.example/vaults`,
  `team:${secret}@db.example/vaults`,
  "~/state",
  "~",
  "$HOME/state",
  `postgres://team:a?${secret}@db.example/vaults`,
  `postgres://team:1234?${secret}@db.example/vaults`,
  `postgres://team:1234/${secret}@db.example/vaults`,
  `postgres://team:a@${secret}@db.example/vaults`,
];

let lab: Lab;
beforeAll(async () => {
  lab = await openLab(offlineNote);
});

/** A machine, and the empty folder in which its commands run. */
function fresh(): { machine: Machine; cwd: string; first: string[] } {
  const cwd = tempDir("cwd");
  const machine = lab.machine({ stateDir: "" });
  mkdirSync(machine.configDir, { mode: 0o700 });
  return { machine, cwd, first: firstGetArgs(machine, lab.vault) };
}

describe.each(accidents)("%s is exit 2, and nothing is sent or made", (location) => {
  const expectRefused = async (
    machine: Machine,
    cwd: string,
    env: Record<string, string>,
    ...args: string[]
  ): Promise<void> => {
    const before = [cwd, machine.home, machine.configDir].map((folder) => readdirSync(folder));
    const sent = lab.service.sandbox.requests().length;
    const result = await machine.vaultWith({ cwd, env }, ...args, "--json");
    expectError(result, "usage");
    expect(result.stdout).toBe("");
    expect(result.stderr).not.toContain(secret);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    expect([cwd, machine.home, machine.configDir].map((folder) => readdirSync(folder))).toEqual(
      before,
    );
  };

  it("from --state and VAULTSVC_STATE", async () => {
    const { machine, cwd, first } = fresh();
    const lines = ["status", "state init", "state locks", `import ${lab.vault.uuid}`];
    for (const command of [first, ...lines.map((line) => line.split(" "))]) {
      await expectRefused(machine, cwd, {}, ...command, "--state", location);
      await expectRefused(machine, cwd, { VAULTSVC_STATE: location }, ...command);
    }
    await expectRefused(machine, cwd, {}, "init", "--state", location);
  });

  it("from the configuration, by hand or by `config set`", async () => {
    const { machine, cwd, first } = fresh();
    await expectRefused(machine, cwd, {}, "config", "set", "state", location);
    const config = JSON.stringify({ profiles: { default: { state: location } } });
    writeFileSync(join(machine.configDir, "config.json"), config, { mode: 0o600 });
    await expectRefused(machine, cwd, {}, ...first);
    await machine.okWith({ cwd }, "config", "unset", "state");
  });

  it("from `state move --to`", async () => {
    const { machine, cwd } = fresh();
    const env = { VAULTSVC_STATE: join(machine.home, "state") };
    await machine.okWith({ cwd, env }, "state", "init");
    await expectRefused(machine, cwd, env, "state", "move", "--yes", "--to", location);
    await machine.okWith({ cwd, env }, "status");
  });
});

it("a relative path that has a colon, a quote or a space further on is a path", async () => {
  const { machine, cwd, first } = fresh();
  for (const path of ["./a:b", "./a=b@c//d", `it's mine`, "a b"]) {
    const { code } = await machine.vaultWith({ cwd }, ...first, "--state", path);
    expect([0, 6]).toContain(code);
  }
  expect(readdirSync(cwd).toSorted()).toEqual(["a b", "a:b", "a=b@c", "it's mine"]);
});

it.each([
  `postgres://team:a?${secret}@127.0.0.1:1/vaults`,
  `postgres://team:1?${secret}=x@127.0.0.1:1/vaults`,
  `postgres://te?am:${secret}@127.0.0.1:1/vaults`,
  `postgres://te/am:a@${secret}@127.0.0.1:1/vaults`,
  `postgres://127.0.0.1:1/vaults?password=${secret}`,
  `host=127.0.0.1 password=${secret}`,
])("no command shows the password of %s", async (location) => {
  const { machine, cwd } = fresh();
  const profile = { profiles: { default: { state: location, proxy: `me:${secret}@proxy:1` } } };
  writeFileSync(join(machine.configDir, "config.json"), JSON.stringify(profile), { mode: 0o600 });
  const looks = ["config list --origin", "config get state", "config path", "doctor --offline"];
  const lines = [...looks, "status", "state locks"].map((line) => line.split(" "));
  for (const args of [["config", "set", "state", location], ...lines])
    for (const env of [{}, { VAULTSVC_STATE: location }]) {
      const { stdout, stderr } = await machine.vaultWith({ cwd, env }, ...args, "--json");
      expect(`${stdout}${stderr}`, args.join(" ")).not.toContain(secret);
    }
});

describe("a password on the command line draws a warning, and is not shown", () => {
  const location = `postgres://team:${secret}@127.0.0.1:1/vaults`;
  const expectWarned = (stderr: string, source: string): void => {
    expect(stderr).toContain(
      `warning: ${source} has a secret on the command line, where other users of this machine can see it`,
    );
    expect(stderr).not.toContain(secret);
  };

  it("in --state, --to and `config set state`; in the environment it draws none", async () => {
    const { machine, cwd } = fresh();
    expectWarned(
      (await machine.vaultWith({ cwd }, "status", "--state", location)).stderr,
      "--state",
    );
    expect(
      (await machine.vaultWith({ cwd, env: { VAULTSVC_STATE: location } }, "status")).stderr,
    ).not.toContain("warning");
    expectWarned(
      (await machine.vaultWith({ cwd }, "config", "set", "state", location)).stderr,
      "VALUE",
    );
    const local = { VAULTSVC_STATE: join(machine.home, "state") };
    expectWarned(
      (await machine.vaultWith({ cwd, env: local }, "state", "move", "--yes", "--to", location))
        .stderr,
      "--to",
    );
  });
});
