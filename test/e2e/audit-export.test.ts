import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { expectError, expectExit, firstGet, offlineNote, openLab } from "../support/lab.ts";
import { tempDir } from "../support/cleanup.ts";

/** A sandbox with some items, one of them with a reference that a spreadsheet would run; and how to export them. */
async function open() {
  const readyFile = join(tempDir("ready"), "ready.json");
  const lab = await openLab(offlineNote, { readyFile });
  const machine = lab.machine();
  expectExit(await firstGet(machine, lab.vault, "--external-ref", '=HYPERLINK("http://x","y")'), 0);
  const audit = async (...args: string[]) =>
    await machine.start({}, "sandbox", "audit", "--ready-file", readyFile, ...args).exit;
  return { machine, audit, items: structuredClone(lab.service.sandbox.audit()) };
}

describe.concurrent("vault sandbox audit --export", () => {
  it("writes each form by the name of the file", async () => {
    const { machine, audit, items } = await open();
    const written: Record<string, string> = {};
    for (const name of ["a.ndjson", "a.csv", "b.ndjson.gz", "b.csv.gz"]) {
      const done = await audit("--export", name, "--json");
      expectExit(done, 0);
      expect(JSON.parse(done.stdout)).toEqual({ items: 3, file: name });
      expect(done.stderr).toBe("");
      const bytes = readFileSync(join(machine.home, name));
      written[name] = (name.endsWith(".gz") ? gunzipSync(bytes) : bytes).toString("utf8");
    }
    const text = (name: string): string => written[name] ?? "";
    expect(text("a.ndjson")).toBe(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
    expect(text("a.csv").split("\r\n")).toHaveLength(5);
    expect(text("a.csv")).toContain(`,"'=HYPERLINK(""http://x"",""y"")",`);
    for (const form of ["ndjson", "csv"]) expect(text(`b.${form}.gz`)).toBe(text(`a.${form}`));
  });

  it("refuses another ending, before it asks a sandbox, and leaves the file alone", async () => {
    const machine = (await openLab(offlineNote)).machine();
    writeFileSync(join(machine.home, "items.txt"), "mine");
    for (const name of ["items.txt", "items", "items.json", "items.csv.zip"]) {
      const refused = await machine.start(
        {},
        "sandbox",
        "audit",
        "--ready-file",
        "no-such-file",
        "--export",
        name,
        "--json",
      ).exit;
      expectError(refused, 2, "usage", /--export: .*\.ndjson or \.csv, .*\.gz/);
    }
    expect(readdirSync(machine.home).filter((name) => !name.startsWith("."))).toEqual([
      "items.txt",
    ]);
    expect(readFileSync(join(machine.home, "items.txt"), "utf8")).toBe("mine");
  });

  it("a file that cannot be written is named, and nothing is left beside it", async () => {
    const { machine, audit } = await open();
    expectError(
      await audit("--export", "no/such/items.csv.gz", "--json"),
      3,
      "invalid-input",
      /--export: no\/such\/items.csv.gz/,
    );
    expect(existsSync(join(machine.home, "no"))).toBe(false);
  });
});
