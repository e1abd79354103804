import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  symlinkSync,
  writeFileSync,
  rmSync,
} from "node:fs";
import { basename, join, relative } from "node:path";
import { describe, expect, it } from "vitest";
import { checkpoint } from "../support/state-file.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  firstGetArgs,
  offlineNote,
  openLab,
  coldLab,
} from "../support/lab.ts";
import { pairIn, keyFileOf, type Machine } from "../support/machine.ts";
import {
  asOther,
  expectRefusedInPlace,
  fifo,
  give,
  mayBeOther,
  other,
  othersDir,
  places,
  things,
  third,
} from "../support/disks.ts";
import type { Thing } from "../support/disks.ts";
import { tempDir } from "../support/cleanup.ts";

/** A machine whose state was made by a process of its own, which has ended. */
async function warm(): Promise<{ lab: Lab; machine: Machine; uuid: string }> {
  const { lab, machine, uuid } = await coldLab(offlineNote);
  await machine.ok(...firstGetArgs(machine, lab.vault));
  return { lab, machine, uuid };
}

/** Exit 14 before anything is sent. */
async function expectRefused(
  lab: Lab,
  machine: Machine,
  message: RegExp,
  ...args: string[]
): Promise<void> {
  const sent = lab.service.sandbox.requests().length;
  const command = args.length > 0 ? args : ["get", lab.vault.uuid];
  expectError(await machine.vault(...command, "--json"), "state", message);
  expect(lab.service.sandbox.requests()).toHaveLength(sent);
}

describe
  .skipIf(!mayBeOther)
  .concurrent("what belongs to another user (needs an administrator) is refused", () => {
    it.each(["state", "config", "config/keys", "a key file"])("%s", async (what) => {
      const { lab, machine } = await warm();
      const name = what === "a key file" ? relative(machine.home, keyFileOf(machine)) : what;
      give(join(machine.home, name));
      await expectRefused(lab, machine, /belongs to another user \(uid 65533\)/);
      await expectRefused(lab, machine, /belongs to another user/, "export", lab.vault.uuid);
      give(join(machine.home, name), 0);
      await machine.ok("get", lab.vault.uuid);
    });

    it("a state whose journal is read, without its key", async () => {
      const { lab, machine } = await warm();
      give(machine.stateDir);
      const why = /the state cannot be used: .*belongs to another user/;
      await expectRefused(lab, machine, why, "audit-replay");
    });

    it("a configuration, whose command is not run", async () => {
      const { lab, machine } = await warm();
      const marker = join(machine.home, "ran");
      const file = join(machine.configDir, "config.json");
      const profile = { jwt: { command: `touch ${marker}; echo a.b.c` } };
      writeFileSync(file, JSON.stringify({ profiles: { default: profile } }));
      give(file);
      const why = /the configuration cannot be used: .*config\.json: it belongs to another user/;
      for (const words of ["get x", "config list", "config set rateLimit 5", "status"])
        await expectRefused(lab, machine, why, ...words.split(" "));
      expect(existsSync(marker)).toBe(false);
      give(file, 0);
      await machine.ok("get", lab.vault.uuid);
      expect(existsSync(marker)).toBe(true);
    });

    it("a key file of version 0.2.0 that a profile names", async () => {
      const { lab, machine } = await warm();
      const id = basename(keyFileOf(machine), ".key");
      const key = readFileSync(keyFileOf(machine), "utf8").trim();
      const path = give(machine.file("team.key", `vaultsvc-key-1 ${id} ${key}\n`));
      chmodSync(path, 0o600);
      rmSync(keyFileOf(machine));
      const config = { profiles: { default: { stateKeyFile: path } } };
      const file = join(machine.configDir, "config.json");
      writeFileSync(file, JSON.stringify(config), { mode: 0o600 });
      await expectRefused(lab, machine, new RegExp(`the key file cannot be used: ${path}: `));
      give(path, 0);
      await machine.ok("get", lab.vault.uuid);
    });

    it("a key that waits where none is yet", async () => {
      const { lab, machine } = await coldLab(offlineNote);
      const keys = join(machine.configDir, "keys");
      mkdirSync(keys, { recursive: true, mode: 0o700 });
      const file = join(keys, "config.key");
      writeFileSync(file, Buffer.alloc(32, 7).toString("base64"), { mode: 0o600 });
      give(file);
      const set = ["config", "set", "apiKey", "env:VAULTSVC_API_KEY"];
      await expectRefused(lab, machine, /the key file cannot be used: .*config\.key/, ...set);
    });

    it("a link of theirs, also one to a folder of ours, where ours is followed", async () => {
      const { lab, machine } = await warm();
      const link = join(tempDir("link"), "state");
      symlinkSync(machine.stateDir, link);
      const linked = lab.machine({ home: machine.home, stateDir: link });
      await linked.ok("get", lab.vault.uuid);
      expect(spawnSync("chown", ["-h", String(other), link]).status).toBe(0);
      await expectRefused(lab, linked, /belongs to another user/);
    });

    it("a state that somebody put where everybody can write, before it was ours", async () => {
      const lab = await openLab(offlineNote);
      const home = othersDir();
      const shared = tempDir("shared");
      chmodSync(shared, 0o1777);
      const stateDir = join(shared, "state");
      mkdirSync(stateDir, { mode: 0o755 });
      give(stateDir, third);
      const machine = lab.machine({ home, stateDir });
      const args = firstGetArgs(machine, lab.vault);
      for (const file of args.filter((arg) => arg.startsWith("@"))) give(file.slice(1));
      const theirs = await machine.start(...asOther([...args, "--json"])).exit;
      expectError(theirs, "state", /belongs to another user \(uid 65532\)/);
      expect(lab.service.sandbox.requests()).toEqual([]);
      // One of its own beside it is as good as any.
      const mine = ["--state", join(shared, "mine"), "--json"];
      expectExit(await machine.start(...asOther([...args, ...mine])).exit, 0);
      expect(lstatSync(join(shared, "mine")).mode & 0o777).toBe(0o700);
    });
  });

