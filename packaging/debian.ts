import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";

const root = join(import.meta.dirname, "..");
const output = (command: string, args: readonly string[], cwd = root): string =>
  execFileSync(command, args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();

/**
 * Makes release/vaultsvc_VERSION_ARCH.deb of what the archive holds. The program is installed as
 * vaultsvc; the name vault is an alternative (debian/postinst).
 */
export function debianPackage(npmVersion: string, parts: string, scratch: string): void {
  // A hyphen would begin a revision of Debian's; ~ comes before the release.
  const version = npmVersion.replace("-", "~");
  const architecture = output("dpkg", ["--print-architecture"]);
  const maintainer = output("git", ["log", "-1", "--format=%an <%ae>"]);
  const tree = join(scratch, "tree");
  const installed = new Map<string, Buffer>();
  const install = (name: string, content: Buffer | string, mode = 0o644): void => {
    const file = join(tree, name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, content, { mode });
    installed.set(name, Buffer.from(content));
  };
  const part = (name: string): Buffer => readFileSync(join(parts, name));
  const own = (name: string): Buffer => readFileSync(join(import.meta.dirname, "debian", name));
  const compressed = (content: Buffer | string): Buffer => gzipSync(content, { level: 9 });

  install("usr/bin/vaultsvc", part("vault"), 0o755);
  for (const page of readdirSync(join(parts, "man"))) {
    const name = page === "vault.1" ? "vaultsvc.1" : page;
    install(`usr/share/man/man${page.slice(-1)}/${name}.gz`, compressed(part(`man/${page}`)));
  }
  install("usr/share/bash-completion/completions/vaultsvc", part("completions/vault.bash"));
  install("usr/share/zsh/vendor-completions/_vault", part("completions/_vault"));
  install("usr/share/fish/vendor_completions.d/vaultsvc.fish", part("completions/vault.fish"));
  const documentation = "usr/share/doc/vaultsvc";
  install(`${documentation}/copyright`, own("copyright"));
  install(`${documentation}/THIRD-PARTY-NOTICES.md.gz`, compressed(part("THIRD-PARTY-NOTICES.md")));
  install(`${documentation}/LICENSE-Node.txt.gz`, compressed(part("LICENSE-Node.txt")));
  install(`${documentation}/CHANGELOG.md.gz`, compressed(part("CHANGELOG.md")));
  const day = new Date(Number(process.env["SOURCE_DATE_EPOCH"]) * 1000);
  const changelog = `vaultsvc (${version}) unstable; urgency=medium

  * CHANGELOG.md.gz lists the changes.

 -- ${maintainer}  ${day.toUTCString().replace("GMT", "+0000")}
`;
  install(`${documentation}/changelog.gz`, compressed(changelog));
  install("usr/share/lintian/overrides/vaultsvc", own("lintian-overrides"));

  const sums = [...installed].map(
    ([name, content]) => `${createHash("md5").update(content).digest("hex")}  ${name}\n`,
  );
  const kilobytes = [...installed.values()].map(({ length }) => Math.ceil(length / 1024));
  const control = `Package: vaultsvc
Version: ${version}
Architecture: ${architecture}
Maintainer: ${maintainer}
Installed-Size: ${kilobytes.reduce((sum, size) => sum + size)}
Depends: ${dependencies(join(tree, "usr", "bin", "vaultsvc"), join(scratch, "source"))}
Suggests: bash-completion
Section: admin
Priority: optional
Description: command line for remote, encrypted vaults
 Every read or update of a vault replaces its credentials. This program reads
 and updates vaults so that the new credentials are never lost and no vault is
 locked: it stores them durably, delivers the contents, and only then
 acknowledges.
`;
  install("DEBIAN/control", control);
  install("DEBIAN/md5sums", sums.join(""));
  for (const script of ["postinst", "prerm"]) install(`DEBIAN/${script}`, own(script), 0o755);
  // The folders, whatever the umask.
  output("chmod", ["-R", "u=rwX,go=rX", tree]);
  const file = join(root, "release", `vaultsvc_${version}_${architecture}.deb`);
  output("dpkg-deb", ["--root-owner-group", "-Zgzip", "-z6", "--build", tree, file]);
}

/** What Debian's own tool finds that a program links, with the oldest versions that will do. */
function dependencies(program: string, source: string): string {
  mkdirSync(join(source, "debian"), { recursive: true });
  writeFileSync(
    join(source, "debian", "control"),
    "Source: vaultsvc\n\nPackage: vaultsvc\nArchitecture: any\n",
  );
  const found = output("dpkg-shlibdeps", ["-O", "-e", program], source);
  return found.replace("shlibs:Depends=", "");
}
