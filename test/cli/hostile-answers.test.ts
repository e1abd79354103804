import { beforeAll, describe, expect, it } from "vitest";
import { errorKinds } from "../../src/error-kinds.ts";
import type { Pair } from "../../src/protocol/answers.ts";
import {
  hostileWorld,
  importOld,
  kind,
  oldPair,
  startHostileService,
  withVault,
} from "../support/hostile-service.ts";
import type { HostileService } from "../support/hostile-service.ts";
import { card, expectError, expectExit } from "../support/lab.ts";
import { tcpServer } from "../support/servers.ts";
import { errorOf, machineFor, type Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { sample, tried } from "../support/campaign.ts";
import { answers, redirects, vaults, type Hostile } from "./hostile-answers-table.ts";

/** Whoever is led here has been led away. */
const elsewhere = await tcpServer((socket) => void socket.destroy());
let hostile: HostileService;
let machine: Machine;
let everything: Hostile[];

beforeAll(async () => {
  everything = [...answers, ...redirects(elsewhere.url)];
  hostile = await startHostileService();
  machine = machineFor(hostile, {
    env: {
      CARD: JSON.stringify(card),
      VAULTSVC_MAX_WAIT: "0s",
      VAULTSVC_TIMEOUT: "1s",
      VAULTSVC_OUTPUT: "json",
    },
  });
});

const uuidOf = (n: number): string => `0f9b1c1e-2d3c-4b5a-8697-${String(n).padStart(12, "0")}`;
let vaultsSoFar = 0;

interface Tried {
  result: RunResult;
  uuid: string;
  /** The pairs that answers have offered for this vault, in their order, where they were whole. */
  exported: unknown;
}

/** A vault of its own, known by its old pair, and one command during which the call `what` is answered with malice. */
async function tryOn(
  what: string,
  { malice }: Hostile,
  command: (uuid: string) => string[],
): Promise<Tried> {
  vaultsSoFar += 1;
  const uuid = uuidOf(vaultsSoFar);
  hostile.be(kind);
  await importOld(machine, uuid, "credit-card/offline");
  // The answers to the vault before may have opened the circuit breaker.
  await machine.vault("guard", uuid, "--reset", "--unanswered", "--yes");
  hostile.be((asked, answered) => (asked.what === what ? malice : kind)(asked, answered));
  const result = await machine.vault(...command(uuid));
  hostile.be(kind);
  return { result, uuid, exported: await machine.exported(uuid) };
}

const documented = new Set(Object.values(errorKinds).map(({ exitCode }) => exitCode));

/** One of the documented outcomes, as it says; never a failure of the program itself, and nothing but ours on stderr. */
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

async function throughAll(
  cases: readonly Hostile[],
  run: (one: Hostile) => Promise<void>,
): Promise<void> {
  const chosen = sample(cases, 14);
  for (const one of chosen) {
    try {
      await run(one);
    } catch (error) {
      throw new Error(`${one.what}: ${(error as Error).message}`, { cause: error });
    }
  }
  expect(elsewhere.connections).toEqual([]);
  expect(({} as Record<string, unknown>)["status"]).toBeUndefined();
  tried("hostile answers and files", chosen.length);
}

const cards = ["--card", "env:CARD"];

describe("whatever the service answers", () => {
  it.each([
    ["get-start", "get"],
    ["update-start", "update"],
  ])(
    "to %s, the old pair stays the current one unless the answer is whole",
    async (what, operation) => {
      await throughAll([...everything, ...vaults], async (one) => {
        const command = (uuid: string): string[] => [
          operation,
          uuid,
          ...(operation === "update" ? cards : []),
          "--no-ack",
        ];
        const { result, exported } = await tryOn(what, one, command);
        expectOutcome(result);
        expect(one.good ? [0] : [5, 6, 7, 9, 10, 13]).toContain(result.code);
        if (!one.good) expect(exported).toEqual(oldPair);
        else
          expect(exported).toMatchObject({
            status: "pending",
            old: oldPair,
            new: operation === "get" ? offered(result) : {},
          });
      });
    },
  );

  it("to an end call, both pairs are there until the answer is whole, and the program knows where it stands", async () => {
    await throughAll(everything, async (one) => {
      const { result, exported } = await tryOn("get-end", one, (uuid) => ["get", uuid]);
      expectOutcome(result);
      expect([0, 5, 11, 12, 13]).toContain(result.code);
      expect(offered(result)).toMatchObject({
        encryptedData: expect.stringContaining("of/the-hostile-service") as string,
      });
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
      if (!one.good) expect(result.code).not.toBe(0);
      expect(exported).toEqual(oldPair);
    });
  });

  it("to a create, no vault that is known loses its pair", async () => {
    await throughAll(
      [...everything, ...vaults.filter(({ what }) => !what.includes("token"))],
      async (one) => {
        const { result, exported } = await tryOn("offline", one, () => [
          "create",
          "--kind",
          "credit-card/offline",
          ...cards,
        ]);
        if (!result.stdout.startsWith('{"answer"')) expectOutcome(result);
        expect([0, 5, 6, 7, 9, 10, 13]).toContain(result.code);
        expect(exported).toEqual(oldPair);
      },
    );
  });
});

const offered = ({ stdout }: RunResult): Pair =>
  (JSON.parse(stdout) as { vault: { credentials: Pair } }).vault.credentials;

const partOf = (exported: unknown): object => {
  const {
    status,
    old: before,
    new: after,
  } = exported as { status?: string; old?: Pair; new?: Pair };
  return status === undefined ? (exported as object) : { status, old: before, new: after };
};

const another = "99999999-8888-4777-8666-555555555555";
const deep = "[".repeat(100_000) + "]".repeat(100_000);

describe.concurrent("an answer about another vault", () => {
  it.each([["get", "get-start"] as const, ["update", "update-start"] as const])(
    "to a %s is no success: the old pair stays the current one",
    async (operation, what) => {
      const { service, machine, uuid } = await hostileWorld();
      service.be((asked, { good, send }) =>
        send(asked.what === what ? withVault(good, { uuid: another }) : good),
      );
      const contents = operation === "update" ? ["--content", "env:CARD"] : [];
      expectError(await machine.vault(operation, uuid, ...contents, "--json"), "service");
      expect(await machine.exported(uuid)).toEqual(oldPair);
      expect(await machine.exported(another)).toBeNull();
    },
  );

  it.each([{ uuid: another }, { vaultUuid: another }, { vault: { uuid: another } }])(
    "to an info is refused: %j",
    async (named) => {
      const { service, machine, uuid } = await hostileWorld();
      service.be((_, { good, send }) => send({ ...good, ...named }));
      expectError(await machine.vault("info", uuid, "--json"), "service", /about another vault/);
      service.be((_, { good, send }) => send({ ...good, uuid: uuid.toUpperCase() }));
      await machine.ok("info", uuid, "--json");
    },
  );

  it("to a create, one that is known here: its pair stays the current one", async () => {
    const { service, machine, uuid } = await hostileWorld();
    await machine.ok("get", uuid, "--json");
    const before = await machine.exported(uuid);
    service.be((_, { good, send }) => send(withVault(good, { uuid })));
    await machine.vault("create", "--kind", "generic/offline", "--content", "env:CARD", "--json");
    expect(await machine.exported(uuid)).toEqual(before);
  });
});

describe("a large answer", () => {
  const tooLarge = Buffer.alloc(65 * 2 ** 20, "x");

  it("of 20 MiB is read whole", async () => {
    const { service, machine, uuid } = await hostileWorld();
    const content = "é".repeat(10 * 2 ** 20);
    service.be((asked, { good, send }) =>
      send(asked.what === "get-start" ? withVault(good, { content }) : good),
    );
    const result = await machine.ok("get", uuid, "--field", "vault.content");
    expect(result.stdout === content).toBe(true);
  });

  it("above 64 MiB is told as such, and counts as a start", async () => {
    const { service, machine, uuid } = await hostileWorld();
    await machine.ok("get", uuid, "--json");
    const pair = await machine.exported(uuid);
    service.be((_, { send }) => send(tooLarge, 200, { "content-length": String(tooLarge.length) }));
    const before = service.asked.length;
    const result = await machine.vault("get", uuid, "--json", "--max-wait", "0s");
    expectError(result, "network", /is larger than 64 MiB$/);
    expect(errorOf(result)).toMatchObject({ retry: "after-status", spent: { unackedStarts: 1 } });
    expect(service.asked.length - before).toBe(1);
    expect(await machine.exported(uuid)).toEqual(pair);
  });

  it.each([
    ["an info", (uuid: string) => ["info", uuid]],
    ["a create", () => ["create", "--kind", "generic/offline", "--content", "env:CARD"]],
    ["a delete", (uuid: string) => ["delete", uuid, "--yes"]],
  ])("above 64 MiB to %s: the same", async (_, args) => {
    const { service, machine, uuid } = await hostileWorld();
    service.be((_, { send }) => send(tooLarge));
    expectError(
      await machine.vaultWith({ env: { VAULTSVC_MAX_WAIT: "1m" } }, ...args(uuid), "--json"),
      "network",
      /larger than 64 MiB/,
    );
    expect(service.asked).toHaveLength(1);
  });
});

it.concurrent.each([[["--json"]], [["--debug"]], [["--json", "--debug"]]])(
  "what is nested without end is no answer, whatever is shown of it: %j",
  async (shown) => {
    const { service, machine, uuid } = await hostileWorld();
    for (const [status, code] of [
      [200, 10],
      [400, 10],
      [500, 10],
    ] as const) {
      for (const text of [deep, `{"a":`.repeat(100_000) + "1" + "}".repeat(100_000)]) {
        service.be((_, { send }) =>
          send(
            `{"responseStatus":{"status":"${status === 200 ? "SUCCESS" : "ERROR"}","x":${text}}}`,
            status,
          ),
        );
        const result = await machine.vault("info", uuid, ...shown);
        expectExit(result, code);
        expect(result.stderr).not.toMatch(/call stack|at .*\.ts:/);
      }
    }
  },
);
