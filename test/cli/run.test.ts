import { chmodSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { VaultInput } from "../../src/sandbox/seeds.ts";
import {
  card,
  expectError,
  expectExit,
  expectFarFromLock,
  expectInStep,
  note,
  offlineCard,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import { errorOf, pairIn, readJson, type Machine } from "../support/machine.ts";
import type { RunningVault, RunOptions, RunResult } from "../support/run-vault.ts";
import { signalCounter } from "../support/run-vault.ts";

interface Case {
  lab: Lab;
  machine: Machine;
  uuid: string;
  /** Starts a process of `vault run` with these arguments. */
  start(args: readonly string[], options?: RunOptions): RunningVault;
  /** The same in this process. */
  run(args: readonly string[], env?: Record<string, string>): Promise<RunResult>;
}

async function prepare(seed: VaultInput = offlineCard, tokenTtlMs = 300_000): Promise<Case> {
  const { lab, machine, uuid } = await warmLab(seed, { policy: { tokenTtlMs } });
  const start: Case["start"] = (args, options = {}) =>
    machine.start({ input: "", ...options }, "run", uuid, ...args);
  const run: Case["run"] = async (args, env = {}) =>
    await machine.vaultWith({ env }, "run", uuid, ...args);
  return { lab, machine, uuid, start, run };
}

const unacked = ({ lab, uuid }: Case): number => lab.service.sandbox.inspect(uuid).unackedStarts;
const number = ["--env", "CARD=vault.creditCard.number"];
const sh = (script: string): string[] => ["--", "sh", "-c", script];

describe.concurrent("vault run", () => {
  it("starts a program with fields in its environment and this program's own streams, and acknowledges when it has ended with 0", async () => {
    const made = await prepare();
    const script = `cat; echo talk >&2; echo "$CARD $YEAR $ALL"; env | grep -c '^VAULTSVC_API_KEY=\\|^OTHER='; test -e go || { touch here; until test -e go; do sleep 0.02; done; }`;
    const running = made.start(
      [
        ...number,
        "--env",
        "YEAR=vault.creditCard.expiryYear",
        "--env",
        "ALL=vault.creditCard",
        ...sh(script),
      ],
      { input: "in\n", env: { OTHER: `x${made.machine.env["VAULTSVC_API_KEY"]}`, CARD: "stale" } },
    );
    await running.waitFor(/^0$/m);
    // Delivered, and not acknowledged: it may fail yet.
    expect(unacked(made)).toBe(1);
    writeFileSync(join(made.machine.home, "go"), "");
    expect(await running.exit).toEqual({
      code: 0,
      signal: null,
      stdout: `in\n${card.number} ${card.expiryYear} ${JSON.stringify(card)}\n0\n`,
      stderr: "talk\n",
    });
    await expectInStep(made.lab, made.machine, made.uuid);
  });

  it("passes the whole document on standard input, of any size, and arguments as they are", async () => {
    const content = "long ".repeat(100_000);
    const { lab, machine, uuid, run } = await prepare({ ...offlineNote, content });
    const result = await run(["--stdin", ...sh('cat; echo "$1|$2|" >&2'), "x", "", "a b"]);
    expectExit(result, 0);
    expect(result.stderr).toBe("|a b|\n");
    const kind = "generic/offline";
    expect(JSON.parse(result.stdout)).toMatchObject({ uuid, vault: { content }, kind });
    await expectInStep(lab, machine, uuid);
    const unread = await run(["--stdin", "--json", "--", "true"]);
    expectError(unread, "pending", /true did not read the whole document/);
  });

  it.each([10, 100_000])(
    "acknowledges a document of %i characters, whether the program reads it or not",
    async (length) => {
      const { start } = await prepare({ ...offlineNote, content: "x".repeat(length) });
      for (let times = 0; times < 4; times += 1)
        expectExit(await start(["--stdin", "--", "true"]).exit, 0);
    },
  );

  it("names the save that a held exchange owes", async () => {
    const { machine, uuid, run } = await prepare();
    expectExit(
      await machine.vault("get", uuid, "--json", "--save-cmd", "cat >/dev/null; exit 1"),
      11,
    );
    const refused = await run(["--json", ...number, "--", "true"]);
    expect(errorOf(refused).help).toMatch(/vault run .* --discard-pending --save-cmd CMD -- true /);
  });

  it.each([
    ["ends with another code", "exit 3", /^sh exited with code 3; the new/],
    ["is ended by a signal", "kill -KILL $$", /^sh was ended by SIGKILL; the new/],
  ])("holds the exchange of a program that %s, and leads on", async (_, script, why) => {
    const made = await prepare();
    const { lab, machine, uuid, run } = made;
    const result = await run(["--json", ...number, ...sh(script)]);
    expectError(result, "pending", why);
    expect(errorOf(result)).toMatchObject({
      retry: "after-status",
      exchange: { state: "held" },
      help: expect.stringMatching(
        /^vault run .* --discard-pending -- .*; vault ack \S+$/,
      ) as string,
    });
    expect(await machine.status(uuid)).toMatchObject({
      exchange: { state: "held", holdReason: "run", delivered: false, saveOwed: false },
    });
    const refused = await run(["--json", ...number, "--", "true"]);
    expectError(refused, "pending", /held \(the program of vault run failed\)/);
    expect(errorOf(refused).help).toMatch(/^vault run .* --discard-pending -- true .*; vault ack/);
    expect(unacked(made)).toBe(1);
    // Either way on works.
    expectExit(await machine.copy().vault("ack", uuid), 0);
    lab.service.sandbox.rewind();
  });

  it("the same line with --discard-pending goes on; the last start before the limit is left to get", async () => {
    const { lab, machine, uuid, run } = await prepare();
    const again = ["--json", "--discard-pending", ...number];
    for (let n = 0; n < 2; n += 1) {
      const held = await run([...again, "--", "false"]);
      expectExit(held, 11);
      expect(errorOf(held).help.match(/--discard-pending/g)).toHaveLength(1);
    }
    expectExit(await run([...again, "--", "true"]), 0);
    await expectInStep(lab, machine, uuid);
    for (let n = 0; n < 3; n += 1) expectExit(await run([...again, "--", "false"]), 11);
    const refused = await run([...again, "--", "false"]);
    expectError(refused, "guard", /must be acknowledged at once/);
    expectFarFromLock(lab, uuid);
    const [program, ...hint] = errorOf(refused).help.split(" ") ?? [];
    expect(program).toBe("vault");
    await machine.ok(...hint);
    await expectInStep(lab, machine, uuid);
  });

  it("holds it where a field does not fit into an environment", async () => {
    for (const [content, why] of [
      ["a\0b", /--env NOTE: vault\.content holds a NUL byte/],
      [
        "x".repeat(3_000_000),
        /true could not be started: the fields are too long for an environment/,
      ],
    ] as const) {
      const { run } = await prepare({ ...offlineNote, content });
      const held = await run(["--json", "--env", "NOTE=vault.content", "--", "true"]);
      expectError(held, "pending", why);
      // The same line would fail again.
      expect(errorOf(held).help).not.toContain("vault run");
      expectExit(await run(["--stdin", "--discard-pending", "--", "cat"]), 0);
    }
  });

  it("checks before anything is sent: names, fields of this kind, the program, and that it receives something", async () => {
    const { lab, machine, uuid } = await prepare();
    const sent = lab.service.sandbox.requests().length;
    machine.file("plain", "not a program");
    const scripts = {
      empty: "",
      text: "echo hello\n",
      marked: "\uFEFF#!/bin/sh\necho hello\n",
      crlf: "#!/bin/sh\r\necho hello\r\n",
      none: "#!\necho hello\n",
      missing: "#!/no/such/interpreter -x\n",
      unknown: "#!/usr/bin/env no-such-interpreter\n",
      folder: "#! /\n",
    };
    for (const [name, content] of Object.entries(scripts))
      chmodSync(machine.file(name, content), 0o755);
    const cases: [string[], number, RegExp, RegExp?][] = [
      [["--env", "1X=label", "--", "true"], 2, /--env 1X=label: must be NAME=FIELD/],
      [["--env", "label", "--", "true"], 2, /--env label: must be NAME=FIELD/],
      [["--env", "X=", "--", "true"], 2, /--env X=: must be NAME=FIELD/],
      [
        ["--env", "X=label", "--env", "X=uuid", "--", "true"],
        2,
        /--env X=uuid: .* each variable given once/,
      ],
      [
        ["--env", "X=vault.creditCard.numbr", "--", "true"],
        2,
        /--env X: vault\.creditCard\.numbr: .* prints no such field/,
        /nearest: vault\.creditCard\.number,/,
      ],
      [
        ["--env", "X=vault.content", "--", "true"],
        2,
        /: get of a credit-card\/offline vault prints no such field/,
      ],
      [["--", "true"], 2, /neither --env nor --stdin/],
      [
        ["--stdin", "--field", "label", "--", "true"],
        2,
        /--field cannot be used/,
        /--env NAME=label/,
      ],
      [["--stdin", "--ack-after", "soon", "--", "true"], 3, /--ack-after: must be a duration/],
      [
        ["--stdin", "--", "no-such-program"],
        127,
        /no-such-program cannot be started: no such program; nothing was sent/,
      ],
      [["--stdin", "--", "./plain"], 127, /\.\/plain cannot be started: it is not executable/],
      [
        ["--stdin", "--", "./empty"],
        127,
        /\.\/empty cannot be started: it is no binary, .*; nothing/,
      ],
      [["--stdin", "--", "./text"], 127, /does not begin with #!/],
      [["--stdin", "--", "./marked"], 127, /does not begin with #!/],
      [["--stdin", "--", "./crlf"], 127, /its interpreter \/bin\/sh\S+: no such program/],
      [["--stdin", "--", "./none"], 127, /does not begin with #! and a program/],
      [
        ["--stdin", "--", "./missing"],
        127,
        /its interpreter \/no\/such\/interpreter: no such program/,
      ],
      [["--stdin", "--", "./unknown"], 127, /its interpreter no-such-interpreter: no such program/],
      [["--stdin", "--", "./folder"], 127, /its interpreter \/: no such program/],
      [["--stdin", "--", "./"], 127, /no such program/],
      [["--stdin", "--", ""], 127, /no such program/],
      [["--stdin", "--no-ack", "--", "true"], 2, /--no-ack/],
    ];
    for (const [args, code, message, hint] of cases) {
      const result = await machine.vault("run", uuid, "--json", ...args);
      expectExit(result, code);
      expect(errorOf(result)).toMatchObject({
        exitCode: code,
        message: expect.stringMatching(message) as string,
        ...(hint && { help: expect.stringMatching(hint) as string }),
      });
    }
    const unknown = "123e4567-e89b-42d3-a456-426614174000";
    const program = ["--json", "--stdin", "--", "/bin/true"];
    expectError(await machine.vault("run", unknown, ...program), "no-credentials");
    const pair = machine.given(lab.vault.credentials);
    const kindless = await machine.vault("run", unknown, ...pair, ...program);
    expectError(kindless, "usage", /--kind is needed/);
    expectError(await machine.vault("run", uuid.slice(0, 8), ...program), "invalid-input");
    const plan = await machine.vault("run", uuid, "--dry-run", ...program);
    expect(JSON.parse(plan.stdout)).toMatchObject({ dryRun: true, operation: "get", uuid });
    expect(lab.service.sandbox.requests().length).toBe(sent);
  });

  it("with --run has one id in every attempt, and does nothing again that it has delivered", async () => {
    const { lab, machine, run } = await prepare();
    const script = 'echo "$VAULTSVC_DELIVERY_ID" >> ids; test -e fixed';
    const args = ["--run", "may", ...number, ...sh(script)];
    expectExit(await run(args), 11);
    // Acknowledged, and never received.
    await machine.ok("ack", "--all");
    machine.file("fixed", "");
    expectExit(await run(args), 0);
    const sent = lab.service.sandbox.requests().length;
    const again = await run(args);
    expectExit(again, 0);
    expect(again.stderr).toMatch(
      /^vault: warning: run may has done its vault before; nothing was sent: .*\n$/,
    );
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    const ids = readFileSync(join(machine.home, "ids"), "utf8").trim().split("\n");
    expect(ids).toEqual([`may-${lab.vault.uuid}`, `may-${lab.vault.uuid}`]);
    const other = await run(["--json", "--run", "may", ...number, "--", "true"]);
    expectError(other, "invalid-input", /--run may: it delivers to another place/);
  });

  it("works in a directory that was removed, where no path is relative; else it is 2", async () => {
    const made = await prepare();
    const gone = ["sh", "-c", 'mkdir gone; cd gone; rmdir ../gone; exec "$@"', "sh"];
    const { lab, machine, uuid, start } = made;
    expectExit(await start([...number, "--", "true"], { through: gone }).exit, 0);
    await expectInStep(lab, machine, uuid);
    const sent = lab.service.sandbox.requests().length;
    const out = machine.start({ through: gone }, "get", uuid, "--json", "--out", "card");
    expectError(await out.exit, "usage", /the working directory was removed/);
    expect(lab.service.sandbox.requests().length).toBe(sent);
  });

  it("does not set a variable for what the service did not send, and says so", async () => {
    const { run } = await prepare();
    const script = sh('echo "${LEFT-unset}"');
    const result = await run(["--env", "LEFT=vault.usesRemaining", ...script], { LEFT: "7" });
    expect(result).toMatchObject({ code: 0, stdout: "unset\n" });
    expect(result.stderr).toBe(
      "vault: warning: --env LEFT: the service did not send vault.usesRemaining; the variable is not set\n",
    );
  });

  it("what a program takes is not time of waiting: --max-wait begins again for the acknowledgement", async () => {
    const { lab, machine, uuid, run } = await prepare();
    lab.faults("get-end:status=429,retry-after=1");
    expectExit(await run(["--max-wait", "3s", ...number, ...sh("sleep 3")]), 0);
    await expectInStep(lab, machine, uuid);
  });
});

describe.concurrent("vault run --ack-after", () => {
  const wait = "echo started; until test -e go; do sleep 0.02; done;";

  it.for([
    ["exit 5", 5],
    ["kill -TERM $$", 143],
  ] as const)(
    "acknowledges while the program runs, releases the vault, and ends as it ends: %s",
    async ([end, code], { expect }) => {
      const made = await prepare();
      const running = made.start([...number, "--ack-after", "100ms", ...sh(`${wait} ${end}`)]);
      await running.waitFor(/started/);
      await expect.poll(() => unacked(made), { timeout: 10_000 }).toBe(0);
      // Another one may use it meanwhile.
      await made.machine.ok("get", made.uuid, "--json");
      writeFileSync(join(made.machine.home, "go"), "");
      expect(await running.exit).toMatchObject({ code, stderr: "" });
      await expectInStep(made.lab, made.machine, made.uuid);
    },
  );

  it("a program that ends before is judged by its code", async () => {
    const { lab, machine, uuid, start } = await prepare();
    expectExit(await start([...number, "--ack-after", "1h", "--", "true"]).exit, 0);
    await expectInStep(lab, machine, uuid);
    const failed = start(["--json", ...number, "--ack-after", "1h", "--", "false"]);
    expectError(await failed.exit, "pending");
  });

  it("a token that does not live that long leaves the old credentials valid", async () => {
    const { lab, machine, uuid, start } = await prepare(offlineCard, 2000);
    const after = ["--ack-after", "2200ms", "--json"];
    const result = await start([...number, ...after, "--", "sleep", "2.5"]).exit;
    expectError(result, "service", /no longer accepts the token.*old credentials are still/);
    await machine.ok("get", uuid);
    await expectInStep(lab, machine, uuid);
  });

  it("the program goes on where the acknowledgement fails, which is said at once and is how it ends", async () => {
    const made = await prepare();
    made.lab.faults("get-end:status=503*9");
    const short = ["--max-wait", "300ms", "--ack-after", "50ms", "--json"];
    const running = made.start([...short, ...number, ...sh(wait)]);
    await running.waitFor(/warning: not acknowledged: .*outstanding/, "stderr");
    writeFileSync(join(made.machine.home, "go"), "");
    expectError(await running.exit, "pending", /outstanding/);
    made.lab.service.faults.clear();
    await made.machine.ok("ack", made.uuid);
    await expectInStep(made.lab, made.machine, made.uuid);
  });
});

describe.concurrent("vault run of a limited vault", () => {
  it("does not acknowledge its last read where the program lacks a part of the contents", async () => {
    const { lab, machine, uuid, run } = await prepare({ ...offlineCard, maxUsage: 2 });
    const result = await run(["--json", ...number, "--", "touch", "ran"]);
    expectError(result, "pending", /last read .* would not receive its whole contents/);
    expect(existsSync(join(machine.home, "ran"))).toBe(false);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ usesRemaining: 1 });
    const whole = ["--json", "--discard-pending", "--env", "CARD=vault.creditCard"];
    const failed = await run([...whole, "--", "false"]);
    expectExit(failed, 11);
    expect(errorOf(failed).help).toMatch(/vault ack \S+ --unread \(uses the read up/);
    const parts = ["number", "name", "expiryMonth", "expiryYear"].flatMap((name) => [
      "--env",
      `${name}=vault.creditCard.${name}`,
    ]);
    expectExit(await run(["--discard-pending", ...parts, "--", "true"]), 0);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({ state: "deleted" });
  });
});

describe.concurrent("vault run with --credentials-out and --save-cmd", () => {
  it("saves after the program has ended with 0; if it fails, the save is owed", async () => {
    const { lab, machine, uuid, run } = await prepare(offlineNote);
    const file = join(machine.home, "pair.json");
    const out = ["--credentials-out", file, "--save-cmd", "cat > saved.json"];
    const script = "cat >/dev/null; test ! -e pair.json && test ! -e saved.json";
    expectExit(await run(["--stdin", ...out, ...sh(script)]), 0);
    expect(readJson(join(machine.home, "saved.json"))).toMatchObject({ status: "pending" });
    expect(lab.service.sandbox.accepts(uuid, pairIn(file))).toBe(true);
    await expectInStep(lab, machine, uuid);
    const failed = await run(["--json", "--stdin", ...out, ...sh("cat >/dev/null; exit 1")]);
    expectExit(failed, 11);
    expect(errorOf(failed).help).toMatch(/vault ack \S+ --save-cmd CMD \(or --saved/);
    await machine.ok("ack", uuid, "--save-cmd", "cat > saved.json");
    await expectInStep(lab, machine, uuid);
  });
});

describe.concurrent("signals", () => {
  it.each(["TERM", "HUP", "INT", "QUIT", "USR1", "USR2"] as const)(
    "SIG%s is the program's, once",
    async (name) => {
      const { lab, machine, uuid, start } = await prepare();
      const running = start([...number, "--", process.execPath, signalCounter, `SIG${name}`]);
      await running.waitFor(/waiting/);
      running.kill(`SIG${name}`);
      expect(await running.exit).toMatchObject({
        code: 0,
        stdout: `waiting in ${running.pid}\ncame 1 times\n`,
      });
      await expectInStep(lab, machine, uuid);
    },
  );

  it("the program ends by it: held, and the message names it", async () => {
    const { machine, uuid, start } = await prepare();
    const running = start(["--json", ...number, ...sh("echo ready; exec sleep 60")]);
    await running.waitFor(/ready/);
    running.kill("SIGTERM");
    expectError(await running.exit, "pending", /^sh was ended by SIGTERM/);
    expect(await machine.status(uuid)).toMatchObject({ exchange: { state: "held" } });
  });
});

it("killed while the program runs, it leaves the vault as get does: the next one reads it", async () => {
  const { lab, machine, uuid, start, run } = await prepare(offlineNote);
  const running = start([
    "--env",
    "NOTE=vault.content",
    ...sh("echo ready $$; until test -e over; do sleep 0.02; done; touch ended"),
  ]);
  await running.waitFor(/ready/);
  running.kill("SIGKILL");
  // Not its streams, which the program still has.
  await once(running.child, "exit");
  expect(await machine.status(uuid)).toMatchObject({ exchange: { state: "started" } });
  const next = await run(["--env", "NOTE=vault.content", ...sh('printf %s "$NOTE"')]);
  expect(next).toMatchObject({ code: 0, stdout: note });
  await expectInStep(lab, machine, uuid);
  writeFileSync(join(machine.home, "over"), "");
  await expect.poll(() => existsSync(join(machine.home, "ended")), { timeout: 10_000 }).toBe(true);
});
