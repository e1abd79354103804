import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { diskOf, ensureRoom, mountedAs } from "../../src/files/disk.ts";
import { expectError, expectExit, firstGetArgs, openLab } from "../support/lab.ts";
import { tempDir } from "../support/cleanup.ts";

const preload = join(import.meta.dirname, "..", "support", "answer-statfs.cjs");

/** Options of a run for which a folder is on a file system of this type. */
const onType = (folder: string, type: number) => ({
  env: { NODE_OPTIONS: `--require=${preload}`, STATFS_FOLDER: folder, STATFS_TYPE: String(type) },
});

describe("a file system that counts no blocks", () => {
  const facts = { freeBytes: null, shared: null };

  it.runIf(process.platform === "linux")("does not say what is free, and is not full", () => {
    expect(diskOf("/proc")).toEqual(facts);
    expect(() => ensureRoom("/proc")).not.toThrow();
  });

  it("is no error of vault doctor, either", async () => {
    const machine = (await openLab()).machine();
    const uncounted = {
      env: {
        NODE_OPTIONS: `--require=${preload}`,
        STATFS_FOLDER: machine.home,
        STATFS_BLOCKS: "0",
      },
    };
    const { stdout } = await machine.vaultWith(uncounted, "doctor", "--json");
    const { checks } = JSON.parse(stdout) as { checks: { check: string }[] };
    expect(checks.find(({ check }) => check === "disk")).toMatchObject({ level: "info" });
  });
});

describe("a state on a network file system", () => {
  it("is refused before anything is made, sent or read; moved to a local disk it goes on", async () => {
    const lab = await openLab();
    const { uuid } = lab.vault;
    const mount = join(tempDir("mount"), "nfs");
    mkdirSync(mount);
    const there = lab.machine({ stateDir: join(mount, "new", "state") });
    const nfs = onType(mount, 0x6969);
    const refused = await there.vaultWith(nfs, ...firstGetArgs(there, lab.vault), "--json");
    expectError(refused, 14, "state", /network file system \(NFS\)/);
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
      expectError(await there.vaultWith(nfs, ...args, "--json"), 14, "state", /NFS/);
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
      await there.vaultWith(onType(mount, 0xfe534d42), "state", "restore", file, "--yes", "--json"),
      14,
      "state",
      /SMB/,
    );
    expect(existsSync(there.stateDir)).toBe(false);
  });

  it("is an error to doctor; what a host gives to its guest is used, and a warning", async () => {
    const lab = await openLab();
    const machine = await lab.warmMachine();
    const found = async (type: number) => {
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
    expect(await found(0x00c36400)).toMatchObject({
      level: "error",
      message: expect.stringContaining("Ceph") as string,
    });
    expect(await found(0x01021997)).toMatchObject({
      level: "warn",
      message: expect.stringContaining("9P") as string,
    });
    expectExit(
      await machine.vaultWith(onType(machine.stateDir, 0x01021997), "get", lab.vault.uuid),
      0,
    );
  });
});

describe("the type of the file system that a path lies on", () => {
  const mountinfo = [
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw",
    "40 27 0:40 / /home rw shared:2 master:1 - nfs4 server:/home rw",
    "41 40 0:41 / /home/ada/far\\040away rw - fuse.sshfs ada@far:/ rw",
    "42 40 0:42 / /home/ada/far\\040away rw - fuse.rclone far: rw",
    "",
  ].join("\n");

  it.each([
    ["/", "ext4"],
    ["/homes", "ext4"],
    ["/home", "nfs4"],
    ["/home/ada/state", "nfs4"],
    ["/home/ada/far away", "fuse.rclone"],
    ["/home/ada/far away/state", "fuse.rclone"],
  ])("%s: %s", (path, type) => {
    expect(mountedAs(path, mountinfo)).toBe(type);
  });
});
