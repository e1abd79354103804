import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect, promisify } from "node:util";
import { rolldown } from "rolldown";
import { expect, onTestFinished, test } from "vitest";
import { trimUndici } from "../../packaging/undici.ts";
import { endCall, httpServer } from "../support/servers.ts";
import { application } from "../support/examples.ts";

const execute = promisify(execFile);
const run = (...args: string[]) => execute(process.execPath, args, { timeout: 120_000 });
const client = join(import.meta.dirname, "../../src/service/client.ts");

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "vault-loading-"));
  onTestFinished(() => rmSync(path, { recursive: true }));
  return path;
}

/** A program that makes one call, prints the outcome and exits without closing anything. */
const program = (url: string): string => `
  import { createClient } from ${JSON.stringify(client)};
  const options = { service: ${JSON.stringify(url)}, version: "1", timeoutMs: 3600000, application: ${JSON.stringify(application)} };
  createClient(options)(${JSON.stringify(endCall)}, new AbortController().signal).then((reply) => console.log(reply.type));
`;

test("from source, by Node: an idle connection does not keep the process", async () => {
  const server = await httpServer();
  const { stdout } = await run("--input-type=module", "-e", program(server.url));
  expect(stdout).toBe("answer\n");
});

test.each([
  ["http", "answer\n", []],
  ["https", "not-sent\n", ["tls"]],
])(
  "bundled by rolldown to CommonJS, where TLS is loaded for https alone: %s",
  async (scheme, told, loaded) => {
    const server = await httpServer();
    const path = folder();
    const list = `process.on("exit", () => console.log(process.moduleLoadList.join(" ").match(/(?<=NativeModule )(tls|https|http2)\\b/g) ?? []));`;
    writeFileSync(join(path, "entry.mjs"), program(server.url.replace("http", scheme)) + list);
    const bundle = await rolldown({
      input: join(path, "entry.mjs"),
      platform: "node",
      plugins: [trimUndici()],
    });
    await bundle.write({ file: join(path, "out.cjs"), format: "cjs" });
    await bundle.close();
    const { stdout } = await run(join(path, "out.cjs"));
    expect(stdout).toBe(`${told}${inspect(loaded)}\n`);
  },
);
