import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { rolldown } from "rolldown";
import { expect, onTestFinished, test } from "vitest";
import { application, endCall, httpServer } from "./servers.ts";

const execute = promisify(execFile);
const run = (...args: string[]) => execute(process.execPath, args, { timeout: 20_000 });
const client = join(import.meta.dirname, "../../src/service/client.ts");

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "vault-loading-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** A program that makes one call, prints the outcome and exits without closing anything. */
const program = (url: string): string => `
  import { createClient } from ${JSON.stringify(client)};
  const options = { baseUrl: ${JSON.stringify(url)}, apiPrefix: "/p", version: "1", timeoutMs: 3600000, application: ${JSON.stringify(application)} };
  createClient(options).end(${JSON.stringify(endCall)}, new AbortController().signal).then((reply) => console.log(reply.type));
`;

test("from source, by Node: an idle connection does not keep the process", async () => {
  const server = await httpServer();
  const { stdout } = await run("--input-type=module", "-e", program(server.url));
  expect(stdout).toBe("answer\n");
});

test("bundled by rolldown to CommonJS", async () => {
  const server = await httpServer();
  const path = folder();
  writeFileSync(join(path, "entry.mjs"), program(server.url));
  const bundle = await rolldown({ input: join(path, "entry.mjs"), platform: "node" });
  await bundle.write({ file: join(path, "out.cjs"), format: "cjs" });
  await bundle.close();
  const { stdout } = await run(join(path, "out.cjs"));
  expect(stdout).toBe("answer\n");
});

test("nothing of undici but its client path is loaded", async () => {
  const list = `
    await import(${JSON.stringify(client)});
    const { createRequire } = await import("node:module");
    console.log(JSON.stringify(Object.keys(createRequire("file:///x/").cache)));
  `;
  const { stdout } = await run("--input-type=module", "-e", list);
  const loaded = (JSON.parse(stdout) as string[]).map((path) => path.replace(/^.*\/node_modules\//, ""));
  expect(loaded).toContain("undici/lib/dispatcher/client.js");
  expect(
    loaded.filter((path) => /undici\/(index|lib\/(web|api|mock|handler|interceptor|cache|dispatcher\/(proxy|agent|pool|env)))/.test(path)),
  ).toEqual([]);
  expect(loaded.filter((path) => !path.startsWith("undici/"))).toEqual([]);
});
