import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { errorKinds } from "../../src/error-kinds.ts";
import { main } from "../../src/main.ts";
import { importOld, oldPair, startHostileService } from "../support/hostile-service.ts";
import type { HostileService } from "../support/hostile-service.ts";
import { fakeHost } from "../support/fake-host.ts";
import { machineFor } from "../support/machine.ts";
import { tempDir } from "../support/cleanup.ts";
import { isWhole, tried } from "../support/campaign.ts";
import type { Option } from "commander";
import { pathOf } from "../../src/cli/commander.ts";
import { below, program } from "../support/program.ts";

interface Path {
  words: string[];
  options: readonly Option[];
}

/** Not those of `sandbox` that stay, or run programs in the foreground. */
const others = ["start", "exec", "rehearse"];
const all = [program, ...below(program)].map((command) => ({
  words: pathOf(command).slice(1),
  options: command.options,
}));
const paths = all.filter(
  ({ words: [first, second = ""] }) => first !== "sandbox" || !others.includes(second),
);

const uuid = "0f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";

/**
 * Values that somebody, or something, may put behind a flag. None of them leads to a place outside of the working folder, to
 * another machine, or is a command that does anything.
 */
const odd: readonly string[] = [
  "",
  " ",
  "-",
  "--",
  "---",
  "@",
  "@pair.json",
  "@deep.json",
  "@missing",
  "@.",
  "env:",
  "env:NOPE",
  "env:PAIR",
  "env:=",
  "0",
  "00",
  "-1",
  "1e9",
  "9".repeat(30),
  "NaN",
  "0x10",
  "1.5",
  "1s",
  "0s",
  "0ms",
  "-1s",
  "999999999999h",
  "1 s",
  "30",
  uuid,
  uuid.toUpperCase(),
  `${uuid} `,
  "0".repeat(36),
  "-".repeat(36),
  "null",
  "true",
  "false",
  "{}",
  "[]",
  "{",
  '{"__proto__":{}}',
  '{"encryptedData":"a","payload":"b"}',
  "[".repeat(5000),
  "__proto__",
  "constructor",
  "hasOwnProperty",
  "toString",
  "then",
  "a\nb",
  "a\r\nb: c",
  "\t",
  "\u001B[2J",
  "\u009B",
  "\u202Eabc",
  "\u2028",
  "\uFEFF",
  "é",
  "e\u0301",
  "𝒳".repeat(65),
  "🔑",
  "x".repeat(100_000),
  "credit-card/offline",
  "credit-card/online",
  "generic/offline",
  "generic/online",
  "Generic/Offline",
  "json",
  "ndjson",
  "table",
  "JSON",
  "http://127.0.0.1:1",
  "https://127.0.0.1:1/?x#y",
  "http://[::1",
  "http://a:b@127.0.0.1:1",
  "ftp://x",

  "%zz",
  "%00",
  "http://127.0.0.1:99999",
  "postgres://x",
  "a=b",
  "a=",
  "=b",
  "time=x,vault=y",
  "time=x,time=y",
  "04/2031",
  "13/2031",
  "4111111111111111",
  "4111111111111112",
  "vault.content",
  "vault..",
  ".",
  "vaults.0",
  "vaults.999999999",
  "items.ndjson",
  "no/such/folder/file",
  "deep/er",
  "1.2.28",
  "1.2",
  "99.99.99",
  "2h",
  "-2h",
  "2026-11-20T12:00:00Z",
  "2026-13-99",
  "(",
  "[",
  "(?:a+)+$",
  "*",
  "locked",
  "pending,locked",
  ",",
  "locked,,",
  "without=1",
  "rateLimit",
  "profiles",
  "apiKey",
  "baseUrl",
];

const free = fc
  .string({
    unit: fc.constantFrom(
      "a",
      "Z",
      "0",
      "-",
      "=",
      "@",
      ":",
      ".",
      ",",
      " ",
      "\n",
      '"',
      "{",
      "\\",
      "é",
      "𝒳",
      "\u001B",
    ),
    maxLength: 12,
  })
  .filter((text) => !text.includes(".."));
const value = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...odd) },
  { weight: 1, arbitrary: free },
);

const words = (path: Path): fc.Arbitrary<string[]> => {
  const options = [...path.options, ...program.options];
  const named = fc.constantFrom(...options);
  const asMeant = fc
    .tuple(named, value, fc.constantFrom("apart", "joined", "short", "bare"))
    .map(([{ long = "", required, short }, text, how]): string[] => {
      if (!required) return how === "joined" ? [`${long}=${text}`] : [long];
      if (how === "bare") return [long];
      if (how === "short" && short !== undefined) return [`${short}${text}`];
      return how === "joined" ? [`${long}=${text}`] : [long, text];
    });
  const mistyped = fc
    .tuple(named, fc.nat(20), fc.constantFrom("", "x", "-", "=", "É"))
    .map(([{ long = "" }, at, more]) => [long.slice(0, at) + more + long.slice(at + 1)]);
  const others = fc.constantFrom(
    ["--"],
    ["-"],
    ["-qv"],
    ["-o"],
    ["-V"],
    ["--help"],
    ["--no-"],
    ["--json", "--json"],
    ["--no-json"],
    ["-hq"],
    ["status"],
    ["get"],
    ["help"],
    [uuid],
  );
  return fc
    .array(
      fc.oneof(
        { weight: 6, arbitrary: asMeant },
        { weight: 2, arbitrary: value.map((text) => [text]) },
        mistyped,
        others,
      ),
      {
        maxLength: 7,
      },
    )
    .map((parts) => parts.flat());
};

/** Of a command: its own words first (mostly), and then anything. */
const commandLines: fc.Arbitrary<string[]> = fc
  .tuple(fc.constantFrom(...paths), fc.boolean(), fc.nat(9))
  .chain(([path, withUuid, twist]) =>
    words(path).map((rest) => {
      const own = withUuid ? [...path.words, uuid] : path.words;
      if (twist === 0) return rest;
      return twist === 1 ? [...rest, ...own] : [...own, ...rest];
    }),
  )
  // No system hands a NUL over; and a second folder up would be somebody else's.
  .filter(
    (line) =>
      !line.some((word) => word.includes("\u0000")) &&
      !(line.includes("sandbox") && others.some((name) => line.includes(name))),
  );

const allowed = Object.values(errorKinds)
  .map(({ exitCode }) => exitCode)
  .filter((one) => one !== errorKinds.internal.exitCode);
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

it("any command line ends with a documented exit code; a usage error has sent nothing and says one line of JSON where it is to", async () => {
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
        // What `run` ends with where there is no such program.
        const more = line.includes("run") ? [127] : [];
        expect([0, ...more, ...allowed]).toContain(code);
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
