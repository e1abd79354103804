import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { errorOf } from "../support/machine.ts";
import {
  card,
  expectError,
  expectExit,
  expectInStep,
  offlineCard,
  offlineNote,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { fakeHost } from "../support/fake-host.ts";
import { createOutput, serialize } from "../../src/cli/output.ts";
import { main } from "../../src/main.ts";
import { asVaultError, VaultError } from "../../src/errors.ts";
import { checkField, documentNames } from "../../src/documents/schemas.ts";

describe.concurrent("--field", () => {
  const others = documentNames.filter((name) => !["get", "update", "run"].includes(name));
  it.each(others)("%s: is refused for what its documents do not have", (name) => {
    expect(() => checkField(name, "nothing.such")).toThrow(
      /prints no such field; nothing was sent/,
    );
  });

  it.each([
    ["sandbox lock", "status"],
    ["sandbox unlock", "label"],
    ["sandbox start", "vaults.0.credentials.payload"],
    ["sandbox env", "env.VAULTSVC_STATE"],
    ["config get", "value"],
    ["info", "info.whatever.it.is"],
    ["status", "vaults.12.exchange.id"],
    ["audit-replay", "verdicts.ok"],
  ])("%s may have --field %s", (name, field) => {
    expect(() => checkField(name, field)).not.toThrow();
  });

  it("that no document of the command has is refused before anything is done", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const sent = lab.service.sandbox.requests().length;
    for (const args of [
      ["ack", uuid],
      ["forget", uuid, "--yes", "--discard-pending"],
      ["import", uuid, "--credentials", "env:PAIR"],
    ]) {
      const refused = await machine.vaultWith(
        { env: { PAIR: JSON.stringify(lab.vault.credentials) } },
        ...args,
        "--field",
        "vault",
        "--json",
      );
      expectError(refused, "usage", /--field vault: vault .* prints no such field/);
    }
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    expect(await machine.status(uuid)).toMatchObject({ status: "held" });
  });

  it("that is wrong further down is refused as well; one that is not there this time is no failure of what was done", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const ack = async (field: string) => await machine.vault("ack", uuid, "--field", field);
    const refused = await ack("acknowledged.0.exchange.stat");
    expectExit(refused, 2);
    expect(refused.stderr).toMatch(/the nearest: acknowledged\.0\.exchange\.state, /);
    expect((await ack("acknowledged.0.exchange.state")).stdout).toBe("acknowledged");
    const absent = await ack("failed.0.uuid");
    expectExit(absent, 0);
    expect(absent.stdout).toBe("");
    expect(absent.stderr).toMatch(
      /warning: --field failed\.0\.uuid: the document has no such field/,
    );
  });

  it.each([
    ["status", "vaults.0.exchange.id"],
    ["status", "vaults.9.uuid"],
    ["guard", "vaults.0.next.0.argv"],
    ["export", "device.osType"],
    ["get --dry-run", "request.body.device"],
    ["info", "info.whatever"],
  ])(
    "%s --field %s, which is not there this time, prints nothing and warns",
    async (line, path) => {
      const { machine, uuid } = await warmLab(offlineNote);
      const [command = "", ...more] = line.split(" ");
      const read = await machine.ok(command, uuid, ...more, "--field", path);
      expect(read.stdout).toBe("");
      expect(read.stderr).toBe(
        `vault: warning: --field ${path}: the document has no such field this time; nothing was printed\n`,
      );
    },
  );

  it("that is not there hides no finding", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const args = ["status", "--fail-on", "pending", "--field", "vaults.0.lastError.code"];
    expectExit(await machine.vault(...args), 17);
  });
});

