import { expect, test } from "vitest";
import { buildProgram, type CliCommand } from "../../src/cli/commander.ts";
import { parseAuditReplay } from "../../src/commands/audit-replay.ts";
import { vault } from "../../src/commands/program.ts";
import { asVaultError } from "../../src/errors.ts";

const now = Date.UTC(2026, 10, 21);

const uuid = "123e4567-e89b-42d3-a456-426614174000";

/** What commands make of their options before they do anything. */
const further: Record<string, (options: object) => unknown> = {
  "audit-replay": (options) => parseAuditReplay({ files: [], ...options }, now),
};

/** A command line through the real commands, up to the checked options: nothing is loaded or run. */
async function read(line: readonly string[]): Promise<unknown> {
  let called: { name: string; options: object } | undefined;
  const act = async (command: CliCommand, options: object): Promise<void> => {
    called = { name: command.name(), options };
    return await Promise.resolve();
  };
  const host = { stdout: { columns: 80, color: false } } as never;
  const program = await buildProgram(vault, host, { act });
  await program.parseAsync(line, { from: "user" });
  if (called === undefined) throw new Error("no command was called");
  return further[called.name]?.(called.options) ?? called.options;
}

test.each<[string, unknown]>([
  ["audit-replay", { files: [] }],
  [
    "audit-replay a.ndjson - b.csv.gz --problems",
    { files: ["a.ndjson", "-", "b.csv.gz"], problems: true },
  ],
  [
    `audit-replay --vault ${uuid.toUpperCase()} --timeline`,
    { files: [], vault: uuid.toUpperCase(), timeline: true },
  ],
  [
    "audit-replay --since 2026-11-20T14:02:11+01:00 --until 1.5h",
    { files: [], since: Date.UTC(2026, 10, 20, 13, 2, 11), until: now - 5_400_000 },
  ],
  [
    "audit-replay --since 2026-11-20 --until 30s",
    { files: [], since: Date.UTC(2026, 10, 20), until: now - 30_000 },
  ],
])("%s", async (line, options) => {
  expect(await read(line.split(" "))).toEqual(options);
});

test.each<[string, RegExp]>([
  [`get ${uuid} --generation 0`, /^--generation: must be a whole number of at least 1/],
  [`ack ${uuid} --operation read`, /^--operation: must be get or update/],
  [
    "status --fail-on pending,broken",
    /^--fail-on: must be one or more of locked, pending, at-risk/,
  ],
  [
    "audit-replay --since yesterday",
    /^--since: must be a date, a time as exports have them, or a duration back from now/,
  ],
  ["audit-replay --until 2026-13-01", /^--until: must be a date, a time as exports have them/],
  ["audit-replay --until 1.2.3h", /^--until: must be a duration/],
  ["audit-replay --failure (", /^--failure: must be a regular expression/],
  ["audit-replay --failure a*", /^--failure: must be .* that does not match every item, such as/],
  ["audit-replay --release 1.2", /^--release: must be a release, X\.Y\.Z, like 1\.2\.22/],
  ["audit-replay --token-lifetime 5", /^--token-lifetime: must be a duration/],
  ["audit-replay --token-lifetime 0s", /^--token-lifetime: must be a duration of at least 1ms/],
  [
    "audit-replay --fail-on pending",
    /^--fail-on: must be one or more of locked, at-risk, open-exchange/,
  ],
  ["audit-replay --what-if unlock", /^--what-if: must be lock-after-failed=N or/],
  ["audit-replay --what-if lock-after-failed=0", /^--what-if: must be lock-after-failed=N/],
  [
    `delete ${uuid} --external-ref ${"x".repeat(65)}`,
    /^--external-ref: must be 1 to 64 characters/,
  ],
  ["create --kind generic", /^--kind: must be one of .*generic\/online/],
  ["doctor --fail-on ok", /^--fail-on: must be one of warn, error, never/],
  ["sandbox start --port http", /^--port: must be a port/],
])("%s is refused", async (line, message) => {
  const error = await read(line.split(" ")).catch(asVaultError);
  expect(error).toMatchObject({
    code: "invalid-input",
    message: expect.stringMatching(message) as string,
  });
});

test.each<[string, RegExp]>([
  ["audit-replay --timeline", /^--timeline requires --vault/],
  ["audit-replay --map time=a", /^--map requires \[files\.\.\.\]/],
  ["audit-replay - a -", /^- is given twice/],
])("%s is a contradiction", async (line, message) => {
  const error = await read(line.split(" ")).catch(asVaultError);
  expect(error).toMatchObject({ code: "usage", message: expect.stringMatching(message) as string });
});
