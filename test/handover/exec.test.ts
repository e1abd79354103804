import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { passContents } from "../../src/handover/pass-on.ts";
import type { GetDocument } from "../../src/documents/exchange.ts";
import { HandoverFailure } from "../../src/exchange/recovery.ts";
import { fakeBasics, fakeHost } from "../support/fake-host.ts";
import { tempDir } from "../support/cleanup.ts";

const uuid = "123e4567-e89b-42d3-a456-426614174000";
const document: GetDocument = {
  uuid,
  label: "spare card",
  vault: { uuid, creditCard: { number: "4111111111111111" } },
  kind: "credit-card/offline",
  exchange: {
    id: "01JD3N8QW2X5B7C9D1E3F5G7H9",
    operation: "get",
    externalRef: "ref",
    startedAt: "2026-11-21T12:00:00Z",
    tokenExpiry: null,
    generation: 2,
    by: null,
  },
  settled: [],
};
const apiKey = "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee";

/** Runs a command in a folder of its own; tells what it left, and how it failed. */
async function run(
  command: string,
  { timeoutMs = 20_000, label = document.label, killed = false } = {},
) {
  const cwd = tempDir();
  const host = fakeHost({
    cwd,
    env: {
      PATH: process.env["PATH"],
      VAULTSVC_API_KEY: apiKey,
      OTHER: `x${apiKey}`,
      HARMLESS: "yes",
    },
  });
  const app = fakeBasics(host, { timeout: timeoutMs });
  for (const secret of [apiKey, "4111111111111111"]) app.io.redactor.add(secret);
  const running = passContents(
    app,
    { options: { vaults: [uuid], exec: command }, run: "payday" },
    { ...document, label },
  );
  if (killed) setTimeout(() => host.kill(), 100);
  const failure = await running.then(
    () => undefined,
    (error: unknown) => error,
  );
  await host.flush();
  return { failure, err: host.err, file: (name: string) => readFileSync(join(cwd, name), "utf8") };
}

describe("--exec", () => {
  it("receives the document, and in its environment the vault and what names this delivery; none of our secrets", async () => {
    const { failure, file } = await run("cat > document; env > env");
    expect(failure).toBeUndefined();
    expect(file("document")).toBe(`${JSON.stringify(document)}\n`);
    const env = file("env").split("\n");
    expect(env).toContain(`VAULTSVC_VAULT_UUID=${uuid}`);
    expect(env).toContain("VAULTSVC_VAULT_LABEL=spare card");
    expect(env).toContain(`VAULTSVC_DELIVERY_ID=payday-${uuid}`);
    expect(env).toContain("HARMLESS=yes");
    expect(file("env")).not.toContain(apiKey);
    expect((await run('cat >/dev/null; echo "<$VAULTSVC_VAULT_LABEL>"', { label: null })).err).toBe(
      "<>\n",
    );
  });

  it.each([
    {
      how: "is killed",
      command: "cat >/dev/null; kill -TERM $$",
      why: "--exec failed with SIGTERM",
    },
    {
      how: "is interrupted by a second signal",
      command: "cat >/dev/null; sleep 60",
      why: "--exec was interrupted and stopped",
      killed: true,
    },
  ])(
    "that $how holds the exchange: not delivered, and no save is owed",
    async ({ command, why, ...more }) => {
      const { failure } = await run(command, more);
      expect(failure).toBeInstanceOf(HandoverFailure);
      expect(failure).toMatchObject({
        reason: "exec",
        message: why,
        delivered: false,
      });
    },
  );
});