describe.concurrent("--field of an exchange", () => {
  it.each([
    ["get", "vault.creditCard.nubmer", "vault.creditCard.number"],
    ["get", "creditCard.number", "vault.creditCard.number"],
    ["get", "vault.content", "vault.creditCard.expiryMonth"],
    ["get", "vault.credentails", "vault.creditCard"],
    ["get", "exchange.externalref", "exchange.externalRef"],
    ["get", "vault.creditCard.number.length", "vault.creditCard.number"],
    ["update", "vault.creditCard.number", "vault.dateCreated"],
    ["get --dry-run", "requets.method", "request.method"],
  ])(
    "vault %s --field %s, which a card vault cannot have, is refused before anything is sent",
    async (command, field, near) => {
      const { lab, machine, uuid } = await warmLab(offlineCard);
      const sent = lab.service.sandbox.requests().length;
      const [name = "", ...more] = command.split(" ");
      if (name === "update") more.push("--card", `@${machine.file("card.json", card)}`);
      const refused = await machine.vault(name, uuid, ...more, "--field", field, "--json");
      expectError(refused, "usage", /prints no such field; nothing was sent/);
      expect(errorOf(refused).help).toMatch(
        new RegExp(`\\bthe nearest: .*\\b${near.replaceAll(".", "\\.")}(,|;)`),
      );
      expect(errorOf(refused).help).not.toMatch(/vault\.credentials|\bvault[,;]/);
      if (name === "get" && !command.includes("dry-run"))
        expect(errorOf(refused).help).toMatch(
          /^contents of the vault: vault\.creditCard\.\w+, .*vault\.creditCard\.number\b/,
        );
      expect(lab.service.sandbox.requests()).toHaveLength(sent);
      expect(await machine.status(uuid)).toMatchObject({ status: "ready", unackedStarts: 0 });
    },
  );

  it("that is optional and absent prints nothing, warns, and is delivered", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    const read = await machine.ok("get", uuid, "--field", "vault.usesRemaining");
    expect(read.stdout).toBe("");
    expect(read.stderr).toMatch(
      /warning: --field vault\.usesRemaining: the document has no such field this time/,
    );
    await expectInStep(lab, machine, uuid);
    await machine.ok("get", uuid, "--field", "settled.0.outcome");
    const month = await machine.vault("get", uuid, "--field", "vault.creditCard.expiryMonth");
    expect(month.stdout).toBe("4");
  });
});

describe.concurrent("an output that cannot be written", () => {
  it.each(["status", "guard", "export"])(
    "%s to a full disk is an error of the output, not a bug",
    async (command) => {
      const { machine, uuid } = await warmLab(offlineNote);
      const host = fakeHost({
        env: machine.env,
        home: machine.home,
        stdoutFails: { code: "ENOSPC", syscall: "write" },
      });
      const code = await main([command, uuid, "--json"], host);
      const result = { code, signal: null, stdout: "", stderr: host.err };
      expectError(result, "state", /output could not be written: the disk is full/);
    },
  );

  it("a failure is told also where its document has no reader", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    lab.faults("end:drop-before*all");
    const env = { ...machine.env, VAULTSVC_MAX_WAIT: "0s" };
    const stdoutFails = { code: "EPIPE", syscall: "write" };
    const host = () => fakeHost({ env, home: machine.home, now: Date.now(), stdoutFails });
    expect(await main(["ack", uuid, "--json"], host())).toBe(11);
    expect(await main(["status", "--fail-on", "pending"], host())).toBe(17);
  });

  it("an update that cannot be receipted is still one", async () => {
    const { machine, uuid } = await warmLab(offlineCard);
    const env = { ...machine.env, CARD: JSON.stringify(card) };
    const stdoutFails = { code: "ENOSPC", syscall: "write" };
    const host = fakeHost({ env, home: machine.home, now: Date.now(), stdoutFails });
    const code = await main(["update", uuid, "--card", "env:CARD", "--json"], host);
    const result = { code, signal: null, stdout: "", stderr: host.err };
    expectError(result, "state", /the update is acknowledged, but the result could not be printed/);
    expect(errorOf(result)).toMatchObject({
      retry: "after-status",
      exchange: { state: "acknowledged" },
    });
  });

  it("for a reader that has gone is a failure, an export and a report alike", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const stdoutFails = { code: "EPIPE", syscall: "write" };
    for (const args of [["export", uuid], ["export", "--all"], ["status"]]) {
      const host = fakeHost({ env: machine.env, home: machine.home, stdoutFails });
      expect(await main(args, host)).toBe(14);
    }
  });
});

describe.concurrent("export --field", () => {
  it("with --all is a path into the list", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const one = await machine.vault("export", "--all", "--field", "0.uuid");
    expect(one).toMatchObject({ code: 0, stdout: uuid });
    const none = await machine.vault("export", "--all", "--field", "uuid");
    expectExit(none, 2);
    expect(none.stdout).toBe("");
    expectExit(await machine.vault("export", uuid, "--field", "0.uuid"), 2);
  });

  it("ends with a line end on a terminal only", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const host = fakeHost({ env: machine.env, home: machine.home, isTTY: true });
    expect(await main(["export", uuid, "--field", "credentials.payload"], host)).toBe(0);
    const piped = await machine.vault("export", uuid, "--field", "credentials.payload");
    expect(host.out).toBe(`${piped.stdout}\n`);
  });
});

