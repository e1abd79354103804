import fs, { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ensureRoom, typeOf, unsafeDisk } from "../../src/files/disk.ts";
import { checkPrivateDirectory } from "../../src/files/private-directory.ts";
import { expectError, expectExit, firstGetArgs, openLab } from "../support/lab.ts";
import { tempDir } from "../support/cleanup.ts";

const preload = join(import.meta.dirname, "..", "support", "answer-statfs.cjs");

const imported = JSON.stringify({
  uuid: "123e4567-e89b-42d3-a456-426614174000",
  kind: "generic/offline",
  credentials: { encryptedData: "e", payload: "p" },
});

/** Options of a run for which a folder is on a file system of this type. */
const onType = (folder: string, type: string) => ({
  env: { NODE_OPTIONS: `--require=${preload}`, FAR_FOLDER: folder, FAR_TYPE: type },
});

describe("a file system that counts no blocks", () => {
  it.runIf(process.platform === "linux")("is not full", () => {
    expect(unsafeDisk("/proc")).toBeNull();
    expect(() => ensureRoom("/proc")).not.toThrow();
  });
});

describe("a state on a network file system", () => {
  it("is refused before anything is made, sent or read; moved to a local disk it goes on", async () => {
    const lab = await openLab();
    const { uuid } = lab.vault;
    const mount = join(tempDir("mount"), "nfs");
    mkdirSync(mount);
    const there = lab.machine({ stateDir: join(mount, "new", "state") });
    const nfs = onType(mount, "nfs4");
    const refused = await there.vaultWith(nfs, ...firstGetArgs(there, lab.vault), "--json");
    expectError(refused, "state", /network file system \(nfs4\)/);
    expect(refused.stderr).toContain("--state");
    expect(readdirSync(mount)).toEqual([]);
    expect(lab.service.sandbox.requests()).toEqual([]);

    expectExit(await there.vault(...firstGetArgs(there, lab.vault)), 0);
    const before = readFileSync(join(there.stateDir, "vault.db"));
    for (const args of [
      ["get", uuid],
      ["status"],
      ["export", uuid],
      ["ack", "--all"],
      ["state", "rekey", "--yes"],
    ])
      expectError(await there.vaultWith(nfs, ...args, "--json"), "state", /nfs4/);
    expect(readFileSync(join(there.stateDir, "vault.db"))).toEqual(before);
    expect(lab.service.sandbox.requests()).toHaveLength(2);

    const local = there.copy();
    expectExit(await local.vaultWith(nfs, "get", uuid), 0);
  });

  it("takes no backup back either", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    const file = join(machine.home, "copy.backup");
    expectExit(await machine.vault("state", "backup", file), 0);
    const mount = tempDir("mount");
    const there = lab.machine({ home: machine.home, stateDir: join(mount, "state") });
    expectError(
      await there.vaultWith(onType(mount, "smb3"), "state", "restore", file, "--yes", "--json"),
      "state",
      /smb3/,
    );
    expect(existsSync(there.stateDir)).toBe(false);
  });

  it("is an error to doctor; what a host gives to its guest is used, and a warning", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    const found = async (type: string) => {
      const { stdout } = await machine.vaultWith(
        onType(machine.stateDir, type),
        "doctor",
        "--json",
      );
      const { checks } = JSON.parse(stdout) as {
        checks: { check: string; level: string; message: string }[];
      };
      return checks.find(({ check }) => check === "disk");
    };
    expect(await found("fuse.sshfs")).toMatchObject({
      level: "error",
      message: expect.stringContaining("fuse.sshfs") as string,
    });
    expect(await found("9p")).toMatchObject({
      level: "warn",
      message: expect.stringContaining("9p") as string,
    });
    expectExit(await machine.vaultWith(onType(machine.stateDir, "9p"), "get", lab.vault.uuid), 0);
  });
});

describe("a state that does not outlive the machine's next start, or its container", () => {
  it.each([
    ["tmpfs", /^the state is in memory \(tmpfs\): it is gone when this machine restarts/],
    ["ramfs", /^the state is in memory \(ramfs\)/],
    [
      "overlay",
      /^the state is in a container's own layer \(overlay\): it is gone when that container is removed/,
    ],
  ])("on %s is no local disk to doctor", async (type, message) => {
    const machine = (await openLab()).machine();
    const found = async (folder: string) => {
      const options = onType(folder, type);
      const { stdout } = await machine.vaultWith(options, "doctor", "--offline", "--json");
      const { checks } = JSON.parse(stdout) as {
        checks: { check: string; level: string; message: string; hint?: string; next: unknown }[];
      };
      return checks.filter(({ check, level }) => check === "disk" && level !== "ok");
    };
    const both = await found(machine.home);
    const hint = expect.any(String) as string;
    expect(both).toMatchObject([
      { level: "warn", hint },
      { level: "warn", hint },
    ]);
    expectExit(await machine.vaultWith({ input: imported }, "import", "--file", "-"), 0);
    const [{ message: told, next } = {}, ...more] = await found(machine.stateDir);
    expect(told).toMatch(message);
    expect(told).toMatch(/, and with it the credentials of 1 vault$/);
    expect(next).toMatchObject([{ argv: ["vault", "state", "move", "--to", "DIR"] }]);
    expect(more).toEqual([]);
    expect(await found(machine.configDir)).toMatchObject([
      { level: "warn", message: expect.stringMatching(/^the key file is in .*opened$/) as string },
    ]);
  });
});

describe("the type of the file system with a device number", () => {
  const mountinfo = [
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
    "41 40 0:41 / /home/ada/far\\040away rw - fuse.sshfs ada@far:/a - b rw",
    "43 40 0:1042 / /mnt rw - fuse.s3fs bucket rw",
    "44 40 8:41 / /media/disk rw - fuseblk /dev/sdc9 rw",
    "",
  ].join("\n");

  it.each([
    [0xfe00, "ext4"],
    [41, "fuse.sshfs"],
    // The minor number has 20 bits, on either side of the major one.
    [0x400012, "fuse.s3fs"],
    [0x829, "fuseblk"],
  ])("%d: %s", (device, type) => {
    expect(typeOf(device, mountinfo)).toBe(type);
  });
});

describe("a file system that changes no modes, as one in user space may", () => {
  it("is an error of the state, not of the program", () => {
    const folder = tempDir("modes");
    const { chmodSync } = fs;
    chmodSync(folder, 0o755);
    fs.chmodSync = () => {
      throw Object.assign(new Error("ENOSYS: function not implemented, chmod"), {
        code: "ENOSYS",
        syscall: "chmod",
      });
    };
    syncBuiltinESMExports();
    try {
      expect(() => checkPrivateDirectory(folder)).toThrow(
        expect.objectContaining({
          code: "state",
          message: `the state cannot be used: ${folder}: ENOSYS: function not implemented`,
        }),
      );
    } finally {
      fs.chmodSync = chmodSync;
      syncBuiltinESMExports();
    }
  });
});
