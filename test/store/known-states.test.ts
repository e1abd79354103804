import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { knownStates, rememberState } from "../../src/store/keys/known-states.ts";
import { imported, patient, service, uuid } from "../contract/store-fixture.ts";
import { tempDir } from "../support/cleanup.ts";
import { temporaryState } from "./temporary-state.ts";

describe("the list of states beside a key file", () => {
  test.each([
    ["zeros in the place of its first line", "", "\0".repeat(20)],
    ["zeros in the place of a later line", "/var/lib/first\n", "\0".repeat(20)],
    ["zeros and the end of a line", "/var/lib/first\n", "\0".repeat(20) + "\n"],
  ])("is used and added to, where a power loss left %s", (_, good, garbage) => {
    const keyFile = join(tempDir("states"), "state.key");
    const state = tempDir("state");
    writeFileSync(`${keyFile}.states`, good + garbage);
    const before = good === "" ? [] : ["/var/lib/first"];
    expect(knownStates(keyFile)).toEqual(before);
    rememberState(keyFile, state);
    expect(knownStates(keyFile)).toEqual([...before, state]);
    const text = readFileSync(`${keyFile}.states`, "latin1");
    rememberState(keyFile, state);
    expect(readFileSync(`${keyFile}.states`, "latin1")).toBe(text);
  });

  test("takes a line of its own after one that was cut short", () => {
    const keyFile = join(tempDir("states"), "state.key");
    const state = tempDir("state");
    writeFileSync(`${keyFile}.states`, "/var/lib/fi");
    rememberState(keyFile, state);
    expect(knownStates(keyFile)).toContain(state);
  });
});

test("a copied state is told once where several vaults are locked at the same time", async () => {
  const state = temporaryState();
  await (await imported(state)).release();
  state.sql("UPDATE meta SET value = '0' WHERE name = 'file'");
  const copied = state.another();
  const vaults = [uuid, ...[2, 3, 4].map((n) => `${uuid.slice(0, -1)}${n}`)];
  const sessions = await Promise.all(
    vaults.map(async (vault) => await copied.lock(service, vault, patient(state.clock))),
  );
  expect(state.warnings).toEqual([expect.stringMatching(/was copied or moved/)]);
  expect((await sessions[0]?.read())?.generations).toMatchObject([{ elsewhere: true }]);
  for (const session of sessions) await session.release();
  state.dispose();
});
