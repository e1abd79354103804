import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { errorKinds } from "../../src/errors.ts";
import { main } from "../../src/main.ts";
import { importOld, oldPair, startHostileService } from "../support/hostile-service.ts";
import type { HostileService } from "../support/hostile-service.ts";
import { fakeHost } from "../support/fake-host.ts";
import { machineFor } from "../support/machine.ts";
import { tempDir } from "../support/temp-dir.ts";
import { commandLines, uuid } from "./command-lines.ts";
import { isWhole } from "../support/campaign.ts";
import { tried } from "../support/tally.ts";

const documented = Object.values(errorKinds).map(({ exitCode }) => exitCode as number);
/** So deep that what leads up stays in it. */
const root = join(tempDir("lines"), "a", "b", "c");
const pair = JSON.stringify(oldPair);
const files = { "pair.json": pair, "deep.json": "[".repeat(100_000) + "]".repeat(100_000) };
let service: HostileService;
let known: Record<string, string>;

beforeAll(async () => {
  mkdirSync(root, { recursive: true });
  writeFileSync(
    join(root, "items.ndjson"),
    '{"time":"2026-11-20T12:00:00Z","action":"READ_VAULT","vaultUuid":"x"}\n',
  );
  // Nobody answers: every connection is closed at once.
  service = await startHostileService((_, { socket }) => void socket.destroy());
  const machine = machineFor(service);
  await importOld(machine, uuid, "generic/offline");
  known = machine.env;
});

interface Ran {
  code: number;
  out: string;
  err: string;
}

async function run(
  line: readonly string[],
  asJson: boolean,
  isKnown: boolean,
  input: string,
): Promise<Ran> {
  const place = isKnown
    ? {}
    : {
        VAULTSVC_STATE: join(root, "none", "state"),
        VAULTSVC_CONFIG_DIR: join(root, "none", "config"),
      };
  const env = {
    ...known,
    ...place,
    PAIR: pair,
    VAULTSVC_MAX_WAIT: "0s",
    VAULTSVC_TIMEOUT: "2s",
    ...(asJson ? { VAULTSVC_OUTPUT: "json" } : {}),
  };
  const host = fakeHost({ env, cwd: root, home: root, files, input, now: Date.now() });
  const code = await main(line, host);
  return { code, out: host.out, err: host.err };
}

/** Whether errors must be JSON: where the line does not overrule, nor hides what it says behind `--`. */
const mustBeJson = (line: readonly string[], asJson: boolean): boolean =>
  asJson &&
  !line.some(
    (word) =>
      word === "--" ||
      word.startsWith("-o") ||
      word.startsWith("--output") ||
      word.startsWith("--o"),
  );

it("any command line comes to an exit of the contract; a usage error has sent nothing and says one line of JSON where it is to", async () => {
  const runs = isWhole ? 20_000 : 700;
  const seen = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(
      commandLines,
      fc.boolean(),
      fc.boolean(),
      fc.constantFrom("", "x", pair, "\uFEFF{}"),
      async (line, asJson, isKnown, input) => {
        const before = service.asked.length;
        const { code, err } = await run(line, asJson, isKnown, input);
        expect([0, ...documented.filter((one) => one !== errorKinds.internal.exitCode)]).toContain(
          code,
        );
        expect(err).not.toMatch(/^\s+at .*:\d+:\d+|unexpected failure|Maximum call stack/m);
        if ([2, 3, 4].includes(code)) expect(service.asked).toHaveLength(before);
        if (code !== 0) expect(err).not.toBe("");
        if (code !== 0 && mustBeJson(line, asJson)) {
          const last = err.trimEnd().split("\n").at(-1) ?? "";
          expect((JSON.parse(last) as { error: object }).error).toMatchObject({ exitCode: code });
        }
        seen.set(code, (seen.get(code) ?? 0) + 1);
      },
    ),
    { seed: 20261127, numRuns: runs },
  );
  // Lines that are right, lines that are not, and values that are not were all among them.
  for (const code of [0, 2, 3]) expect(seen.get(code) ?? 0).toBeGreaterThan(runs / 50);
  tried("fuzzed command lines", runs);
});
