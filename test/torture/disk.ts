import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Files by path; contents by number of the file, because a file can be renamed, linked and removed. */
export interface Disk {
  names: Map<string, number | "folder">;
  contents: Map<number, Buffer>;
}

/** One change that a run made. Each can be applied without those before it: a disk may have got one and not the other. */
export type Change =
  | { type: "write"; file: number; at: number; data: Buffer }
  | { type: "size"; file: number; size: number }
  | { type: "add"; path: string; node: number | "folder" }
  | { type: "remove"; path: string; node: number | "folder" }
  | { type: "rename"; from: string; to: string; node: number | "folder" };

export function apply({ names, contents }: Disk, change: Change): void {
  switch (change.type) {
    case "write": {
      const old = contents.get(change.file) ?? Buffer.alloc(0);
      const next = Buffer.alloc(Math.max(old.length, change.at + change.data.length));
      old.copy(next);
      change.data.copy(next, change.at);
      contents.set(change.file, next);
      return;
    }
    case "size": {
      const next = Buffer.alloc(change.size);
      (contents.get(change.file) ?? Buffer.alloc(0)).copy(next);
      contents.set(change.file, next);
      return;
    }
    case "add":
      names.set(change.path, change.node);
      return;
    case "remove":
      if (names.get(change.path) === change.node) names.delete(change.path);
      return;
    case "rename":
      if (names.get(change.from) === change.node) names.delete(change.from);
      names.set(change.to, change.node);
  }
}

export const copyOf = ({ names, contents }: Disk): Disk => ({
  names: new Map(names),
  contents: new Map(contents),
});

/** Equal for disks that hold the same, whatever numbers their files have. */
export function digestOf({ names, contents }: Disk): string {
  const hash = createHash("sha256");
  for (const [path, node] of [...names].sort()) {
    const content = node === "folder" ? null : (contents.get(node) ?? Buffer.alloc(0));
    hash.update(JSON.stringify([path, content?.length ?? null])).update(content ?? "");
  }
  return hash.digest("base64");
}

/** What is in a folder, by the paths that it has elsewhere. */
export function readDisk(folder: string, as: string): Disk {
  const disk: Disk = { names: new Map(), contents: new Map() };
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = join(as, path.slice(folder.length));
    if (entry.isDirectory()) disk.names.set(name, "folder");
    else {
      const number = disk.contents.size;
      disk.contents.set(number, readFileSync(path));
      disk.names.set(name, number);
    }
  }
  return disk;
}

/** Makes the folder, which is not there, as the disk holds it. A file whose folder did not reach the disk is not there either. */
export function writeDisk({ names, contents }: Disk, folder: string): void {
  mkdirSync(folder, { mode: 0o700 });
  const isThere = (path: string): boolean =>
    path === folder || (names.get(path) === "folder" && isThere(dirname(path)));
  for (const [path, node] of [...names].sort()) {
    if (!isThere(dirname(path))) continue;
    if (node === "folder") mkdirSync(path, { mode: 0o700 });
    else writeFileSync(path, contents.get(node) ?? "", { mode: 0o600 });
  }
}