describe.skipIf(!mayBeOther).concurrent("without the rights of an administrator", () => {
  it("a folder that cannot be written to is told, and nothing is sent", async () => {
    const lab = await openLab(offlineNote);
    const home = othersDir();
    const machine = lab.machine({ home });
    const args = firstGetArgs(machine, lab.vault);
    for (const file of args.filter((arg) => arg.startsWith("@"))) give(file.slice(1));
    expectExit(await machine.start(...asOther([...args, "--json"])).exit, 0);
    const sent = lab.service.sandbox.requests().length;
    for (const [path, mode] of [
      [machine.stateDir, 0o000],
      [join(machine.stateDir, "vault.db"), 0o400],
      [machine.configDir, 0o000],
    ] as const) {
      const before = lstatSync(path).mode;
      chmodSync(path, mode);
      const result = await machine.start(...asOther(["get", lab.vault.uuid, "--json"])).exit;
      expectError(result, "state", /permission denied|read-only|cannot be/);
      chmodSync(path, before);
    }
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    expectExit(await machine.start(...asOther(["get", lab.vault.uuid, "--json"])).exit, 0);
  });
});

describe.concurrent(
  "something else in the place of a file of ours is refused, without waiting for it",
  () => {
    // Each thing in each place: test/torture/planted-files.test.ts.
    it.each(places.map((place, n) => ({ place, thing: things[n % things.length] as Thing })))(
      "$thing.what for $place",
      async ({ place, thing }) => {
        const { lab, machine } = await warm();
        checkpoint(machine);
        await expectRefusedInPlace(lab, machine, place, thing);
      },
    );

    it("a key file that others can write to", async () => {
      const { lab, machine } = await warm();
      for (const mode of [0o620, 0o602, 0o666]) {
        chmodSync(keyFileOf(machine), mode);
        await expectRefused(lab, machine, /other users can write to/);
      }
    });
  },
);

