import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectInStep,
  note,
  offlineNote,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { pairIn, readJson, type Machine, type Recovery } from "../support/machine.ts";

const saved = (machine: Machine, name = "saved.json") =>
  readJson(join(machine.home, name)) as Recovery;

describe.concurrent("--save-cmd", () => {
  it("gets the recovery document before the end call, an id that increases, and talks on stderr", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const ids: string[] = [];
    for (const name of ["one", "two", "three"]) {
      const command = `cat > ${name}.json; echo $VAULTSVC_EXCHANGE_ID > ${name}.id; echo saved it`;
      const result = await machine.ok("get", uuid, "--json", "--save-cmd", command);
      expect(JSON.parse(result.stdout)).toMatchObject({ vault: { content: note } });
      expect(result.stderr).toBe("saved it\n");
      const document = saved(machine, `${name}.json`);
      ids.push(readFileSync(join(machine.home, `${name}.id`), "utf8").trim());
      expect(document).toMatchObject({
        format: 2,
        uuid,
        kind: "generic/offline",
        status: "pending",
        exchange: { id: ids.at(-1), operation: "get" },
      });
      expect(document.new).toEqual(lab.service.sandbox.inspect(uuid).pair);
    }
    expect([...ids].sort()).toEqual(ids);
    expect(new Set(ids).size).toBe(3);
  });

  it.each([
    ["a file, its newline included", "@pair.json", "\n"],
    ["a file without a newline", "@pair.json", ""],
    ["standard input", "-", " \r\n"],
    ["the environment", "env:PAIR", "\n"],
  ])(
    "is told the hash of the document that it is to replace, which came from %s",
    async (_, source, end) => {
      const { machine, uuid, kind, credentials } = await coldLab(offlineNote);
      const text = JSON.stringify(credentials) + end;
      machine.file("pair.json", text);
      const command = "cat > saved.json; printf %s $VAULTSVC_GIVEN_SHA256 > hash";
      const args = ["--kind", kind, "--credentials", source, "--save-cmd", command];
      await machine.okWith({ env: { PAIR: text }, input: text }, "get", uuid, ...args);
      expect(readFileSync(join(machine.home, "hash"), "utf8")).toBe(
        createHash("sha256").update(text).digest("hex"),
      );
    },
  );

  it("is told no hash where nothing was read, by ack neither", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const env = { VAULTSVC_GIVEN_SHA256: "of somebody else" };
    const command = (name: string): string =>
      `cat > ${name}.json; echo "<$VAULTSVC_GIVEN_SHA256>" > ${name}`;
    const failing = ["get", uuid, "--json", "--save-cmd", `${command("one")}; false`];
    expectError(await machine.vaultWith({ env }, ...failing), "pending");
    await machine.okWith({ env }, "ack", uuid, "--save-cmd", command("two"));
    for (const name of ["one", "two"])
      expect(readFileSync(join(machine.home, name), "utf8")).toBe("<>\n");
    expect(saved(machine, "two.json")).toEqual(saved(machine, "one.json"));
  });

  it("is told by ack the hash that the run has kept: of what was read, and then of what was saved last", async () => {
    const { lab, machine, uuid, kind, credentials } = await coldLab(offlineNote);
    const text = `${JSON.stringify(credentials)}\n`;
    const sha256 = (content: string | Buffer): string =>
      createHash("sha256").update(content).digest("hex");
    const command = (name: string): string =>
      `cat > ${name}.json; printf %s "$VAULTSVC_GIVEN_SHA256" > ${name}.hash`;
    const hash = (name: string): string => readFileSync(join(machine.home, `${name}.hash`), "utf8");
    const save = (name: string): string[] => [
      uuid,
      "--json",
      "--save-cmd",
      `${command(name)}; false`,
    ];
    const given = machine.given(text, kind);
    expectError(await machine.vault("get", ...given, ...save("one")), "pending");
    expectError(await machine.vault("ack", ...save("two")), "pending");
    lab.faults("get-end:drop-before");
    const cut = ["ack", uuid, "--json", "--max-wait", "0s", "--save-cmd", command("three")];
    expectError(await machine.vault(...cut), "pending");
    for (const name of ["one", "two", "three"]) expect(hash(name)).toBe(sha256(text));
    await machine.ok("ack", uuid);

    await machine.ok("get", uuid, "--no-ack", "--save-cmd", command("four"));
    await machine.ok("ack", uuid, "--save-cmd", command("five"));
    expect(hash("four")).toBe("");
    expect(hash("five")).toBe(sha256(readFileSync(join(machine.home, "four.json"))));
    await expectInStep(lab, machine, uuid);
  });

  it("has none of the secrets in its environment, nor in any command line", async () => {
    const { lab, machine, credentials, uuid } = await warmLab(offlineNote);
    const env = {
      OTHER_NAME: lab.service.application.apiKey,
      HARMLESS: "yes",
      PAIR: JSON.stringify(credentials),
    };
    const command =
      "cat > saved.json; env > env.txt; cat /proc/$PPID/cmdline /proc/$$/cmdline > lines.txt 2>/dev/null; true";
    await machine.okWith({ env }, "get", uuid, "--save-cmd", command);
    const text = ["env.txt", "lines.txt"]
      .map((name) => readFileSync(join(machine.home, name), "utf8"))
      .join("\n");
    expect(text).toContain("HARMLESS=yes");
    expect(text).not.toContain(lab.service.application.apiKey);
    const { old, new: offered, token } = saved(machine);
    for (const secret of [old.payload, offered.payload, offered.encryptedData, token, note])
      expect(text).not.toContain(secret);
  });

  it.each([
    ["fails", "cat >/dev/null; exit 3", /exit code 3/],
    ["does not read its input", "true", /did not read/],
    ["reads a part of its input", "head -c 10 >/dev/null", /did not read/],
    ["does not end", "cat >/dev/null; sleep 60", /did not finish/],
    ["does not exist", "no-such-command-at-all", /exit code 127/],
  ])(
    "that %s holds the exchange, until ack serves it or is told that it is saved",
    async (_, command, why) => {
      const { lab, machine, uuid } = await warmLab(offlineNote);
      const { sandbox } = lab.service;
      const timeout = command.endsWith("sleep 60") ? "1500ms" : "30s";
      const get = ["get", uuid, "--json", "--timeout", timeout, "--save-cmd", command];
      const result = await machine.vault(...get);
      expectError(result, "pending", why);
      expect(JSON.parse(result.stdout)).toMatchObject({ vault: { content: note } });
      expect(sandbox.inspect(uuid).counts).toMatchObject({ starts: 2, ends: 1 });
      expect(await machine.status(uuid)).toMatchObject({
        exchange: { state: "held", holdReason: "save-cmd", delivered: true, saveOwed: true },
      });
      expectError(await machine.vault("ack", uuid, "--json"), "pending");
      const failing = ["ack", uuid, "--json", "--save-cmd", "cat >/dev/null; false"];
      expectError(await machine.vault(...failing), "pending");
      expect(sandbox.inspect(uuid).counts.ends).toBe(1);
      if (command === "true") {
        await machine.ok("ack", uuid, "--saved");
      } else {
        await machine.ok("ack", uuid, "--save-cmd", "cat > saved.json");
        expect(saved(machine).new).toEqual(sandbox.inspect(uuid).pair);
      }
      await expectInStep(lab, machine, uuid);
    },
  );

  // Each piece is written by a process of its own, so that it is read before the next one comes.
  const inPieces =
    "i=1; while [ $i -lt 3000 ]; do tail -c +$i saved.json | head -c 25; i=$((i+25)); done";
  it.each([
    ["in writes of 25 bytes", inPieces],
    ["in writes of 25 bytes, to stderr", `{ ${inPieces}; } >&2`],
    ["without the end of its line", "tr -d '\\n' < saved.json"],
  ])("may print the document %s: the secrets in it are replaced", async (_, command) => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const save = `cat > saved.json; ${command}`;
    const runs = [
      await machine.vault("get", uuid, "--json", "--save-cmd", `${save}; false`),
      await machine.vault("ack", uuid, "--save-cmd", save),
    ];
    expect(runs.map(({ code }) => code)).toEqual([11, 0]);
    const { old, new: offered, token } = saved(machine);
    for (const { stderr } of runs) {
      expect(stderr).toMatch(/encryptedData.*«redacted».*\n/);
      for (const secret of [...Object.values({ ...old }), ...Object.values({ ...offered }), token])
        expect(stderr).not.toContain(secret);
    }
    await expectInStep(lab, machine, uuid);
  });

  it("shows a line whole, however long, and no secret in it", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    const command = "echo before; { head -c 300000 /dev/zero | tr '\\0' x; cat; }; echo after";
    const { code, stderr } = await machine.vault("get", uuid, "--json", "--save-cmd", command);
    expect(code).toBe(0);
    expect(stderr.slice(0, 300_007)).toBe(`before\n${"x".repeat(300_000)}`);
    expect(stderr).toMatch(/«redacted».*\nafter\n$/);
  });

  it("shows what it prints while it runs, and does not wait for what it leaves behind", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const command =
      "cat >/dev/null; echo line by line; until test -e go; do :; done; sleep 60 & printf saved";
    const running = machine.start({}, "get", uuid, "--json", "--save-cmd", command);
    await running.waitFor(/^line by line$/m, "stderr");
    machine.file("go", "");
    expectExit(await running.exit, 0);
    await expectInStep(lab, machine, uuid);
  });

  it("runs after --credentials-out, which fails first", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const both = (file: string, save: string): string[] => [
      "get",
      uuid,
      "--json",
      "--credentials-out",
      file,
      "--save-cmd",
      save,
    ];
    await machine.ok(...both("pair.json", "cat >/dev/null; cp pair.json seen.json"));
    expect(saved(machine, "seen.json")).toMatchObject({ status: "pending" });
    const keys = "format,uuid,label,kind,credentials";
    expect(Object.keys(saved(machine, "pair.json")).join(",")).toBe(keys);
    expect(lab.service.sandbox.accepts(uuid, pairIn(join(machine.home, "pair.json")))).toBe(true);
    const missing = await machine.vault(...both("missing/pair.json", "cat >ran"));
    expectError(missing, "invalid-input", /--credentials-out.*does not exist/);
    expect(existsSync(join(machine.home, "ran"))).toBe(false);
  });
});
