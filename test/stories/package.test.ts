import { spawnSync } from "node:child_process";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import { manPages } from "../../packaging/man.ts";
import { cleanEnv, runVault, vaultFile } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const root = join(import.meta.dirname, "..", "..");
const installed = tempDir("installed");
const packing = tempDir("packing");
let tarball = "";
const bin = join(installed, "node_modules", "vault", "bin", "vault.js");

/** Another line of Node that the program supports, or the one that runs the tests. */
const node = process.env["STORY_NODE"] ?? process.execPath;
const PATH = [dirname(node), process.env["PATH"]].join(delimiter);

/** npm with an empty cache and no network. */
function npm(args: readonly string[], cwd: string): { stdout: string; stderr: string } {
  const env = cleanEnv({
    env: {
      PATH,
      npm_config_cache: tempDir("npm-cache"),
      npm_config_offline: "true",
      npm_config_update_notifier: "false",
    },
  });
  const { status, stdout, stderr } = spawnSync("npm", args, { cwd, env, encoding: "utf8" });
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed: ${stderr}`);
  return { stdout, stderr };
}

/** A Node of this machine that the program cannot run on, if there is one. */
function olderNode(): string | undefined {
  const candidates = (process.env["PATH"] ?? "")
    .split(delimiter)
    .map((folder) => join(folder, "node"));
  return candidates.filter(existsSync).find((node) => {
    const major = Number(
      spawnSync(node, ["-p", "parseInt(process.versions.node)"], { encoding: "utf8" }).stdout,
    );
    return major > 0 && major < 22;
  });
}

const { version } = packageJson;
const pages = await manPages(version, "2026-11-22");

beforeAll(() => {
  // The build that is under test, packed as it is: --ignore-scripts keeps npm from building another.
  const man = Object.keys(pages).map((name) => `man/${name}`);
  writeFileSync(join(packing, "package.json"), JSON.stringify({ ...packageJson, man }));
  for (const name of ["README.md", "THIRD-PARTY-NOTICES.md"])
    if (existsSync(join(root, name))) copyFileSync(join(root, name), join(packing, name));
  for (const name of ["bin", "completions", "dist"])
    cpSync(join(root, name), join(packing, name), { recursive: true });
  mkdirSync(join(packing, "man"));
  for (const [name, text] of Object.entries(pages)) writeFileSync(join(packing, "man", name), text);
  tarball = npm(["pack", "--ignore-scripts"], packing).stdout.trim();
  writeFileSync(join(installed, "package.json"), "{}\n");
  npm(["install", "--no-audit", "--no-fund", join(packing, tarball)], installed);
});

test("a checkout that was never built runs from its sources", async () => {
  const checkout = tempDir("checkout");
  for (const name of ["bin", "src", "package.json"])
    cpSync(join(root, name), join(checkout, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(checkout, "node_modules"));
  const result = await runVault(["status", "--json"], {
    bin: join(checkout, "bin", "vault.js"),
    stateDir: join(checkout, "state"),
    configDir: join(checkout, "config"),
  });
  expect(result).toMatchObject({ code: 0, stderr: "" });
  expect(JSON.parse(result.stdout)).toEqual({ vaults: [] });
  const topic = await runVault(["help", "security"], {
    bin: join(checkout, "bin", "vault.js"),
    cwd: checkout,
  });
  expect(topic.stdout).toBe((await runVault(["help", "security"], { bin })).stdout);
});

describe("the packed program, installed in an empty folder without network", () => {
  test("brings no other package with it and no sources", () => {
    expect(
      readdirSync(join(installed, "node_modules")).filter((name) => !name.startsWith(".")),
    ).toEqual(["vault"]);
    const shipped = [
      "README.md",
      "THIRD-PARTY-NOTICES.md",
      "bin",
      "completions",
      "dist",
      "man",
      "package.json",
    ];
    expect(readdirSync(join(installed, "node_modules", "vault")).toSorted()).toEqual(shipped);
    expect(readdirSync(join(installed, "node_modules", "vault", "completions")).toSorted()).toEqual(
      ["_vault", "vault.bash", "vault.fish"],
    );
  });

  test("has the license of each package that is bundled in it, and of no other", () => {
    const chunks = JSON.parse(readFileSync(join(root, "dist", "chunks.json"), "utf8")) as Record<
      string,
      { packages: string[] }
    >;
    const bundled = [
      ...new Set(Object.values(chunks).flatMap(({ packages }) => packages)),
    ].toSorted();
    expect(bundled.length).toBeGreaterThan(40);
    const notices = readFileSync(
      join(installed, "node_modules", "vault", "THIRD-PARTY-NOTICES.md"),
      "utf8",
    );
    const sections = notices.split(/^## (?=\S+ \S+\n\nLicense: )/m).slice(1);
    expect(
      sections.map((text) => text.slice(0, text.lastIndexOf(" ", text.indexOf("\n")))),
    ).toEqual(bundled);
    for (const [index, name] of bundled.entries()) {
      const folder = join(root, "node_modules", name);
      const { version: of, license } = JSON.parse(
        readFileSync(join(folder, "package.json"), "utf8"),
      ) as Record<string, string>;
      const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each)) ?? "README.md";
      expect(sections[index]).toContain(`${name} ${of}\n`);
      expect(sections[index]).toContain(license);
      const text =
        readFileSync(join(folder, file), "utf8")
          .split(/^## license\n/im)
          .at(-1) ?? "";
      expect(sections[index]).toContain(text.trim());
    }
  });

  test("is installed for all users without a warning of npm, with its man pages", () => {
    const prefix = tempDir("prefix");
    const args = [
      "install",
      "--global",
      "--prefix",
      prefix,
      "--no-audit",
      "--no-fund",
      join(packing, tarball),
    ];
    expect(npm(args, installed).stderr).not.toMatch(/warn/i);
    const linked = ["man1", "man7"].flatMap((section) =>
      readdirSync(join(prefix, "share", "man", section)),
    );
    expect(linked.toSorted()).toEqual(Object.keys(pages).toSorted());
  });

  test.each(["vault", "vaultsvc"])("runs as %s", (name) => {
    const command = join(installed, "node_modules", ".bin", name);
    const { stdout, stderr } = spawnSync(command, ["--version"], {
      env: cleanEnv({ env: { PATH } }),
      encoding: "utf8",
    });
    expect([stdout, stderr]).toEqual([`${version}\n`, ""]);
  });

  test("has everything that its commands load", async () => {
    const cwd = tempDir("elsewhere");
    const result = await runVault(["status", "--json"], {
      bin,
      node,
      cwd,
      stateDir: join(cwd, "state"),
      configDir: join(cwd, "config"),
    });
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(JSON.parse(result.stdout)).toEqual({ vaults: [] });
    expect(await runVault(["get", "--help"], { bin, node, cwd })).toMatchObject({
      code: 0,
      stderr: "",
    });
  });

  const older = olderNode();

  test.skipIf(older === undefined)(
    "says what it needs on this machine's older Node (skipped where there is none)",
    async () => {
      const result = await runVault(["--version"], { bin, node: older ?? "" });
      expect(result).toMatchObject({ code: 1, stdout: "" });
      expect(result.stderr).toMatch(/^vault needs Node 22\.19 .*; this is [0-9.]+: .*\n$/);
    },
  );

  test.skipIf(older === undefined)(
    "and goes on with the pinned one where that is beside it",
    async () => {
      const checkout = tempDir("checkout");
      for (const name of ["bin", "dist", "package.json"])
        cpSync(join(root, name), join(checkout, name), { recursive: true });
      mkdirSync(join(checkout, "node_modules"));
      symlinkSync(join(root, "node_modules", "node"), join(checkout, "node_modules", "node"));
      const result = await runVault(["--version"], {
        bin: join(checkout, "bin", "vault.js"),
        node: older ?? "",
      });
      expect(result).toEqual({ code: 0, signal: null, stdout: `${version}\n`, stderr: "" });
    },
  );
});

const release = dirname(vaultFile);
const made = existsSync(join(release, "SHA256SUMS")) ? readdirSync(release).toSorted() : [];
const debianPackage = made.find((file) => file.endsWith(".deb"));
const archive = `vault-${version}-${process.platform}-${process.arch}`;

/** What a command prints, which must succeed. */
function printed(command: string, args: readonly string[], cwd = release): string {
  const { error, status, stdout, stderr } = spawnSync(command, args, {
    cwd,
    env: cleanEnv({ env: { PATH } }),
    encoding: "utf8",
  });
  expect({ error, status, stderr }).toEqual({ error: undefined, status: 0, stderr: "" });
  return stdout;
}

/** The files of a listing of tar or dpkg-deb, all of them the administrator's, with who may do what. */
function listed(text: string): string[] {
  const lines = text.trimEnd().split("\n");
  expect(lines.filter((line) => !/^[d-]rw[x-]r-[x-]r-[x-] root\/root /.test(line))).toEqual([]);
  return lines
    .filter((line) => line.startsWith("-"))
    .map((line) => `${line.slice(0, 10)} ${line.split(" ").at(-1)}`);
}

/** The oldest glibc that has what the executable links. */
function glibc(): string {
  const linked = readFileSync(vaultFile, "latin1").matchAll(/GLIBC_2\.(\d+)\0/g);
  return `2.${Math.max(...[...linked].map(([, minor]) => Number(minor)))}`;
}

describe.skipIf(made.length === 0)("what npm run package has made (skipped without it)", () => {
  const [program, data] = ["-rwxr-xr-x", "-rw-r--r--"];

  test("has the sums of all files", () => {
    const sums = readFileSync(join(release, "SHA256SUMS"), "utf8").trimEnd().split("\n");
    expect(["SHA256SUMS", ...sums.map((line) => line.slice(66))]).toEqual(made);
    expect(printed("sha256sum", ["--check", "--quiet", "SHA256SUMS"])).toBe("");
  });

  test("has an archive of the executable and what belongs to it", () => {
    const files = [
      "CHANGELOG.md",
      "INSTALL",
      "LICENSE-Node.txt",
      "THIRD-PARTY-NOTICES.md",
      ...["_vault", "vault.bash", "vault.fish"].map((name) => `completions/${name}`),
      ...Object.keys(pages).map((name) => `man/${name}`),
    ].map((name) => `${data} ${archive}/${name}`);
    expect(listed(printed("tar", ["-tvzf", `${archive}.tar.gz`])).toSorted()).toEqual(
      [...files, `${program} ${archive}/vault`].toSorted(),
    );
  });

  test("can be installed by the commands of INSTALL", () => {
    const folder = tempDir("unpacked");
    const prefix = tempDir("prefix");
    printed("tar", ["-xzf", join(release, `${archive}.tar.gz`), "-C", folder]);
    const text = readFileSync(join(folder, archive, "INSTALL"), "utf8");
    expect(text.split("\n").length - 1).toBeLessThanOrEqual(10);
    expect(text).toContain(`glibc ${glibc()} or newer`);
    const [, ...commands] = text.split("\n\n");
    const script = `PREFIX=${prefix}\n${commands.join("\n\n")}`;
    printed("sh", ["-ec", script], join(folder, archive));
    expect(printed(join(prefix, "bin", "vault"), ["--version"])).toBe(`${version}\n`);
    const share = readdirSync(join(prefix, "share"), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ parentPath, name }) => `${parentPath.slice(prefix.length + 7)}/${name}`);
    expect(share.toSorted()).toEqual(
      [
        "bash-completion/completions/vault",
        "fish/vendor_completions.d/vault.fish",
        "zsh/site-functions/_vault",
        ...Object.keys(pages).map((name) => `man/man${name.slice(-1)}/${name}`),
      ].toSorted(),
    );
  });

  test.skipIf(debianPackage === undefined)("has a Debian package", () => {
    const file = debianPackage ?? "";
    const contents = listed(printed("dpkg-deb", ["--contents", file]));
    const manPage = (name: string): string =>
      `man/man${name.slice(-1)}/${name === "vault.1" ? "vaultsvc.1" : name}.gz`;
    const shared = [
      "bash-completion/completions/vaultsvc",
      "fish/vendor_completions.d/vaultsvc.fish",
      "zsh/vendor-completions/_vault",
      ...["CHANGELOG.md.gz", "LICENSE-Node.txt.gz", "THIRD-PARTY-NOTICES.md.gz"].map(
        (name) => `doc/vaultsvc/${name}`,
      ),
      "doc/vaultsvc/copyright",
      ...Object.keys(pages).map(manPage),
    ].map((name) => `${data} ./usr/share/${name}`);
    expect(contents.toSorted()).toEqual([...shared, `${program} ./usr/bin/vaultsvc`].toSorted());
    expect(printed("dpkg-deb", ["--field", file, "Version"])).toBe(
      `${version.replace("-", "~")}\n`,
    );
    const depends = printed("dpkg-deb", ["--field", file, "Depends"]);
    expect(depends).toBe(`libc6 (>= ${glibc()}), libstdc++6 (>= 8)\n`);
  });
});
