import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { tempDir } from "../support/cleanup.ts";
import { expectError, expectExit, firstGet, offlineNote, coldLab } from "../support/lab.ts";

/** A sandbox with some items, one of them with a reference that a spreadsheet would run; and how to export them. */
async function open() {
  const readyFile = join(tempDir("ready"), "ready.json");
  const { lab, machine } = await coldLab(offlineNote, { readyFile });
  expectExit(await firstGet(machine, lab.vault, "--external-ref", '=HYPERLINK("http://x","y")'), 0);
  const audit = async (name: string, file = readyFile) => {
    const named = ["--ready-file", file, "--export", join(machine.home, name)];
    return await machine.vault("sandbox", "audit", ...named, "--json");
  };
  return { machine, audit, items: structuredClone(lab.service.sandbox.audit()) };
}

it("sandbox audit --export writes each form by the name of the file", async () => {
  const { machine, audit, items } = await open();
  const written: Record<string, string> = {};
  for (const name of ["a.ndjson", "a.csv", "b.ndjson.gz", "b.csv.gz"]) {
    const done = await audit(name);
    expectExit(done, 0);
    expect(JSON.parse(done.stdout)).toEqual({ items: 3, file: join(machine.home, name) });
    expect(done.stderr).toBe("");
    const bytes = readFileSync(join(machine.home, name));
    written[name.replace(".gz", "")] = String(name.endsWith(".gz") ? gunzipSync(bytes) : bytes);
  }
  expect(written["a.ndjson"]).toBe(items.map((item) => `${JSON.stringify(item)}\n`).join(""));
  expect(written["a.csv"]?.split("\r\n")).toHaveLength(5);
  expect(written["a.csv"]).toContain(`,"'=HYPERLINK(""http://x"",""y"")",`);
  for (const form of ["ndjson", "csv"]) expect(written[`b.${form}`]).toBe(written[`a.${form}`]);
});

it("sandbox audit --export refuses another ending, before it asks a sandbox, and a file that cannot be written", async () => {
  const { machine, audit } = await open();
  writeFileSync(join(machine.home, "items.txt"), "mine");
  for (const name of ["items.txt", "items", "items.json", "items.csv.zip"])
    expectError(await audit(name, "none"), "usage", /--export: .*\.ndjson or \.csv, .*\.gz/);
  const unwritable = await audit("no/such/items.csv.gz");
  expectError(unwritable, "invalid-input", /--export: \S+no\/such\/items.csv.gz/);
  const files = readdirSync(machine.home).filter((name) => name.startsWith("items"));
  expect([files, existsSync(join(machine.home, "no"))]).toEqual([["items.txt"], false]);
  expect(readFileSync(join(machine.home, "items.txt"), "utf8")).toBe("mine");
});
