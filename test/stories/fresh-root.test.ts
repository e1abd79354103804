import { execFile, spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { demoSeed } from "../../src/sandbox/seeds.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { tempDir } from "../support/cleanup.ts";
import { mayMount } from "../support/disks.ts";
import { postgres } from "../support/postgres.ts";
import { vaultFile } from "../support/run-vault.ts";
import { keyFileOf } from "../support/machine.ts";

const packaging = join(import.meta.dirname, "..", "..", "packaging");
const release = dirname(vaultFile);
const debianPackage = readdirSync(release).find((file) => file.endsWith(".deb")) ?? "";
const canDebootstrap = mayMount && spawnSync("debootstrap", ["--version"]).error === undefined;

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

function run(command: string, args: readonly string[], input = ""): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(
      command,
      args,
      { env: { ...process.env, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive" } },
      (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr });
      },
    );
    // A program may end without having read it.
    child.stdin?.on("error", () => undefined).end(input);
  });
}

/** What a command prints, which must succeed. */
async function printed(command: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(command, args);
  if (code !== 0) throw new Error(`exit ${code}: ${args.join(" ")}\n${stdout}${stderr}`);
  return stdout;
}

/** What a script prints that is run by the administrator in that root; what it mounts goes with it. */
const inRoot = (root: string, script: string): Promise<string> => {
  const space = ["--mount", "--pid", "--fork", `--mount-proc=${root}/proc`];
  return printed("unshare", [...space, "chroot", root, "bash", "-ec", script]);
};

describe.skipIf(!canDebootstrap || debianPackage === "")(
  "in a fresh Debian (skipped without a Debian package, debootstrap, and the right to mount)",
  () => {
    // Not in memory: there, devices may not be made.
    const roots = tempDir("roots", "/var/tmp");
    const base = join(roots, "base");
    beforeAll(async () => {
      await printed("debootstrap", ["--variant=minbase", "stable", base]);
      cpSync("/etc/resolv.conf", join(base, "etc", "resolv.conf"), { dereference: true });
      await inRoot(base, "apt-get update");
    }, 900_000);

    async function copyOfBase(name: string): Promise<string> {
      const root = join(roots, name);
      await printed("cp", ["-a", base, root]);
      return root;
    }

    test("the Debian package is installed, works, and leaves nothing behind", async () => {
      const root = await copyOfBase("installed");
      const list = `find / -xdev ! -path '/tmp*' ! -path '/var/lib/dpkg/*' ! -path '/var/log/*' ! -path '/var/cache/*' | sort`;
      await inRoot(root, "apt-get install --yes --no-install-recommends man-db bash-completion");
      const before = await inRoot(root, list);
      cpSync(join(release, debianPackage), join(root, "tmp", debianPackage));
      await inRoot(root, `apt-get install --yes --no-install-recommends /tmp/${debianPackage}`);
      // Once more, as an upgrade does it.
      await inRoot(root, `dpkg --install /tmp/${debianPackage} && dpkg --verify vaultsvc`);

      for (const name of ["vault", "vaultsvc"]) {
        expect(await inRoot(root, `${name} --version`)).toMatch(/^\d+\.\d+\.\d+\n$/);
        expect(await inRoot(root, `man ${name}`)).toContain("vault get");
        const completed = await inRoot(
          root,
          `. /usr/share/bash-completion/bash_completion
           _comp_load ${name} || true
           complete -p ${name}
           COMP_LINE='${name} sta' COMP_POINT=99 COMP_WORDS=(${name} sta) COMP_CWORD=1
           _vaultsvc_complete ${name} && echo "\${COMPREPLY[@]}"`,
        );
        expect(completed).toMatch(/_vaultsvc_complete vault(svc)?\nstatus state\n/);
      }
      const demo = "vault sandbox exec -- vaultsvc get b6f9 --field vault.creditCard.name";
      expect(await inRoot(root, demo.replace("b6f9", demoSeed[0]?.uuid ?? ""))).not.toBe("");

      await inRoot(root, "dpkg --purge vaultsvc");
      expect(await inRoot(root, list)).toBe(before);
    }, 600_000);

    test("the Containerfile makes an image that keeps its state, with a read-only root", async () => {
      const { container, volume } = await buildImage(await copyOfBase("image"), roots);
      const server = await postgres();
      const sandbox = await startSandbox({ now: () => Date.now(), seed: demoSeed });
      const note = sandbox.vaults.find(({ kind }) => kind === "generic/offline");
      const uuid = note?.uuid ?? "";
      const pair = JSON.stringify(note?.credentials);
      const given = ["import", uuid, "--kind", "generic/offline", "--credentials", "-"];
      const read = [
        "run",
        uuid,
        "--env",
        "NOTE=vault.content",
        "--",
        "sh",
        "-c",
        'id -u; echo "$NOTE"',
      ];
      const service = [
        `VAULTSVC_BASE_URL=${sandbox.baseUrl}`,
        `VAULTSVC_APP_UUID=${sandbox.application.uuid}`,
        `VAULTSVC_API_KEY=${sandbox.application.apiKey}`,
      ];
      const contents = expect.stringMatching(/^10001\nThe treasure is under/) as unknown;
      try {
        // Each command in a container of its own, on one volume.
        const kept = await volume();
        expect(await container(kept, given, service, pair)).toMatchObject({ code: 0 });
        for (let time = 0; time < 2; time += 1)
          expect(await container(kept, read, service)).toMatchObject({ code: 0, stdout: contents });
        const exported = await container(kept, ["export", uuid], service);

        // With a shared state and its key, each on a volume of its own.
        const shared = [...service, `VAULTSVC_STATE=${server.location("image")}`];
        const made = await volume();
        expect(await container(made, ["state", "init"], shared)).toMatchObject({ code: 0 });
        const key = readFileSync(
          keyFileOf({ configDir: join(made, ".config", "vaultsvc") }),
          "utf8",
        ).trim();
        const keyed = [...shared, `VAULTSVC_STATE_KEY=${key}`];
        const imported = await container(await volume(), given, keyed, exported.stdout);
        expect(imported).toMatchObject({ code: 0 });
        for (let time = 0; time < 2; time += 1)
          expect(await container(await volume(), read, keyed)).toMatchObject({
            code: 0,
            stdout: contents,
          });
      } finally {
        await sandbox.close();
      }
      const write = "touch /usr/x || touch /etc/x || vault status";
      const args = ["sandbox", "exec", "--", "sh", "-c", write];
      expect(await container(await volume(), args)).toMatchObject({ code: 0 });
    }, 600_000);
  },
);

