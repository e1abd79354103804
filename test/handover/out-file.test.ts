import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { GetDocument } from "../../src/documents/exchange.ts";
import { checkOut, prepareOut, writeOut } from "../../src/handover/pass-on.ts";
import { asVaultError } from "../../src/errors.ts";
import { fakeBasics, fakeHost } from "../support/fake-host.ts";
import { tempDir } from "../support/cleanup.ts";

const [uuid, another] = [
  "123e4567-e89b-42d3-a456-426614174000",
  "223e4567-e89b-42d3-a456-426614174000",
];
const contentsOf = (uuid: string, number = "4111111111111111"): GetDocument => ({
  uuid,
  label: null,
  vault: { uuid, creditCard: { number } },
  kind: "credit-card/offline",
  exchange: {
    id: "x",
    operation: "get",
    externalRef: "ref",
    startedAt: "2026-11-21T12:00:00Z",
    tokenExpiry: null,
    generation: 2,
    by: null,
  },
  settled: [],
});

/** A program in a folder of its own, with its state and configuration there. */
function inFolder() {
  const cwd = tempDir();
  const host = fakeHost({ cwd });
  const configuration = {
    directory: join(cwd, "config"),
    keys: join(cwd, "config", "keys"),
    profile: undefined,
    problem: undefined,
  };
  const app = fakeBasics(host, { configuration, stateDirectory: () => join(cwd, "state") });
  return { app, host, cwd };
}

const modeOf = (path: string): number => statSync(path).mode & 0o777;

function failure(work: () => void): string {
  try {
    work();
    return "";
  } catch (error) {
    return `${asVaultError(error).code}: ${(error as Error).message}`;
  }
}

describe("the folder of --out-dir", () => {
  it("is made for its owner alone, with its parents, and receives a file a vault, whole and nothing beside it", () => {
    const { app, host, cwd } = inFolder();
    prepareOut(app, { outDir: "some/cards" });
    expect(modeOf(join(cwd, "some", "cards"))).toBe(0o700);
    prepareOut(app, { outDir: "some/cards" });
    checkOut(host, { outDir: "some/cards" }, uuid);
    writeOut(host, `some/cards/${uuid}.json`, contentsOf(uuid));
    const file = join(cwd, "some", "cards", `${uuid}.json`);
    expect(readFileSync(file, "utf8")).toBe(`${JSON.stringify(contentsOf(uuid), null, 2)}\n`);
    expect(modeOf(file)).toBe(0o600);
    expect(readdirSync(join(cwd, "some", "cards"))).toEqual([`${uuid}.json`]);
  });

  it("is left as it is if it is there, and earlier contents of the same vault are replaced", () => {
    const { app, host, cwd } = inFolder();
    mkdirSync(join(cwd, "cards"), { mode: 0o755 });
    prepareOut(app, { outDir: "cards" });
    expect(modeOf(join(cwd, "cards"))).toBe(0o755);
    writeOut(host, `cards/${uuid}.json`, contentsOf(uuid));
    expect(
      failure(() => checkOut(host, { outDir: "cards" }, uuid.toUpperCase().toLowerCase())),
    ).toBe("");
    writeOut(host, `cards/${uuid}.json`, contentsOf(uuid, "5555555555554444"));
    expect(readFileSync(join(cwd, "cards", `${uuid}.json`), "utf8")).toContain("5555555555554444");
    writeFileSync(join(cwd, "cards", `${another}.json`), "\n");
    expect(failure(() => checkOut(host, { outDir: "cards" }, another))).toBe("");
  });

  it.each<[string, (file: string) => void, RegExp]>([
    [
      "another vault's contents",
      (file) => writeFileSync(file, JSON.stringify(contentsOf(another))),
      /holds something else/,
    ],
    [
      "other JSON",
      (file) => writeFileSync(file, JSON.stringify({ uuid, credentials: {} })),
      /holds something else/,
    ],
    ["text", (file) => writeFileSync(file, "{ my notes"), /holds something else/],
    ["a link", (file) => symlinkSync("/dev/null", file), /is a symbolic link/],
    ["a folder", (file) => mkdirSync(file), /is not a file/],
  ])("keeps %s: the vault is refused before its start, and not written", (_, place, why) => {
    const { host, cwd } = inFolder();
    mkdirSync(join(cwd, "cards"));
    place(join(cwd, "cards", `${uuid}.json`));
    const told = failure(() => checkOut(host, { outDir: "cards" }, uuid));
    expect(told).toMatch(/^invalid-input: --out-dir: cards\/.*nothing was sent$/);
    expect(told).toMatch(why);
    const before = readdirSync(join(cwd, "cards"));
    expect(failure(() => writeOut(host, `cards/${uuid}.json`, contentsOf(uuid)))).toMatch(why);
    expect(readdirSync(join(cwd, "cards"))).toEqual(before);
  });

  it("is not a file, nor one of this program's own folders", () => {
    const { app, cwd } = inFolder();
    writeFileSync(join(cwd, "file"), "");
    for (const outDir of ["file", "file/cards"])
      expect(failure(() => prepareOut(app, { outDir }))).toBe(
        `invalid-input: --out-dir: the folder ${join(cwd, outDir)} is not one; nothing was sent`,
      );
    expect(failure(() => prepareOut(app, { outDir: "state" }))).toMatch(
      /^invalid-input: --out-dir: .* own files/,
    );
    expect(existsSync(join(cwd, "state"))).toBe(false);
  });
});
