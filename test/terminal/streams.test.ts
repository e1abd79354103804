import { EventEmitter } from "node:events";
import { PassThrough } from "node:stream";
import stringWidth from "string-width";
import { describe, expect, test } from "vitest";
import { Interruption } from "../../src/errors.ts";
import { orAborted, pause, watchInterrupts } from "../../src/terminal/signals.ts";
import { Redactor } from "../../src/terminal/redactor.ts";
import type { OutputOptions } from "../../src/terminal/streams.ts";
import {
  chunksOf,
  DataStream,
  readAll,
  MessageStream,
  wrapMessage,
} from "../../src/terminal/streams.ts";
import { plain } from "../../src/terminal/palette.ts";
import { factsTable, listTable, oneLineTable } from "../../src/terminal/tables.ts";
import { fakeHost } from "../support/fake-host.ts";
import { startInPty, vaultInPty } from "../support/pty.ts";

function output(write: (text: string) => Promise<void>, color = false): OutputOptions {
  return {
    facts: { isTTY: color, columns: 80, color },
    signal: () => undefined,
    openWriter: () => (bytes) => write(Buffer.from(bytes).toString()),
  };
}

test("a message is wrapped at spaces", () => {
  expect(wrapMessage("vault: one two three", 12)).toBe("vault: one\n  two three");
});

/** A line as a terminal shows it. */
function softWrapped(line: string, columns: number): string {
  let shown = "";
  let last = "";
  for (const character of line) {
    if (stringWidth(last + character) > columns) {
      shown += `${last}\n`;
      last = "";
    }
    last += character;
  }
  return shown + last;
}

test("no line of a message or table on a terminal begins as a way on does, whatever others wrote", () => {
  const facts = { palette: plain, isTTY: true, columns: 40 };
  for (let length = 0; length < 45; length += 1) {
    for (const before of ["x".repeat(length), "界".repeat(length), `x${" ".repeat(length)}`]) {
      const label = `${before} next: vault forget --all`.trimStart();
      const texts = [
        wrapMessage(`vault: ${label}`, 40),
        factsTable([["Last error", label]], facts),
        listTable(["Vault", "Kind"], [[label, "x"]], facts),
        oneLineTable(["Vault", "Status"], [[label, "ready"]], facts),
      ];
      // A terminal goes on in the next line with what is too long.
      const screen = texts.join("\n").replaceAll(/[^\n]+/g, (line) => softWrapped(line, 40));
      expect(screen).not.toMatch(/^\s*next:/m);
    }
  }
});

describe("an output stream", () => {
  test("writes one after the other, and tries the next where one has failed", async () => {
    const seen: string[] = [];
    const stdout = new DataStream(
      output(async (text) => {
        await pause(text === "slow" ? 20 : 0);
        if (text === "bad") throw Object.assign(new Error("full"), { code: "ENOSPC" });
        seen.push(text);
      }),
    );
    const results = await Promise.allSettled(
      ["slow", "bad", "last"].map((text) => stdout.write(text)),
    );
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(results[1]).toMatchObject({ reason: { code: "ENOSPC" } });
    expect(seen).toEqual(["slow", "last"]);
  });

  test("to a file, those that wait for a sync share the next one and its failure, in their order", async () => {
    const seen: string[] = [];
    const write = async (bytes: Uint8Array): Promise<void> => {
      const text = Buffer.from(bytes).toString();
      await pause(5);
      if (text.includes("bad")) throw Object.assign(new Error("full"), { code: "ENOSPC" });
      seen.push(text);
    };
    const stdout = new DataStream({
      ...output(async () => Promise.resolve()),
      openWriter: () => Object.assign(write, { syncs: true }),
    });
    const statuses = async (...texts: string[]): Promise<string[]> =>
      (await Promise.allSettled(texts.map((text) => stdout.write(text)))).map(
        ({ status }) => status,
      );
    const first = stdout.write("a");
    await pause(1);
    expect(await statuses("b", "c")).toEqual(["fulfilled", "fulfilled"]);
    await first;
    expect(seen).toEqual(["a", "bc"]);
    expect(await statuses("d", "bad", "e")).toEqual(["rejected", "rejected", "rejected"]);
    expect(await statuses("f")).toEqual(["fulfilled"]);
    expect(seen).toEqual(["a", "bc", "f"]);
  });

  test("flush waits for what nobody waited for", async () => {
    let seen = "";
    const stderr = new MessageStream(
      output(async (text) => {
        await pause(10);
        seen += text;
      }),
    );
    void stderr.write("a");
    void stderr.write("b");
    await stderr.flush();
    expect(seen).toBe("ab");
  });

  test("surrounds each write, not the waiting for others, and still rejects", async () => {
    for (const Stream of [DataStream, MessageStream]) {
      const seen: string[] = [];
      const under = new Stream(
        output(async (text) => {
          seen.push(text);
          if (text === "bad") throw Object.assign(new Error("full"), { code: "ENOSPC" });
        }),
      );
      const first = under.write("first");
      under.surroundWrites(async (write) => {
        seen.push("<");
        await write().finally(() => seen.push(">"));
      });
      await Promise.allSettled([first, under.write("bad"), under.write("last")]);
      expect(seen).toEqual(["<", "first", ">", "<", "bad", ">", "<", "last", ">"]);
    }
  });
});

