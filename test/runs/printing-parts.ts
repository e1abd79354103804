import { dataStream, messageStream } from "../../src/terminal/streams.ts";
import { fakeBasics, fakeHost } from "../support/fake-host.ts";

export interface PartsOptions {
  isTTY?: boolean;
  columns?: number;
  format?: "table" | "json" | "ndjson";
  field?: string;
  quiet?: boolean;
  verbose?: boolean;
  stdoutFails?: { code: string };
}

/** The parts of the program that print, on a screen that stdout, stderr and the progress line share. */
export function printingParts(options: PartsOptions = {}) {
  const {
    isTTY = false,
    columns = 80,
    format = "table",
    field,
    quiet = false,
    verbose = false,
    stdoutFails,
  } = options;
  const facts = { isTTY, columns, color: false };
  const written = { screen: "", stdout: [] as string[], stderr: "" };
  const stdout = dataStream({
    facts,
    signal: () => undefined,
    openWriter: () => async (bytes) => {
      if (stdoutFails !== undefined) throw Object.assign(new Error("write"), stdoutFails);
      written.stdout.push(Buffer.from(bytes).toString());
      written.screen += written.stdout.at(-1);
    },
  });
  const stderr = messageStream({
    facts,
    signal: () => undefined,
    openWriter: () => async (bytes) => {
      written.stderr += Buffer.from(bytes).toString();
      written.screen += Buffer.from(bytes).toString();
    },
  });
  let elapsed = 0;
  const output = {
    columns,
    write: (text: string) => (written.screen += text),
  } as unknown as NodeJS.WriteStream;
  const host = Object.assign(fakeHost(), {
    stdout,
    stderr,
    elapsed: () => elapsed,
    terminal: () => ({ input: process.stdin, output }),
  });
  const app = fakeBasics(
    host,
    { rate: 25, output: format },
    { quiet, verbose, reveal: true, ...(field === undefined ? {} : { field }) },
  );
  const pass = (milliseconds: number): void => void (elapsed += milliseconds);
  return { app, written, pass, flush: async () => await stderr.flush() };
}

/** What stands on the screen: of each line, what was written after the last return to its begin. */
export const shown = (screen: string): string =>
  screen
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r") + 1).replaceAll("\u001B[K", ""))
    .join("\n");

export const uuid = (n: number): string => `123e4567-e89b-42d3-a456-${String(n).padStart(12, "0")}`;
