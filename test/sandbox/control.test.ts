import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { connectControl } from "../../src/sandbox/control/client.ts";
import { refuseForeign } from "../../src/sandbox/server/server.ts";
import type { ReadyFile } from "../../src/sandbox/control/ready.ts";
import type { KnownVault } from "../../src/sandbox/model/vaults.ts";
import { startSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import {
  anyText,
  containing,
  end,
  nth,
  request,
  running,
  start,
  target,
  temporaryFolder,
} from "./support.ts";

describe("foreign requests", () => {
  test.each([
    "localhost",
    "localhost:8080",
    "LOCALHOST:1",
    "127.0.0.1:80",
    "127.8.9.255",
    "[::1]",
    "[::1]:443",
  ])("Host %s may come in", (host) => {
    expect(refuseForeign({ host })).toBeUndefined();
  });

  test.each([
    "example.org",
    "localhost.example.org",
    "127.0.0.1.example.org",
    "127.0.0.256",
    "10.0.0.1:80",
    "::1",
    "[::2]",
    "",
    "localhost:80:80",
    "0.0.0.0",
  ])("Host %j is refused", (host) => {
    expect(refuseForeign({ host })).toMatch(/Host/);
  });

  test("a foreign Host and any Origin are refused on every route, before anything is counted", async () => {
    const sandbox = await running();
    const vault = nth(sandbox, 1);
    const authorization = `Bearer ${sandbox.controlToken}`;
    for (const headers of [
      { host: "example.org" },
      { origin: "http://localhost" },
      { origin: "null" },
    ]) {
      expect(
        (await request(sandbox, "POST", target(vault, "get-start"), "{}", headers)).status,
      ).toBe(403);
      expect(
        (await request(sandbox, "POST", "/sandbox/reset", "", { ...headers, authorization }))
          .status,
      ).toBe(403);
    }
    expect(sandbox.sandbox.requests()).toEqual([]);
  });
});

describe("the control routes", () => {
  test("need the token", async () => {
    const sandbox = await running();
    for (const headers of [
      {},
      { authorization: "Bearer wrong" },
      { authorization: sandbox.controlToken },
    ]) {
      expect((await request(sandbox, "GET", "/sandbox/audit", "", headers)).status).toBe(401);
    }
    const authorization = `Bearer ${sandbox.controlToken}`;
    expect((await request(sandbox, "GET", "/sandbox/audit", "", { authorization })).status).toBe(
      200,
    );
    expect((await request(sandbox, "GET", "/sandbox/nothing", "", { authorization })).status).toBe(
      404,
    );
    expect((await request(sandbox, "GET", "/sandbox/toString", "", { authorization })).status).toBe(
      404,
    );
    for (const body of ["{", "1", '{"faults":1}', '{"faults":["end:cut", null]}']) {
      const refused = await request(sandbox, "POST", "/sandbox/faults", body, { authorization });
      expect(refused.status).toBe(400);
    }
    expect(sandbox.faults.armed).toBe(0);
  });

  test("lock, unlock, inspect, fault, audit and reset from another process", async () => {
    const readyFile = path.join(temporaryFolder(), "ready.json");
    const sandbox = await running({ readyFile });
    const vault = nth(sandbox, 3);
    const client = connectControl(readyFile);
    expect(await client.lock(vault.uuid)).toMatchObject({ state: "locked", lockReason: "console" });
    expect((await start(sandbox, vault)).status).toBe(423);
    expect(await client.unlock(vault.uuid)).toMatchObject({ state: "active" });
    const started = await start(sandbox, vault);
    await end(sandbox, vault, started.body.transactionToken?.token ?? "");
    const seen = JSON.stringify(await client.inspect(vault.uuid));
    expect(JSON.parse(seen)).toMatchObject({ usesRemaining: 2, counts: { acknowledged: 1 } });
    expect(seen).not.toContain("three times");
    expect(seen).not.toContain(sandbox.sandbox.inspect(vault.uuid).pair.payload);
    expect((await client.audit()).map(({ action }) => action).slice(-2)).toEqual([
      "READ_VAULT",
      "ACKNOWLEDGE_READ_VAULT",
    ]);

    expect(await client.addFaults(["any:status=503*all"])).toBe(1);
    expect((await start(sandbox, vault)).status).toBe(503);
    await client.clearFaults();
    expect((await start(sandbox, vault)).status).toBe(403);
    await client.addFaults(["any:status=503*all"]);
    expect(await client.reset()).toBe(5);
    expect(await client.audit()).toHaveLength(5);
    const { vaults } = JSON.parse(fs.readFileSync(readyFile, "utf8")) as { vaults: KnownVault[] };
    const renewed = vaults.find(({ uuid }) => uuid === vault.uuid) ?? vault;
    expect((await start(sandbox, vault)).status).toBe(403);
    expect((await start(sandbox, renewed)).body.vault).toMatchObject({ usesRemaining: 3 });
    expect((await client.inspect(vault.uuid)).counts).toMatchObject({ starts: 1, failed: 1 });
  });

  test("failures are told clearly", async () => {
    const folder = temporaryFolder();
    const readyFile = path.join(folder, "ready.json");
    await expect(connectControl(readyFile).reset()).rejects.toMatchObject({
      code: "usage",
      message: containing("no such file"),
    });
    fs.writeFileSync(readyFile, "{}");
    await expect(connectControl(readyFile).reset()).rejects.toMatchObject({
      code: "usage",
      message: containing("not the ready file"),
    });
    fs.writeFileSync(readyFile, '{"baseUrl":"http://example.org:80","controlToken":"x"}');
    await expect(connectControl(readyFile).reset()).rejects.toMatchObject({ code: "usage" });
    const sandbox = await running({ readyFile });
    await expect(connectControl(readyFile).lock("0".repeat(36))).rejects.toMatchObject({
      code: "invalid-input",
    });
    const other = path.join(folder, "other.json");
    fs.writeFileSync(other, JSON.stringify({ baseUrl: sandbox.baseUrl, controlToken: "x" }));
    await expect(connectControl(other).reset()).rejects.toMatchObject({ code: "unauthorized" });
    const left = fs.readFileSync(readyFile);
    await sandbox.close();
    expect(fs.existsSync(readyFile)).toBe(false);
    fs.writeFileSync(readyFile, left);
    await expect(connectControl(readyFile).reset()).rejects.toMatchObject({
      code: "network",
      // Another process may have been given the port meanwhile.
      message: expect.stringMatching(/nothing listens|no answer/) as string,
    });
  });

  test("the ready file is for its owner alone and holds the document and the token", async () => {
    const readyFile = path.join(temporaryFolder(), "ready.json");
    fs.writeFileSync(readyFile, "old", { mode: 0o644 });
    const sandbox = await running({ readyFile });
    expect(fs.statSync(readyFile).mode & 0o777).toBe(0o600);
    const written = JSON.parse(fs.readFileSync(readyFile, "utf8")) as ReadyFile;
    const { baseUrl, application, vaults, controlToken } = sandbox;
    expect(written).toEqual({ baseUrl, application, vaults, controlToken });
    expect(Object.keys(written)).toEqual(["baseUrl", "application", "vaults", "controlToken"]);
    expect(written.vaults[0]).toMatchObject({
      label: "demo online card",
      device: { browserType: "Firefox" },
      credentials: { hashedPin: anyText },
    });
  });

  test("a ready file that cannot be written stops the start", async () => {
    const readyFile = path.join(temporaryFolder(), "nowhere", "ready.json");
    await expect(startSandbox({ now: () => 0, readyFile })).rejects.toMatchObject({
      code: "state",
    });
  });
});
