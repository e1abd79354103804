import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Call } from "./strace.ts";

/** Files by path; contents by number of the file, because a file can be renamed, linked and removed. */
interface Disk {
  names: Map<string, number | "folder">;
  contents: Map<number, Buffer>;
}

/** One change that a run made. Each can be applied without those before it: a disk may have got one and not the other. */
type Change =
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

/** What a run did to the disk, in order, with what it said to others in between. */
type Step =
  | { type: "change"; change: Change; call: string }
  /** What was written to a file, or which names are in a folder, is on the disk from here on. */
  | { type: "sync"; of: number | string; call: string }
  | { type: "sent" | "answered"; call: string }
  | { type: "printed"; text: string; call: string };

/** For `traced`: all bytes, in hexadecimal. */
export const recording = ["-xx", "-s", "16777216"];

const bytes = (hex = ""): Buffer => Buffer.from(hex.replaceAll("\\x", ""), "hex");

/** The steps of a recorded run within a folder, which held `before` when it began. Memory mapped by SQLite (-shm) is left out: it is built anew. */
export function stepsOf(calls: readonly Call[], folder: string, before: Disk): Step[] {
  const live = copyOf(before);
  const open = new Map<string, { file: number; at: number; append: boolean }>();
  const steps: Step[] = [];
  let files = live.contents.size;

  for (const { name, args, result } of calls) {
    if (result === "" || result.startsWith("-1")) continue;
    const strings = [...args.matchAll(/"((?:\\x[0-9a-f]{2})*)"/g)].map(([, hex]) => bytes(hex));
    const [, descriptor = "", target = ""] = /^(\d+)<([^>]*)>/.exec(args) ?? [];
    const path =
      descriptor === "" ? String(strings[0]) : String(bytes(target)).replace(/ \(deleted\)$/, "");
    const numbers = args.split(", ").map((part) => Number(part.replace(/[[\]]/g, "")));
    const call = `${name} ${path.replace(folder, "")}`;
    const count = Number(/^\d+/.exec(result)?.[0]);
    const change = (one: Change): void => {
      apply(live, one);
      steps.push({ type: "change", change: one, call });
    };
    const write = (file: number, at: number, data: Buffer): void => {
      if (data.length > 0) change({ type: "write", file, at, data });
    };

    if (path.startsWith("socket:")) {
      const text = String(Buffer.concat(strings));
      if (descriptor === "1") steps.push({ type: "printed", text: text.slice(0, count), call });
      else if (name.startsWith("write") && /^(POST|PUT|GET|DELETE) /.test(text))
        steps.push({ type: "sent", call });
      else if (name === "read" && text.startsWith("HTTP/")) steps.push({ type: "answered", call });
      continue;
    }
    if (!`${path}/`.startsWith(`${folder}/`) || path.endsWith("-shm")) continue;
    const there = live.names.get(path);
    const handle = open.get(descriptor);
    switch (name) {
      case "openat": {
        const number = /^\d+/.exec(result)?.[0] ?? "";
        if (there === "folder" || path === folder) break;
        if (there === undefined) change({ type: "add", path, node: files++ });
        const file = live.names.get(path) as number;
        if (/O_TRUNC/.test(args) && (live.contents.get(file)?.length ?? 0) > 0)
          change({ type: "size", file, size: 0 });
        open.set(number, { file, at: 0, append: /O_APPEND/.test(args) });
        break;
      }
      case "write":
      case "pwrite64": {
        if (handle === undefined) throw new Error(`${call}: opened before it was traced`);
        const data = (strings[0] ?? Buffer.alloc(0)).subarray(0, count);
        if (name === "pwrite64") write(handle.file, numbers.at(-1) ?? 0, data);
        else {
          const at = handle.append ? (live.contents.get(handle.file)?.length ?? 0) : handle.at;
          write(handle.file, at, data);
          handle.at = at + count;
        }
        break;
      }
      case "copy_file_range": {
        const [, to = ""] = /, (\d+)</.exec(args) ?? [];
        const target = open.get(to);
        if (handle === undefined || target === undefined)
          throw new Error(`${call}: opened before it was traced`);
        const source = live.contents.get(handle.file) ?? Buffer.alloc(0);
        write(target.file, target.at, Buffer.from(source.subarray(target.at, target.at + count)));
        target.at += count;
        break;
      }
      case "ftruncate":
        if (handle !== undefined)
          change({ type: "size", file: handle.file, size: numbers.at(-1) ?? 0 });
        break;
      case "fsync":
      case "fdatasync": {
        const isFolder = there === "folder" || path === folder;
        if (isFolder || handle !== undefined)
          steps.push({ type: "sync", of: isFolder ? path : (handle?.file ?? 0), call });
        break;
      }
      case "mkdir":
        change({ type: "add", path, node: "folder" });
        break;
      case "link":
        change({ type: "add", path: String(strings[1]), node: there ?? 0 });
        break;
      case "rename":
        change({ type: "rename", from: path, to: String(strings[1]), node: there ?? 0 });
        break;
      case "unlink":
      case "rmdir":
        if (there !== undefined) change({ type: "remove", path, node: there });
        break;
      case "read":
        break;
      default:
        throw new Error(`${call}: what it does to a disk is not known here`);
    }
  }
  return steps;
}

