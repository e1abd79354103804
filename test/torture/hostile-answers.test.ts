import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { errorKinds } from "../../src/errors.ts";
import type { Pair } from "../../src/protocol/answers.ts";
import { card, importOld, kind, oldPair, startHostileService } from "../support/hostile-service.ts";
import type { HostileService } from "../support/hostile-service.ts";
import type { Machine } from "../support/machine.ts";
import { errorOf, machineFor } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { sample } from "./effort.ts";
import type { Hostile } from "./hostile-answers.ts";
import { answers, redirects, vaults } from "./hostile-answers.ts";
import { tried } from "./tally.ts";

const connections: string[] = [];
/** Whoever is led here has been led away. */
const elsewhere = createServer((socket) => {
  connections.push(String(socket.remotePort));
  socket.destroy();
});
let hostile: HostileService;
let machine: Machine;
let everything: Hostile[];

beforeAll(async () => {
  await new Promise<void>((resolve) => elsewhere.listen(0, "127.0.0.1", resolve));
  const there = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  everything = [...answers, ...redirects(there)];
  hostile = await startHostileService();
  machine = machineFor(hostile, {
    env: { CARD: JSON.stringify(card), VAULTSVC_MAX_WAIT: "0s", VAULTSVC_TIMEOUT: "1s", VAULTSVC_OUTPUT: "json" },
  });
});

afterAll(() => void elsewhere.close());

const uuidOf = (n: number): string => `0f9b1c1e-2d3c-4b5a-8697-${String(n).padStart(12, "0")}`;
let vaultsSoFar = 0;

interface Tried {
  result: RunResult;
  uuid: string;
  /** The pairs that answers have offered for this vault, in their order, where they were whole. */
  exported: unknown;
}

/** A vault of its own, known by its old pair, and one command during which the call `what` is answered with malice. */
async function tryOn(what: string, { malice }: Hostile, command: (uuid: string) => string[]): Promise<Tried> {
  vaultsSoFar += 1;
  const uuid = uuidOf(vaultsSoFar);
  hostile.be(kind);
  await importOld(machine, uuid, "credit-card/offline");
  hostile.be((asked, answered) => (asked.what === what ? malice : kind)(asked, answered));
  const result = await machine.vault(...command(uuid));
  hostile.be(kind);
  return { result, uuid, exported: await machine.exported(uuid) };
}

const documented = new Set(Object.values(errorKinds).map(({ exitCode }) => exitCode as number));

/** One of the outcomes of the contract, as it says; never a failure of the program itself, and nothing but ours on stderr. */
function expectOutcome({ code, stdout, stderr }: RunResult): void {
  expect(code).not.toBe(1);
  if (code === 0) expect(JSON.parse(stdout)).toBeTypeOf("object");
  else {
    expect(documented).toContain(code);
    expect(errorOf({ code, stdout, stderr, signal: null }).exitCode).toBe(code);
    expect(
      stderr
        .trimEnd()
        .split("\n")
        .filter((line) => !line.startsWith("vault: warning: ")),
    ).toHaveLength(1);
  }
  expect(stderr).not.toMatch(/\bat .*\.(?:ts|js|cjs):\d+/);
}

async function throughAll(cases: readonly Hostile[], run: (one: Hostile) => Promise<void>): Promise<void> {
  const chosen = sample(cases, 14);
  for (const one of chosen) {
    try {
      await run(one);
    } catch (error) {
      throw new Error(`${one.what}: ${(error as Error).message}`, { cause: error });
    }
  }
  expect(connections).toEqual([]);
  expect(({} as Record<string, unknown>)["status"]).toBeUndefined();
  tried("hostile answers and files", chosen.length);
}

const cards = ["--card", "env:CARD"];

describe("whatever the service answers", () => {
  it.each([
    ["get-start", "get"],
    ["update-start", "update"],
  ])("to %s, the old pair stays the current one unless the answer is whole", async (what, operation) => {
    await throughAll([...everything, ...vaults], async (one) => {
      const command = (uuid: string): string[] => [operation, uuid, ...(operation === "update" ? cards : []), "--no-ack"];
      const { result, exported } = await tryOn(what, one, command);
      expectOutcome(result);
      expect(one.good === true ? [0] : [5, 6, 7, 9, 10, 13]).toContain(result.code);
      if (one.good !== true) expect(exported).toEqual(oldPair);
      else expect(exported).toMatchObject({ status: "pending", old: oldPair, new: operation === "get" ? offered(result) : {} });
    });
  });

  it("to an end call, both pairs are there until the answer is whole, and the program knows where it stands", async () => {
    await throughAll(everything, async (one) => {
      const { result, exported } = await tryOn("get-end", one, (uuid) => ["get", uuid]);
      expectOutcome(result);
      expect([0, 5, 11, 12, 13]).toContain(result.code);
      expect(offered(result)).toMatchObject({ encryptedData: expect.stringContaining("of-the-hostile-service") as string });
      if (result.code === 0) expect(exported).toEqual(offered(result));
      else
        expect([oldPair, { status: "pending", old: oldPair, new: offered(result) }]).toContainEqual(
          expect.objectContaining(partOf(exported)),
        );
    });
  });

  it("to an info, nothing but dates is noted, and none of another vault", async () => {
    await throughAll([...everything, ...vaults.slice(0, 1)], async (one) => {
      const { result, exported } = await tryOn("info", one, (uuid) => ["info", uuid]);
      expectOutcome(result);
      if (one.good !== true) expect(result.code).not.toBe(0);
      expect(exported).toEqual(oldPair);
    });
  });

  it("to a create, no vault that is known loses its pair", async () => {
    await throughAll([...everything, ...vaults.filter(({ what }) => !what.includes("token"))], async (one) => {
      const { result, exported } = await tryOn("offline", one, () => ["create", "--kind", "credit-card/offline", ...cards]);
      if (!result.stdout.startsWith('{"answer"')) expectOutcome(result);
      expect([0, 5, 6, 7, 9, 10, 13]).toContain(result.code);
      expect(exported).toEqual(oldPair);
    });
  });
});

const offered = ({ stdout }: RunResult): Pair => (JSON.parse(stdout) as { vault: { credentials: Pair } }).vault.credentials;

const partOf = (exported: unknown): object => {
  const { status, old: before, new: after } = exported as { status?: string; old?: Pair; new?: Pair };
  return status === undefined ? (exported as object) : { status, old: before, new: after };
};
