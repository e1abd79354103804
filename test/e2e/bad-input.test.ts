import { existsSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import type { Lab } from "../support/lab.ts";
import { expectExit, offlineCard, onlineCard, openLab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf } from "../support/machine.ts";
import { badInputs, extendedInputs, pair, secretNumber, uuid } from "./bad-inputs.ts";

describe("bad input", () => {
  let lab: Lab;
  beforeAll(async () => {
    lab = await openLab([{ ...offlineCard, uuid }, onlineCard]);
  });

  /** A new one for each case: nothing may be written on it. */
  function prepared(): Machine {
    const machine = lab.machine({ env: { PAIR: pair, BAD_PIN: "p!n" } });
    machine.file("not.json", `{"payload": "${secretNumber}`);
    machine.file("half.json", { encryptedData: "a" });
    machine.file("empty.json", "");
    return machine;
  }

  it.concurrent.each([...badInputs, ...extendedInputs])(
    "$what: exit $exit with flag, rule and example; nothing sent, nothing written",
    async (one) => {
      const machine = prepared();
      const result = await machine.vaultWith(
        { env: one.env ?? {}, ...(one.input === undefined ? {} : { input: one.input }) },
        ...one.args,
      );
      expectExit(result, one.exit);
      expect(result.stdout).toBe("");
      expect(result.stderr).toMatch(one.says);
      expect(result.stderr).toMatch(one.example);
      // What was given is not repeated where it may be a secret.
      if (one.secret !== undefined) expect(result.stderr).not.toContain(one.secret);
      expect(result.stderr).not.toMatch(/5105/);
      const json = await machine.vaultWith(
        { env: { ...one.env, VAULTSVC_OUTPUT: "json" } },
        ...one.args,
      );
      if (!one.args.includes("xml") && one.input === undefined)
        expect(errorOf(json).code).toBe(one.exit === 2 ? "usage" : "invalid-input");
      expect(existsSync(machine.stateDir)).toBe(false);
      expect(existsSync(machine.configDir)).toBe(false);
      expect(lab.service.sandbox.requests()).toEqual([]);
    },
  );
});

describe("input at the limit", () => {
  it.concurrent.each([{ ref: "x" }, { ref: "𝒳".repeat(64) }])(
    "an external reference of 1 and of 64 astral characters is sent",
    async ({ ref }) => {
      const lab = await openLab(offlineCard);
      const machine = await lab.warmMachine();
      expectExit(await machine.vault("get", lab.vault.uuid, "--external-ref", ref, "--no-ack"), 0);
      expect(lab.service.sandbox.inspect(lab.vault.uuid).pending?.externalRef).toBe(ref);
    },
  );

  it("a secret as a literal is taken, with one warning; from stdin and variables without", async () => {
    const lab = await openLab([offlineCard, offlineCard]);
    const machine = lab.machine();
    const [one, two] = lab.service.vaults.map(({ uuid, kind, credentials }) => ({
      get: ["get", uuid, "--kind", kind, "--json"],
      credentials,
    }));
    const literal = await machine.vault(
      ...(one?.get ?? []),
      "--credentials",
      JSON.stringify(one?.credentials),
    );
    expectExit(literal, 0);
    expect(literal.stderr).toMatch(/^vault: warning: --credentials .*command line.*\n$/);
    const { encryptedData = "", payload = "" } = two?.credentials ?? {};
    const parts = ["--encrypted-data", "env:DATA", "--payload", "-"];
    const quiet = await machine.vaultWith(
      { env: { DATA: encryptedData }, input: `${payload}\n` },
      ...(two?.get ?? []),
      ...parts,
    );
    expectExit(quiet, 0);
    expect(quiet.stderr).toBe("");
  });
});
