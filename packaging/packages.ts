// npm run package: packs the executable, with what belongs to it, into an archive and a Debian
// package, and lists the SHA-256 of each file. The same executable gives the same packages: owners,
// modes and order are fixed, and all times are SOURCE_DATE_EPOCH, the time of the commit.
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import packageJson from "../package.json" with { type: "json" };
import { debianPackage } from "./debian.ts";

const root = join(import.meta.dirname, "..");
const release = join(root, "release");
const scratch = mkdtempSync(join(tmpdir(), "vault-package-"));
const lacking = ["dpkg-deb", "dpkg-shlibdeps"].filter(
  (tool) => spawnSync(tool, ["--version"]).error !== undefined,
);

try {
  const name = `vault-${packageJson.version}-${process.platform}-${process.arch}`;
  const folder = join(scratch, name);
  collect(folder);
  archive(name);
  if (lacking.length === 0) debianPackage(packageJson.version, folder, join(scratch, "debian"));
  else process.stdout.write(`no Debian package is made: ${lacking.join(", ")} not found\n`);
  writeSums();
} finally {
  rmSync(scratch, { recursive: true });
}

/** Copies the executable and what belongs to it into a new folder. */
function collect(folder: string): void {
  mkdirSync(folder);
  copyFileSync(join(release, "vault"), join(folder, "vault"));
  copyFileSync(join(import.meta.dirname, "INSTALL"), join(folder, "INSTALL"));
  for (const part of ["completions", "man", "CHANGELOG.md", "THIRD-PARTY-NOTICES.md"])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  const runtime = join(
    root,
    "node_modules",
    "node",
    "node_modules",
    `node-${process.platform}-${process.arch}`,
  );
  copyFileSync(join(runtime, "LICENSE"), join(folder, "LICENSE-Node.txt"));
}

function archive(name: string): void {
  const fixed = [
    "--sort=name",
    "--format=ustar",
    "--owner=root:0",
    "--group=root:0",
    "--mode=u=rwX,go=rX",
    `--mtime=@${String(process.env["SOURCE_DATE_EPOCH"])}`,
  ];
  const file = join(release, `${name}.tar.gz`);
  execFileSync("tar", [
    ...fixed,
    "--use-compress-program=gzip -n",
    "-C",
    scratch,
    "-cf",
    file,
    name,
  ]);
}

/** In the form that `sha256sum --check` reads. */
function writeSums(): void {
  const sum = (file: string): string =>
    createHash("sha256")
      .update(readFileSync(join(release, file)))
      .digest("hex");
  const files = readdirSync(release).filter((file) => file !== "SHA256SUMS");
  const lines = files.toSorted().map((file) => `${sum(file)}  ${file}\n`);
  writeFileSync(join(release, "SHA256SUMS"), lines.join(""));
  process.stdout.write(lines.join(""));
}