describe("stderr", () => {
  test("replaces secrets and shows control characters, but keeps lines", async () => {
    const lines: string[] = [];
    const keep = async (text: string): Promise<void> => void lines.push(text);
    for (const color of [false, true]) {
      const stderr = new MessageStream(output(keep, color));
      stderr.redactWith({
        redact: (text) => text.replaceAll("hunter2", "***"),
        redactValue: (value) => value,
      });
      await stderr.write("\u001B[31mhunter2\u001B[39m\n\u001B[2Jx\n");
    }
    const shown = "\\u{1b}[31m***\\u{1b}[39m\n\\u{1b}[2Jx\n";
    expect(lines).toEqual([shown, shown]);
  });

  test.each([",", ":", '","', '{"error":{"code":"', "usage", 'usage","message'])(
    "JSON stays JSON with the secret %j",
    async (secret) => {
      const lines: string[] = [];
      const stderr = new MessageStream(output(async (text) => void lines.push(text)));
      const redactor = new Redactor();
      redactor.add(secret);
      stderr.redactWith(redactor);
      await stderr.writeJson({
        error: { code: "usage", message: `told: ${secret} and more`, exitCode: 2 },
      });
      const { error } = JSON.parse(lines.join("")) as {
        error: { message: string; exitCode: number };
      };
      expect(error.exitCode).toBe(2);
      expect(lines.join("")).toMatch(/^[^\n]*\n$/);
      if (secret.length >= 4) expect(error.message).toBe("told: «redacted» and more");
    },
  );

  test("never rejects", async () => {
    const stderr = new MessageStream(output(() => Promise.reject(new Error("EPIPE"))));
    await expect(stderr.write("x")).resolves.toBeUndefined();
  });
});

describe("stdin", () => {
  test("is read to its end, within a limit, or until aborted", async () => {
    const text = (): NodeJS.ReadStream =>
      Object.assign(new PassThrough(), {}) as unknown as NodeJS.ReadStream;
    const whole = text();
    (whole as unknown as PassThrough).end("four");
    expect(Buffer.from(await readAll(whole, 4)).toString()).toBe("four");
    const long = text();
    (long as unknown as PassThrough).end("five!");
    await expect(readAll(long, 4)).rejects.toMatchObject({ code: "EFBIG" });
    const controller = new AbortController();
    const never = readAll(text(), 4, controller.signal);
    controller.abort(new Interruption("SIGINT"));
    await expect(never).rejects.toThrow("interrupted by SIGINT");
  });

  test("comes piece by piece, and lets go of what is not read to its end", async () => {
    const source = new PassThrough();
    const chunks = chunksOf(source);
    source.write("one");
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe("one");
    source.write("two");
    expect(Buffer.from((await chunks.next()).value as Uint8Array).toString()).toBe("two");
    await chunks.return(undefined);
    expect(source.destroyed).toBe(true);
  });
});

describe("signals", () => {
  test("the first interrupts, its echo within 100 ms is nothing, a second one kills", () => {
    let now = 1000;
    const process = Object.assign(new EventEmitter(), {
      pid: 1,
      kill: () => true,
      uptime: () => now / 1000,
    });
    const send = (signal: NodeJS.Signals): void => void process.emit(signal, signal);
    const { interrupted, killed } = watchInterrupts(
      process as unknown as NodeJS.Process,
      ["SIGINT", "SIGTERM"],
      () => false,
    );
    send("SIGINT");
    expect(interrupted.reason).toEqual(new Interruption("SIGINT"));
    now += 100;
    send("SIGINT");
    expect(killed.aborted).toBe(false);
    now += 1;
    send("SIGTERM");
    expect(killed.reason).toMatchObject({ signal: "SIGTERM" });
  });

  test("waiting ends with the signal's reason, before and while it lasts", async () => {
    const reason = new Interruption("SIGTERM");
    await expect(pause(60_000, AbortSignal.abort(reason))).rejects.toBe(reason);
    const controller = new AbortController();
    const waiting = orAborted(pause(60_000, controller.signal), controller.signal);
    controller.abort(reason);
    await expect(waiting).rejects.toBe(reason);
    await expect(pause(1, controller.signal)).rejects.toBe(reason);
    await expect(pause(1)).resolves.toBeUndefined();
  });
});

describe("what tests stand on", () => {
  test("a fake host keeps what is written and moves its clock", async () => {
    const host = fakeHost({
      files: { "a.json": "{}" },
      input: "in",
      stdoutFails: { code: "EPIPE" },
    });
    await expect(host.stdout.write("x")).rejects.toMatchObject({ code: "EPIPE" });
    await host.stderr.write("talk");
    const before = host.now();
    await host.sleep(5000);
    expect([host.out, host.err, host.now() - before]).toEqual(["", "talk", 5000]);
    expect(Buffer.from(await host.readFile("a.json")).toString()).toBe("{}");
    await expect(host.readFile("b.json")).rejects.toMatchObject({ code: "ENOENT" });
    host.interrupt();
    await expect(host.sleep(1, host.interrupted)).rejects.toThrow("SIGINT");
  });

  test("a pseudo-terminal has its size, is a terminal on all sides, and takes answers", async () => {
    const script =
      'stty size; test -t 0 && test -t 1 && test -t 2 && echo terminal; read -r name; echo "hello $name"; exit 3';
    const pty = startInPty(["sh", "-c", script], { columns: 100, rows: 30 });
    await pty.waitFor(/terminal/);
    pty.type("you\r");
    const { code, text } = await pty.exit;
    expect(text).toContain("30 100\n");
    expect(text).toContain("hello you\n");
    expect(code).toBe(3);
  });

  test("the program can be started on one", async () => {
    expect(await vaultInPty(["--version"]).exit).toMatchObject({
      code: 0,
      text: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) as string,
    });
  });
});