/** One of the states in which the disk may be found after a power loss. */
interface Left {
  where: string;
  /** What had been synced. */
  base: Disk;
  /** And what had reached the disk besides. */
  more: Change[];
  /** How many requests had been answered, and how many of those sent the service has taken. */
  taken: number;
  printed: string;
}

interface Pending {
  index: number;
  change: Change;
}

/**
 * All states that a power loss may leave at any point of a run. What was synced is there. Of the changes since then any may be: none,
 * all, the first so many, all but one, one alone; of a write, its length without its data, and, for some, a part of its sectors of 512
 * bytes. A rename is there or not; between two folders
 * it may leave both names once the new one's folder is synced and the old one's is not. A request that is unanswered has reached the service, or not.
 */
export function* leftBy(steps: readonly Step[], before: Disk): Generator<Left> {
  const base = copyOf(before);
  const synced = new Set<number>();
  const seen = new Set<string>();
  let pending: Pending[] = [];
  let [sent, answered, printed] = [0, 0, ""];

  for (const [index, step] of steps.entries()) {
    if (step.type === "change") pending.push({ index, change: step.change });
    if (step.type === "sync") {
      const { done, left } = sync(pending, step.of);
      for (const { change } of done) apply(base, change);
      for (const each of done) synced.add(each.index);
      pending = left;
    }
    if (step.type === "sent") sent += 1;
    if (step.type === "answered") answered = sent;
    if (step.type === "printed") printed += step.text;
    let frozen: Disk | undefined;
    for (const { name, some } of subsets(pending)) {
      for (const taken of new Set([answered, sent])) {
        const key = JSON.stringify([
          synced.size,
          some.map(({ index: one, change }) => [
            one,
            change.type === "write" ? change.at : 0,
            name.startsWith("torn") || name.startsWith("length") ? name : "",
          ]),
          taken,
          printed.length,
        ]);
        if (seen.has(key)) continue;
        seen.add(key);
        frozen ??= copyOf(base);
        yield {
          where: `after step ${index}, ${step.call}; ${name}`,
          base: frozen,
          more: some.map(({ change }) => change),
          taken,
          printed,
        };
      }
    }
  }
}

/** What a sync makes durable, in order, and what is left. */
function sync(
  pending: readonly Pending[],
  of: number | string,
): { done: Pending[]; left: Pending[] } {
  const [done, left]: [Pending[], Pending[]] = [[], []];
  for (const each of pending) {
    const { change } = each;
    const isDone =
      change.type === "write" || change.type === "size"
        ? change.file === of
        : change.type === "rename"
          ? dirname(change.from) === of || dirname(change.to) === of
          : dirname(change.path) === of;
    (isDone ? done : left).push(each);
    // The new name is there; whether the old one still is, too, is a matter of its own folder.
    if (isDone && change.type === "rename" && dirname(change.from) !== of) {
      done.pop();
      done.push({ ...each, change: { type: "add", path: change.to, node: change.node } });
      left.push({ ...each, change: { type: "remove", path: change.from, node: change.node } });
    }
  }
  return { done, left };
}

function* subsets(
  pending: readonly Pending[],
): Generator<{ name: string; some: readonly Pending[] }> {
  const many = pending.length;
  yield { name: "nothing of what was not synced", some: [] };
  for (let n = 1; n <= many; n += 1)
    yield { name: `the first ${n} of ${many}`, some: pending.slice(0, n) };
  for (const [n, one] of pending.entries()) {
    yield {
      name: `all of ${many} but number ${n + 1}`,
      some: pending.filter((each) => each !== one),
    };
    yield { name: `number ${n + 1} of ${many} alone`, some: [one] };
    const { change } = one;
    if (change.type !== "write") continue;
    const replaced = (data: Buffer): Pending[] =>
      pending.map((each) => (each === one ? { ...one, change: { ...change, data } } : each));
    yield {
      name: `length of number ${n + 1} of ${many} without its data`,
      some: replaced(Buffer.alloc(change.data.length)),
    };
    if (change.data.length <= 512 || one.index % 3 !== 0) continue;
    const half = Math.ceil(change.data.length / 1024) * 512;
    yield {
      name: `torn: the first half of number ${n + 1} of ${many}`,
      some: replaced(change.data.subarray(0, half)),
    };
    const later = { ...change, at: change.at + half, data: change.data.subarray(half) };
    yield {
      name: `torn: the second half of number ${n + 1} of ${many}`,
      some: pending.map((each) => (each === one ? { ...one, change: later } : each)),
    };
  }
}