describe("a list that may be very long", () => {
  const entries = (n: number) =>
    Array.from({ length: n }, (_, i) => ({ uuid: `${i}`, lines: ["a\nb\u202e", { i }], none: [] }));
  const printed = async (n: number, format: "json" | "ndjson" | "table", fail = false) => {
    const host = fakeHost();
    const choice = { format, field: undefined, reveal: false };
    const output = createOutput(
      host,
      choice,
      () => {},
      async () => await Promise.resolve(),
    );
    async function* listed() {
      yield* await Promise.resolve(entries(n));
      if (fail) throw new VaultError("state", "gone");
    }
    const view = (some: readonly { uuid: string }[]) =>
      some.map(({ uuid }) => `${uuid}\t-\n`).join("");
    await output.showEach("vaults", listed(), view).catch(() => {});
    return host.out;
  };

  it.each([0, 1, 3, 5000])("%s entries make the document that is made at once", async (n) => {
    const document = { vaults: entries(n) };
    for (const format of ["json", "ndjson"] as const)
      expect(await printed(n, format)).toBe(
        serialize(document, { format, field: undefined }, false),
      );
    expect(await printed(n, "table")).toBe(
      entries(n)
        .map(({ uuid }) => `${uuid}\t-\n`)
        .join(""),
    );
  });

  it("is not printed in part if it cannot be read to its end", async () => {
    expect(await printed(5000, "json", true)).toBe("");
  });
});

describe.concurrent("an error", () => {
  it("of a machine without free descriptors is no bug", async () => {
    const { machine } = await warmLab(offlineNote);
    const uncaught = Promise.reject(
      asVaultError(Object.assign(new Error("EMFILE: open"), { code: "EMFILE" })),
    );
    const host = fakeHost({ env: machine.env, home: machine.home, uncaught });
    const code = await main(["status", "--json"], host);
    const result = { code, signal: null, stdout: "", stderr: host.err };
    expectError(result, "state", /too many files are open on this machine/);
  });

  it.each([
    ["import", "--file", "-"],
    ["ack", "--from", "-"],
  ])("is no bug where a signal comes while %s reads standard input", async (...line) => {
    const { machine } = await coldLab(offlineNote);
    const host = fakeHost({ env: machine.env, home: machine.home });
    const readAll = async (): Promise<never> => {
      host.interrupt("SIGTERM");
      return await Promise.reject(host.interrupted.reason as Error);
    };
    Object.assign(host, { stdin: { ...host.stdin, readAll } });
    const code = await main([...line, "--json"], host);
    const result = { code, signal: null, stdout: "", stderr: host.err };
    expectError(result, "interrupted", /^interrupted by SIGTERM$/, 143);
    expect(errorOf(result).help).toBe("vault status --pending");
  });

  it("that nobody caught is JSON like any other", async () => {
    const { machine } = await coldLab(offlineNote);
    const uncaught = Promise.reject(asVaultError(new Error("lost")));
    const host = fakeHost({ env: machine.env, home: machine.home, uncaught });
    const code = await main(["status", "--json"], host);
    const result = { code, signal: null, stdout: "", stderr: host.err };
    expectError(result, "internal", /^unexpected failure: lost$/);
  });

  it("is JSON where the profile asks for it", async () => {
    const { machine } = await warmLab(offlineNote);
    writeFileSync(
      join(machine.configDir, "config.json"),
      JSON.stringify({ profiles: { default: { output: "json" } } }),
    );
    const unknown = "00000000-0000-4000-8000-000000000000";
    expectError(await machine.vault("get", unknown), "no-credentials");
  });
});

describe.concurrent("vault sandbox", () => {
  it("refuses what it cannot use in words", async () => {
    const { machine } = await coldLab(offlineNote);
    const start = ["sandbox", "start", "--json"];
    const port = await machine.vault(...start, "--port", "99999");
    expectError(port, "invalid-input", /--port.*65535/);
    const inProc = await machine.vault(...start, "--data", "/proc/nowhere/here");
    expectError(inProc, "state", /--data .*cannot be used/);
  });
});