/** Takes the steps of the Containerfile in a root. */
async function buildImage(root: string, folder: string) {
  const config = { USER: "", ENV: "", WORKDIR: "/", VOLUME: "", ENTRYPOINT: "[]" };
  const text = readFileSync(join(packaging, "Containerfile"), "utf8")
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ");
  for (const [line, word = "", rest = ""] of text.matchAll(/^([A-Z]+) +(.+)$/gm)) {
    const [from = "", to = ""] = rest.split(" ");
    if (word === "FROM") expect(rest).toBe("debian:stable-slim");
    else if (word === "RUN") await inRoot(root, rest);
    else if (word === "COPY") cpSync(join(release, from), join(root, to));
    else if (word in config) Object.assign(config, { [word]: rest });
    else throw new Error(`the test does not know ${line}`);
  }
  const entry = JSON.parse(config.ENTRYPOINT) as string[];
  let volumes = 0;
  return {
    /** A new volume has what the image has in its place. */
    async volume(): Promise<string> {
      const path = join(folder, `volume-${(volumes += 1)}`);
      await printed("cp", ["-a", join(root, config.VOLUME), path]);
      return path;
    },
    /** Runs the image as `--read-only --tmpfs /tmp --volume` has it. */
    container(volume: string, args: string[], env: string[] = [], input = ""): Promise<Ended> {
      const script = `set -e
        mount --bind ${root} ${root} && mount -o remount,ro,bind ${root}
        mount --bind ${volume} ${root}${config.VOLUME}
        mount -t tmpfs tmpfs ${root}/tmp && mount -t proc proc ${root}/proc
        exec chroot --userspec=${config.USER} ${root} env --ignore-environment \\
          PATH=/usr/local/bin:/usr/bin:/bin ${config.ENV} --chdir=${config.WORKDIR} "$@"`;
      const words = ["--mount", "sh", "-c", script, "sh", ...env, ...entry, ...args];
      return run("unshare", words, input);
    },
  };
}
