import { spawn, spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startInPty } from "../support/pty.ts";
import { cleanEnv } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

const fixture = join(import.meta.dirname, "fixtures", "write-data.ts");
const mebibyte = 1 << 20;

interface Report {
  outcome: string;
  cpuMs: number;
  nonBlocking: boolean;
}

/** Runs a shell line in which `write` is the fixture. The fixture reports to a file, because stderr may be closed. */
function shell(line: string, bytes: number): { stdout: string; report: Report } {
  const report = join(tempDir("report"), "report");
  const write = `write() { "$NODE" "$FIXTURE" ${bytes} 2> "$REPORT"; }`;
  const env = { ...cleanEnv(), NODE: process.execPath, FIXTURE: fixture, REPORT: report };
  const { stdout } = spawnSync("sh", ["-c", `${write}\n${line}`], {
    env,
    encoding: "utf8",
    timeout: 30_000,
  });
  return { stdout, report: reportIn(readFileSync(report, "utf8")) };
}

const reportIn = (talk: string): Report => JSON.parse(talk.replace("writing\n", "")) as Report;

/** A pipe whose reader, this process, never reads. */
function openFifo(): number {
  const path = join(tempDir("fifo"), "fifo");
  spawnSync("mkfifo", [path]);
  return openSync(path, "r+");
}

describe.skipIf(!existsSync("/proc/self/fdinfo"))("what is written to stdout", () => {
  test("arrives whole at a slow reader, without spinning and without changing the pipe for others", () => {
    const { stdout, report } = shell("write | { sleep 1; wc -c; }", mebibyte);
    expect(stdout.trim()).toBe(String(mebibyte));
    expect(report).toMatchObject({ outcome: "written", nonBlocking: false });
    expect(report.cpuMs).toBeLessThan(500);
  });

  test("is refused with EPIPE where the reader has gone, before or meanwhile", () => {
    expect(shell("write | head -c 1 > /dev/null", mebibyte).report.outcome).toBe("EPIPE");
    expect(shell("{ sleep 0.3; write; } | true", 10).report.outcome).toBe("EPIPE");
  });

  test("is refused with ENOSPC by a full device", () => {
    expect(shell("write > /dev/full", 10).report.outcome).toBe("ENOSPC");
  });

  test("goes through /dev/null and to the end of a file that others append to", () => {
    expect(shell("write > /dev/null", 10).report.outcome).toBe("written");
    const file = join(tempDir("out"), "out");
    shell(`echo before > ${file}; write >> ${file}; echo after >> ${file}`, 16);
    expect(readFileSync(file, "utf8")).toBe("before\n0123456789abcde\nafter\n");
  });

  test.skipIf(spawnSync("strace", ["-V"]).error !== undefined)(
    "is synced where stdout is a file, before write resolves",
    () => {
      const folder = tempDir("sync");
      const line = `strace -f -e trace=write,fsync -o ${folder}/trace "$NODE" "$FIXTURE" 100000 > ${folder}/out 2> "$REPORT"`;
      const { report } = shell(line, 0);
      expect(report.outcome).toBe("written");
      expect(statSync(`${folder}/out`).size).toBe(100_000);
      const calls = readFileSync(`${folder}/trace`, "utf8");
      expect(calls).toMatch(/write\(1, [^]*fsync\(1\)[^]*outcome/);
    },
  );

  test("is shown whole on a terminal", async () => {
    const { text } = await startInPty([process.execPath, fixture, "200000"]).exit;
    expect(text.split("\n").filter((line) => line === "0123456789abcde")).toHaveLength(12_500);
    expect(text).toContain('"outcome":"written"');
  });

  test.each(["pipe", "socket"])(
    "is given up at SIGTERM while the reader of a %s has stopped",
    async (kind) => {
      // Node connects child processes by sockets; a shell uses pipes.
      const fifo = kind === "pipe" ? openFifo() : undefined;
      const child = spawn(process.execPath, [fixture, String(mebibyte)], {
        env: cleanEnv(),
        stdio: ["ignore", fifo ?? "pipe", "pipe"],
      });
      child.stdout?.on("error", () => {});
      let talk = "";
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        talk += text;
        if (talk === "writing\n") child.kill("SIGTERM");
      });
      await new Promise((resolve) => child.once("exit", resolve));
      expect(reportIn(talk)).toMatchObject({ outcome: "Interruption" });
      if (fifo !== undefined) closeSync(fifo);
    },
  );

  test("arrives whole through a socket", () => {
    const { stdout, stderr } = spawnSync(process.execPath, [fixture, String(mebibyte)], {
      env: cleanEnv(),
      maxBuffer: 2 * mebibyte,
    });
    expect(stdout).toHaveLength(mebibyte);
    expect(reportIn(stderr.toString())).toMatchObject({ outcome: "written" });
  });
});
