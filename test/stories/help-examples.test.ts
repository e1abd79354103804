import { execFile } from "node:child_process";
import { readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { pathOf, type CliCommand } from "../../src/cli/commander.ts";
import { demoSeed } from "../../src/sandbox/seeds.ts";
import { startSandbox, type RunningSandbox } from "../../src/sandbox/server.ts";
import { main } from "../../src/main.ts";
import { fakeHost } from "../support/fake-host.ts";
import { cleanEnv, runVault, startVault, vaultFile } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { below, program } from "../support/program.ts";

interface Help {
  /** `vault sandbox start`. */
  command: string;
  examples: readonly string[];
  /** Lines that do not fit on a terminal of 80 columns. */
  wide: string[];
}

/** What the program prints, run in this process. */
async function printed(...words: string[]): Promise<string> {
  const host = fakeHost();
  expect(await main(words, host), host.err).toBe(0);
  return host.out;
}

async function readHelp(command: CliCommand): Promise<Help> {
  const path = pathOf(command);
  const { examples } = command.descriptor;
  const stdout = await printed(...path.slice(1), "--help");
  const wide = stdout.split("\n").filter((line) => line.length > 80);
  for (const example of examples) expect(stdout).toContain(`\n  ${example}\n`);
  // None answers for the reader.
  expect(examples.filter((example) => /--(?:yes|force)\b/.test(example))).toEqual([]);
  // Each says where its files come from.
  for (const [, file = ""] of examples
    .join("\n")
    .matchAll(/(?:@|\.\/|--file |--from |^vault audit-replay )([a-z-]+\.[a-z.]+)/gm)) {
    expect(stdout).toContain(`\n  # ${file}: `);
  }
  return { command: path.join(" "), examples, wide };
}

const helps = await Promise.all([program, ...below(program)].map(readHelp));

describe("the help of each command", () => {
  test.each(helps)(
    "$command: two examples at least, each of this command, within 80 columns",
    ({ command, examples, wide }) => {
      expect(examples.length).toBeGreaterThanOrEqual(2);
      const foreign = examples.filter((line) => !line.includes(command));
      expect([...foreign, ...wide]).toEqual([]);
    },
  );
});

/** A folder with all that the examples name, a sandbox whose vaults the state knows, and `vault` on the path. */
interface Place {
  cwd: string;
  env: Record<string, string>;
}

const commands = tempDir("path");
symlinkSync(vaultFile, join(commands, "vault"));

async function prepare(sandbox: RunningSandbox, cwd: string): Promise<Place> {
  const card = sandbox.vaults.find(({ kind }) => kind === "credit-card/offline");
  if (card === undefined) throw new Error("the seed has no offline card");
  writeFileSync(join(cwd, "pair.json"), JSON.stringify(card.credentials));
  writeFileSync(join(cwd, "number"), "4111111111111111\n");
  writeFileSync(
    join(cwd, "vaults.ndjson"),
    sandbox.vaults.map((vault) => `${JSON.stringify(vault)}\n`).join(""),
  );
  writeFileSync(join(cwd, "note.txt"), "a note");
  writeFileSync(join(cwd, "integration-test.sh"), "#!/bin/sh\nvault status\n", { mode: 0o700 });
  writeFileSync(
    join(cwd, "card.json"),
    '{"number":"5555555555554444","name":"Grace Hopper","expiryMonth":12,"expiryYear":2030}',
  );
  writeFileSync(
    join(cwd, "cards.ndjson"),
    `{"uuid":"${card.uuid}","card":${readFileSync(join(cwd, "card.json"), "utf8")}}\n`,
  );
  const env = {
    VAULT: card.uuid,
    PATH: [commands, dirname(process.execPath), process.env["PATH"]].join(delimiter),
    VAULTSVC_BASE_URL: sandbox.baseUrl,
    VAULTSVC_APP_UUID: sandbox.application.uuid,
    VAULTSVC_API_KEY: sandbox.application.apiKey,
    VAULTSVC_STATE: join(cwd, "state"),
    VAULTSVC_CONFIG_DIR: join(cwd, "config"),
  };
  const input = sandbox.vaults.map((vault) => `${JSON.stringify(vault)}\n`).join("");
  await expectDone({ cwd, env }, input, "import", "--file", "-");
  return { cwd, env };
}

/** In this process: what comes before an example, and those that need no shell. */
async function expectDone({ cwd, env }: Place, input: string, ...args: string[]): Promise<void> {
  const host = fakeHost({ env, cwd, home: cwd, input, now: Date.now(), files: "real" });
  expect(await main(args, host), host.err).toBe(0);
}

/** As a person would answer who means it: an example asks before it does what cannot be taken back. */
const answered = (example: string): string =>
  /^vault (?:delete|update)|vault forget|--reset|state restore|state rekey|state move/.test(
    example,
  ) && !example.includes("--dry-run")
    ? `${example} --yes`
    : example;

/** The words of an example that asks nothing of a shell but to take its quotes away and to put variables in; else undefined. */
function plainWords(example: string, { env }: Place): string[] | undefined {
  if (
    !example.startsWith("vault ") ||
    /[|<>;&`~*\\]|\$\(|save-cmd|sandbox exec|vault run|"[^"]*\$|\.\/|--(?:export|html)/.test(
      example,
    )
  )
    return undefined;
  const words = example.match(/'[^']*'|"[^"]*"|[^\s'"]+/g)?.slice(1) ?? [];
  return words.map((word) =>
    /^['"]/.test(word)
      ? word.slice(1, -1)
      : word.replaceAll(/\$(\w+)/g, (_, name: string) => env[name] ?? ""),
  );
}

/** The files that examples of `audit-replay` name, as `sandbox audit` writes them. */
async function writeExports(place: Place): Promise<void> {
  await expectDone(place, "", "get", place.env["VAULT"] ?? "");
  for (const name of ["audit.ndjson", "audit.csv.gz"])
    await expectDone(place, "", "sandbox", "audit", "--export", join(place.cwd, name));
}

/** Examples that make sense only with an exchange that is held. */
const finishes = (example: string): boolean => /vault ack|--discard-pending/.test(example);

function shell(line: string, { cwd, env }: Place): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      "/bin/sh",
      ["-c", line],
      { cwd, env: cleanEnv({ env }), timeout: 120_000 },
      (error, stdout, stderr) => {
        resolve({
          code: error === null ? 0 : Number(error.code ?? -1),
          output: `${stdout}${stderr}`,
        });
      },
    );
    child.stdin?.end();
  });
}

/** Those of `sandbox rehearse` run a program a dozen times: torture/rehearse. */
const examples = helps
  .filter(({ command }) => command !== "vault sandbox rehearse")
  .flatMap(({ command, examples }) => examples.map((example) => ({ command, example })));
const isServer = ({ example }: { example: string }): boolean =>
  example.startsWith("vault sandbox start");

describe("each example works when it is pasted against the sandbox", () => {
  test.concurrent.for(examples.filter((each) => !isServer(each)))(
    "$command: $example",
    async ({ example }, { expect }) => {
      const cwd = tempDir("example");
      const readyFile = join(cwd, "state-sandbox.json");
      const sandbox = await startSandbox({ now: () => Date.now(), seed: demoSeed, readyFile });
      try {
        symlinkSync(readyFile, join(cwd, "sandbox.json"));
        const place = await prepare(sandbox, cwd);
        if (finishes(example)) {
          await expectDone(place, "", "get", place.env["VAULT"] ?? "", "--no-ack");
        }
        if (example.includes("audit-replay")) await writeExports(place);
        const words = plainWords(answered(example), place);
        if (words === undefined)
          expect(await shell(answered(example), place)).toMatchObject({ code: 0 });
        else await expectDone(place, "", ...words);
      } finally {
        await sandbox.close();
      }
    },
  );

  test.concurrent.for(examples.filter(isServer))(
    "$command: $example, until it is interrupted",
    async ({ example }, { expect }) => {
      const cwd = tempDir("example");
      // A port of its own: the one of the example may be taken on this machine.
      const words = example.replace("--port 4000", "--port 0").split(" ").slice(1);
      const server = startVault(words, {
        cwd,
        stateDir: join(cwd, "state"),
        configDir: join(cwd, "config"),
      });
      await server.waitFor(/http:\/\/127\.0\.0\.1:\d+/);
      const served = await runVault(["sandbox", "audit"], { cwd, stateDir: join(cwd, "state") });
      expect(served).toMatchObject({ code: 0, stderr: "" });
      server.kill("SIGINT");
      expect(await server.exit).toMatchObject({ code: 0, stderr: "" });
    },
  );
});
