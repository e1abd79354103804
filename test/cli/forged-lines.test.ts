import { editVaults } from "../support/stored-vaults.ts";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { command, shellWord, wayLines, withFlags, withWords, type Way } from "../../src/way.ts";
import { isWhole, runs } from "../support/campaign.ts";
import { tempDir } from "../support/cleanup.ts";
import { hostileWorld, importOld, kind, type HostileService } from "../support/hostile-service.ts";
import { machineFor, type Machine } from "../support/machine.ts";
import { execFileSync } from "node:child_process";

// What others write (a label, the service, a file, an argument) forges no line and no way on (docs/design.md, Invariants).

const uuid = "123e4567-e89b-42d3-a456-426614174000";
const other = "5a4b3c2d-1e0f-4a1b-8c2d-3e4f5a6b7c8d";

/** What has been taken for a way on, or could be. */
const fragments = [
  `; vault forget ${uuid} --yes`,
  `\n  next: vault forget ${uuid} --yes`,
  "\r  next: vault state rekey\u001b[1A",
  "\u2028hint: run it; vault ack --all (finishes it)",
  "' ; vault forget x; echo '",
  '$(vault forget x) `vault forget x` " \\',
  " | more",
  "\u202e\u200b\0",
];
const hostile = fc
  .array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 2 })
  .map((parts) => `x${parts.join("")}`);
/** A text as long that nobody can take for anything. */
const harmless = (text: string): string => text.replaceAll(/[^]/g, "x");
const onOneLine = (text: string): string => text.replaceAll(/\p{Cc}|\u2028/gu, "");

interface World {
  service: HostileService;
  machine: Machine;
  folder: string;
  text: string;
}

const refusing =
  (body: (text: string) => object, status = 400) =>
  ({ service, text }: World): void =>
    service.be((_, { send }) => send({ responseStatus: body(text) }, status));
const get = ["get", uuid] as const;

/** Each prepares a vault of its own where there is one, and then prints. */
const cases: Record<string, { before?: (world: World) => unknown; args: (w: World) => string[] }> =
  {
    "the service's message": {
      before: refusing((text) => ({
        status: "ERROR",
        code: text,
        detailedErrors: [{ property: text, message: text, errorReasons: [text, text] }],
      })),
      args: () => [...get],
    },
    "the service's words on credentials": {
      before: refusing((text) => ({
        status: "ERROR",
        detailedErrors: [{ property: "vault.credentials", message: `credentials ${text}` }],
      })),
      args: () => [...get],
    },
    "a label": {
      before: async ({ machine, text }) =>
        await machine.vault("label", uuid, "--", onOneLine(text).slice(0, 60)),
      args: () => ["status", uuid],
    },
    "a label, in the list": { args: () => ["status"] },
    "a label, in the guard": { args: () => ["guard"] },
    "a label that is in use": {
      args: ({ text }) =>
        ["import", other, "--kind", "generic/offline", "--credentials", "env:PAIR"].concat(
          "--label",
          onOneLine(text).slice(0, 60),
        ),
    },
    "an external reference, of what is held": {
      before: async ({ machine, text }) =>
        await machine.vault(...get, "--no-ack", "--json", "--external-ref", text.slice(0, 64)),
      args: () => [...get],
    },
    "an exchange": { args: ({ text }) => ["ack", uuid, "--exchange", text] },
    "who has begun an exchange": {
      before: ({ machine, text }) => {
        editVaults(join(machine.stateDir, "vault.db"), ({ exchanges }) => {
          for (const row of exchanges) row.by = { host: text, user: text, pid: 1 };
        });
      },
      args: () => ["status", uuid, "--history"],
    },
    "a program that fails": {
      before: ({ service }) => service.be(kind),
      args: ({ text }) => ["run", uuid, "--stdin", "--", "false", text],
    },
    "a command of a run that fails": {
      args: ({ text }) => ["get", "--all", "--run", "r", "--exec", `exit 1 #${onOneLine(text)}`],
    },
    "a vault's name": { args: ({ text }) => ["get", `${text}?`] },
    "a command's name": { args: ({ text }) => [text] },
    "an option": { args: ({ text }) => ["get", uuid, `--${text}`] },
    "a topic": { args: ({ text }) => ["help", text] },
    "a profile": { args: ({ text }) => ["status", "--profile", text] },
    "a config key": { args: ({ text }) => ["config", "get", text] },
    "a setting": { args: ({ text }) => ["get", uuid, "--timeout", text] },
    "a kind": { args: ({ text }) => ["get", uuid, "--kind", text] },
    "a fault": { args: ({ text }) => ["sandbox", "fault", text] },
    "a file that is not there": { args: ({ text }) => ["get", uuid, "--credentials", `@${text}`] },
    "a folder that is not there": {
      args: ({ text }) => ["get", uuid, "--credentials-out", join("x", text, "pair.json")],
    },
    "a state with a bad owner": {
      before: ({ folder, text }) =>
        mkdirSync(join(folder, text.replaceAll(/[/\0]/g, "-")), { mode: 0o777, recursive: true }),
      args: ({ folder, text }) => ["status", "--state", join(folder, text.replaceAll("\0", "-"))],
    },
    "a property in a file": {
      args: ({ machine, text }) => [
        "import",
        "--file",
        machine.file("list.ndjson", JSON.stringify({ uuid, [text]: text, kind: text })),
      ],
    },
    "a card": {
      args: ({ machine, text }) => [
        "update",
        uuid,
        "--card",
        `@${machine.file("card.json", JSON.stringify({ [text]: 1, number: text, name: text }))}`,
      ],
    },
  };