describe.concurrent("a file that is to be written", () => {
  const isLink = /a symbolic link/;
  const targets: [string, (folder: string) => string, RegExp][] = [
    ["a link to a file", (folder) => linkTo(folder, join(folder, "precious")), isLink],
    ["a link that leads nowhere", (folder) => linkTo(folder, join(folder, "nowhere")), isLink],
    ["a link as /dev/stdout is one", (folder) => linkTo(folder, "/proc/self/fd/1"), isLink],
    ["a pipe", (folder) => (fifo(join(folder, "pipe")), join(folder, "pipe")), /not a file/],
    ["a folder", (folder) => folder, /not a file/],
  ];
  const linkTo = (folder: string, target: string): string => {
    symlinkSync(target, join(folder, "link"));
    return join(folder, "link");
  };

  it.each(targets)(
    "and is %s is refused by every command that writes one, and stays",
    async (_, make, why) => {
      const { lab, machine, uuid } = await warm();
      const sent = lab.service.sandbox.requests().length;
      const folder = tempDir("target");
      writeFileSync(join(folder, "precious"), "precious");
      const path = make(folder);
      const before = lstatSync(path);
      const item = { time: "2026-11-20T12:00:00Z", action: "READ_VAULT" };
      const items = machine.file("items.ndjson", item);
      for (const args of [
        ["get", uuid, "--credentials-out", path],
        ["state", "backup", path],
        ["state", "backup", path, "--force"],
        ["audit-replay", items, "--html", path],
        ["audit-replay", items, "--markdown", path],
      ]) {
        expectError(await machine.vault(...args, "--json"), "invalid-input", why);
      }
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      expect(lstatSync(path)).toMatchObject({ ino: before.ino, mode: before.mode });
      expect(readFileSync(join(folder, "precious"), "utf8")).toBe("precious");
      expect(existsSync(join(folder, "nowhere"))).toBe(false);
    },
  );

  it.each(["ready-file", "audit"])("of the sandbox neither: %s", async (which) => {
    const folder = tempDir("target");
    writeFileSync(join(folder, "precious.ndjson"), "precious");
    const link = join(folder, "link.ndjson");
    symlinkSync(join(folder, "precious.ndjson"), link);
    const readyFile = join(folder, "ready.json");
    const { machine } = await coldLab(offlineNote, { readyFile });
    const audit = ["audit", "--ready-file", readyFile, "--export", link];
    const args = which === "audit" ? audit : ["start", "--ready-file", link];
    const refused = await machine.vault("sandbox", ...args, "--json");
    expectError(refused, which === "audit" ? "invalid-input" : "state", /a symbolic link/);
    expect(readlinkSync(link)).toBe(join(folder, "precious.ndjson"));
    expect(readFileSync(join(folder, "precious.ndjson"), "utf8")).toBe("precious");
  });

  it("that has another name keeps its content there, and what lies beside it is not followed", async () => {
    const { machine, uuid } = await warm();
    const folder = tempDir("target");
    const path = join(folder, "pair.json");
    await machine.ok("get", uuid, "--credentials-out", path);
    const former = readFileSync(path, "utf8");
    linkSync(path, join(folder, "other-name"));
    writeFileSync(join(folder, "precious"), "precious");
    symlinkSync(join(folder, "precious"), join(folder, ".pair.json.vault-new"));
    await machine.ok("get", uuid, "--credentials-out", path);
    expect(pairIn(path)).toEqual(await machine.exported(uuid));
    expect(readFileSync(join(folder, "other-name"), "utf8")).toBe(former);
    expect(readFileSync(join(folder, "precious"), "utf8")).toBe("precious");
    expect(lstatSync(path).mode & 0o777).toBe(0o600);
  });
});
