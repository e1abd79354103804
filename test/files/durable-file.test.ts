import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { createFile, removeLeftovers, replaceFile } from "../../src/files/durable-file.ts";
import { tempDir } from "../support/cleanup.ts";

it("of two writers at once each replaces the file as a whole, and nothing is left beside it", () => {
  const folder = tempDir("writers");
  const path = join(folder, "pair.json");
  const first = (function* () {
    yield "a";
    replaceFile(path, "b");
    expect(readFileSync(path, "utf8")).toBe("b");
    yield "a";
  })();
  replaceFile(path, first);
  expect(readFileSync(path, "utf8")).toBe("aa");
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(readdirSync(folder)).toEqual(["pair.json"]);
});

it("what a killed writer left is removed, and nothing else", () => {
  const folder = tempDir("writers");
  const others = [
    ".pair.json.vault-new",
    ".pair.json.vault-lock",
    ".other.json.0123456789abcdef.vault-new",
    "pair.json",
  ];
  for (const name of [...others, ".pair.json.0123456789abcdef.vault-new"])
    writeFileSync(join(folder, name), "");
  removeLeftovers(join(folder, "pair.json"));
  expect(readdirSync(folder).sort()).toEqual(others.sort());
});

it("what cannot be removed keeps nothing else there", () => {
  const folder = tempDir("writers");
  const names = Array.from(
    "0123456789abcdef",
    (digit) => `.pair.json.${digit.repeat(16)}.vault-new`,
  );
  for (const [index, name] of names.entries())
    if (index % 3 === 0) mkdirSync(join(folder, name));
    else writeFileSync(join(folder, name), "");
  removeLeftovers(join(folder, "pair.json"));
  expect(readdirSync(folder).sort()).toEqual(names.filter((_, index) => index % 3 === 0));
});

it("what could not take the place of a file is removed", () => {
  const folder = tempDir("writers");
  const path = join(folder, "pair.json");
  const content = (function* () {
    yield "a part of it";
    mkdirSync(path);
  })();
  expect(() => replaceFile(path, content)).toThrow(expect.objectContaining({ code: "EISDIR" }));
  expect(readdirSync(folder)).toEqual(["pair.json"]);
});

it("of two that create a file at once one wins, and the other one's draft is gone", () => {
  const folder = tempDir("writers");
  const path = join(folder, "vault.db");
  createFile(path, (draft) => {
    createFile(path, (other) => writeFileSync(other, "first"));
    writeFileSync(draft, "second");
  });
  expect(readFileSync(path, "utf8")).toBe("first");
  expect(readdirSync(folder)).toEqual(["vault.db"]);
});
