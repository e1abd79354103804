import { spawn } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectExit,
  expectInStep,
  note,
  offlineNote,
  warmLab,
} from "../support/lab.ts";
import { documentOf, errorOf, type Machine } from "../support/machine.ts";
import { cleanEnv, vaultBin, type RunResult } from "../support/run-vault.ts";
import { quote } from "../support/pty.ts";

/** Runs a line of shell in which `$vault` is the program; its own exit code is that of the program. */
async function shell(
  machine: Machine,
  line: string,
  program: readonly string[] = [process.execPath, vaultBin],
): Promise<RunResult> {
  const define = `vault() { ${program.map(quote).join(" ")} "$@"; }\n`;
  const child = spawn("/bin/sh", ["-c", define + line], {
    env: cleanEnv({ env: machine.env }),
    cwd: machine.home,
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (chunk: string) => (text[name] += chunk));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, signal: null, ...text };
}

describe.concurrent("contents that cannot be written", () => {
  it("what forget has done is in the error", async () => {
    if (!existsSync("/dev/full")) return;
    const { machine, uuid } = await warmLab(offlineNote);
    const result = await shell(machine, `vault forget ${uuid} --yes --json >/dev/full; echo $?`);
    expect(result.stdout.trim()).toBe("14");
    expect(result.stderr).toMatch(/vault \S+ was forgotten.*nothing is left to do/s);
  });

  it.each([
    ["{ vault get $UUID --json; echo $? >code; } | true; cat code", /the output was closed/],
    ["vault get $UUID --json >/dev/full; echo $?", /disk is full/],
    ["vault get $UUID -o table --reveal >/dev/full; echo $?", /disk is full/],
  ])("by %s: nothing is acknowledged, and they can be read again", async (line, why) => {
    if (line.includes("/dev/full") && !existsSync("/dev/full")) return;
    const { lab, machine, uuid } = await warmLab({ ...offlineNote, maxUsage: 2 });
    const result = await shell(machine, line.replace("$UUID", uuid));
    expect(result.stdout.trim(), result.stderr).toBe("11");
    expect(result.stderr).toMatch(why);
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      state: "active",
      usesRemaining: 1,
      counts: { acknowledged: 1 },
    });
    expect(await machine.status(uuid)).toMatchObject({
      exchange: { state: "held", holdReason: "delivery", delivered: false },
    });
    expectError(await machine.vault("ack", uuid, "--json"), "pending");
    const held = await machine.vault("get", uuid, "--json");
    expectError(held, "pending");
    expect(errorOf(held).help).toMatch(/--discard-pending.*--unread/);
    const again = await machine.ok("get", uuid, "--discard-pending", "--json");
    expect(documentOf(again).vault.content).toBe(note);
  });

  it("of a vault without a limit: ack finishes it", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const line = `{ vault get ${uuid} --json; echo $? >code; } | true; cat code`;
    const result = await shell(machine, line);
    expect(result.stdout.trim()).toBe("11");
    await machine.ok("ack", uuid);
    await expectInStep(lab, machine, uuid);
  });
});

describe.concurrent("a closed stdout", () => {
  const pretence = join(import.meta.dirname, "..", "bin", "fixtures", "old-node.cjs");
  const older = ["env", "PRETEND_NODE=20.20.2", process.execPath, "-r", pretence, vaultBin];
  it.each([
    ["of this runtime", [process.execPath, vaultBin]],
    ["through an older one's launcher", older],
  ])("%s is told before anything is sent", async (_, program) => {
    const { lab, machine, uuid } = await warmLab({ ...offlineNote, maxUsage: 2 });
    for (const redirection of [">&-", ">/dev/null", "<>/dev/null 1>&0"]) {
      const closed = await shell(machine, `vault get ${uuid} --json ${redirection}`, program);
      expectError(closed, "usage", /standard output is closed or \/dev\/null/);
      expect(errorOf(closed).help).toContain(">");
    }
    expect(lab.service.sandbox.inspect(uuid)).toMatchObject({
      usesRemaining: 1,
      counts: { starts: 1, acknowledged: 1 },
    });
    await machine.ok("export", uuid);
    expectExit(await shell(machine, `vault export ${uuid} >/dev/null`, program), 0);
  });

  const out = ["--out contents.json", "contents.json"] as const;
  it.each([
    [">&-", ["--out-dir contents", "contents/UUID.json"], ["--exec 'cat > taken'", "taken"], out],
    ["<>/dev/null 1>&0", out],
    [">/dev/null", out],
  ])("%s is no matter where no contents go there", async (redirection, ...places) => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    for (const [where, file] of [["--dry-run"], ...places] as const) {
      const run = await shell(machine, `vault get ${uuid} ${where} ${redirection}`);
      expectExit(run, 0);
      expect(run.stderr).toBe("");
      if (file === undefined) continue;
      const path = join(machine.home, file.replace("UUID", uuid));
      expect(readFileSync(path, "utf8")).toContain(JSON.stringify(note));
    }
    const exchanges = places.length + 1;
    expect(lab.service.sandbox.inspect(uuid).counts).toMatchObject({
      starts: exchanges,
      acknowledged: exchanges,
    });
  });
});

describe.concurrent("contents that can be written", () => {
  it("reach a slow reader and a large one whole", async () => {
    const content = "ünïcode ✓ ".repeat(40_000);
    const { lab, machine, uuid } = await warmLab({ kind: "generic/offline", content });
    const piped = await shell(machine, `vault get ${uuid} --field vault.content | cat`);
    expect(piped.stdout).toBe(content);
    const filed = await shell(machine, `vault get ${uuid} --field vault.content >out && cat out`);
    expect(filed.stdout).toBe(content);
    expect(filed.stderr + piped.stderr).toBe("");
    await expectInStep(lab, machine, uuid);
  });

  it("are in the file, whole, before the end call is sent", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    lab.faults("get-end:hang");
    const out = `${machine.home}/out.json`;
    const get = [vaultBin, "get", uuid, "--json", "--timeout", "4s", "--max-wait", "4s"];
    const child = spawn(process.execPath, get, {
      env: cleanEnv({ env: machine.env }),
      stdio: ["ignore", openSync(out, "w"), "ignore"],
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).toBe(11);
    expect((await shell(machine, "cat out.json")).stdout).toContain(JSON.stringify(note));
  });
});
