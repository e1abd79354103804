import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { replaceFile } from "../../src/commands/exchange/credentials-file.ts";
import { tempDir } from "../support/temp-dir.ts";

it("two writers replace a file 200 times: no error, never a torn content, nothing left beside it", async () => {
  const folder = tempDir("writers");
  const path = join(folder, "pair.json");
  const contents = ["a", "b"].map((letter) => `${letter.repeat(20_000)}\n`);
  writeFileSync(path, contents[0] ?? "");
  const write = async (content: string): Promise<void> => {
    for (let times = 0; times < 100; times += 1) {
      await replaceFile(path, content);
      expect(contents).toContain(readFileSync(path, "utf8"));
    }
  };
  await Promise.all(contents.map(write));
  expect(readdirSync(folder)).toEqual(["pair.json"]);
}, 60_000);

it("what could not take the place of a file is removed", async () => {
  const folder = tempDir("writers");
  const path = join(folder, "pair.json");
  const content = (function* () {
    yield "a part of it";
    mkdirSync(path);
  })();
  await expect(replaceFile(path, content)).rejects.toMatchObject({ code: "EISDIR" });
  expect(readdirSync(folder)).toEqual(["pair.json"]);
});