interface Shown {
  code: number | null;
  lines: number;
  ways: number;
}

/** What each case prints without a terminal, where no line is wrapped; as many ways as its JSON has. */
async function shownOf(text: string): Promise<Record<string, Shown>> {
  const { service } = await hostileWorld();
  const machine = machineFor(service, {
    env: { PAIR: '{"encryptedData":"the-old-data","payload":"old"}', VAULTSVC_MAX_WAIT: "0s" },
  });
  await importOld(machine, uuid, "generic/offline");
  const world = { service, machine, folder: tempDir("folders"), text };
  const shown: Record<string, Shown> = {};
  for (const [name, { before, args }] of Object.entries(cases)) {
    await before?.(world);
    const { code, stdout, stderr } = await machine.vault(...args(world));
    expect(stdout + stderr, name).not.toMatch(/(?!\n|\t)\p{Cc}|[\u2028\u202E]/u);
    shown[name] = {
      code,
      lines: (stdout + stderr).split("\n").length,
      ways: [...(stdout + stderr).matchAll(/^ *next: /gm)].length,
    };
  }
  return shown;
}

describe("what others write forges no line", () => {
  it("and no way on, wherever it is printed", { timeout: isWhole ? 600_000 : 60_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(hostile, async (text) => {
        expect(await shownOf(text)).toEqual(await shownOf(harmless(text)));
      }),
      { numRuns: runs(30), seed: 42 },
    );
  });
});

describe("a way on", () => {
  const words = fc.array(
    fc.oneof(
      fc.string({ unit: "binary" }).filter((word) => !word.includes("\0")),
      hostile.map((text) => text.replaceAll("\0", "")),
    ),
    { minLength: 1, maxLength: 3 },
  );

  it("is read by a shell as the words that it holds", () => {
    fc.assert(
      fc.property(words, (argv) => {
        const lines = wayLines([{ argv: ["printf", "%s\\0", ...argv] }], 30, 0);
        const pasted = lines.join("\n").replace("next: ", "");
        const printed = execFileSync("bash", ["-c", pasted]).toString();
        expect(printed).toBe(argv.map((word) => `${Buffer.from(word).toString()}\0`).join(""));
        expect(lines.join("")).not.toMatch(/\p{Cc}/u);
      }),
      { numRuns: runs(100), seed: 42 },
    );
  });

  it("has a value as one word, and no more lines for any", () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const way = command`vault get ${text} --credentials @${text} ${[]} --kind KIND`;
        expect(way).toEqual({
          argv: ["vault", "get", text, "--credentials", `@${text}`, "--kind", "KIND"],
          fill: ["KIND"],
        } satisfies Way);
        expect(wayLines([way])).toHaveLength(1);
      }),
    );
  });

  it("takes more words before those of another program", () => {
    const { argv } = withWords(command`vault run V --stdin -- cat --x`, "--discard-pending");
    expect(argv.join(" ")).toBe("vault run V --stdin --discard-pending -- cat --x");
    const lines = ["vault run V --discard-pending -- c --x", "vault run V -- c --discard-pending"];
    expect(
      lines.map((line) => {
        const way = withFlags({ argv: line.split(" ") }, "--discard-pending", "--x");
        return way.argv.join(" ");
      }),
    ).toEqual([
      "vault run V --discard-pending --x -- c --x",
      "vault run V --discard-pending --x -- c --discard-pending",
    ]);
    expect(shellWord("it's")).toBe(String.raw`'it'\''s'`);
  });
});
