import { realpathSync } from "node:fs";
import type { Host } from "../host.ts";

/** The commit that was built; set by the build. */
declare const VAULT_BUILD: string | undefined;

/** What `vault --version --verbose` tells, for a report of a problem. */
interface VersionDetails {
  version: string;
  /** The commit that was built, `-dirty` with changes besides; `unknown` outside a repository, `none` for sources that run as they are. */
  build: string;
  node: string;
  sqlite: string;
  /** As `linux x64`. */
  platform: string;
  installed: { as: "executable" | "package" | "checkout"; path: string };
}

const installedAs = {
  executable: "single executable",
  package: "npm package",
  checkout: "checkout",
} as const;

/** What `--version --verbose` prints: a document, or a line for each fact. */
export function detailedVersion(
  version: string,
  {
    arch,
    platform,
    program,
    stdout,
    versions,
  }: Pick<Host, "arch" | "platform" | "program" | "stdout" | "versions">,
  json: boolean,
): string {
  const path = realpathSync(program.at(-1) ?? "");
  const as =
    program.length === 1 ? "executable" : path.includes("/node_modules/") ? "package" : "checkout";
  const details: VersionDetails = {
    version,
    build: typeof VAULT_BUILD === "undefined" ? "none" : VAULT_BUILD,
    node: versions.node,
    sqlite: versions.sqlite ?? "none",
    platform: `${platform} ${arch}`,
    installed: { as, path },
  };
  if (json) return `${JSON.stringify(details)}\n`;
  const rows = Object.entries({ ...details, installed: `${path} (${installedAs[as]})` });
  const gap = (name: string): string => (stdout.isTTY ? " ".repeat(11 - name.length) : "\t");
  return rows.map(([name, value]) => `${name}${gap(name)}${value}\n`).join("");
}
