import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { knownStates, rememberState } from "../../src/store/keys/known-states.ts";
import { tempDir } from "../support/temp-dir.ts";

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
