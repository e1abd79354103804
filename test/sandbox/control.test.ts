import fs from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import type { AuditDocument, StartDocument } from "../../src/documents/sandbox.ts";
import { callSandbox, type RunningDocument } from "../../src/sandbox/control.ts";
import { refuseForeign, startSandbox } from "../../src/sandbox/server.ts";
import { httpServer } from "../support/servers.ts";
import { anyText, containing, end, nth, request, running, start, target } from "./support.ts";
import { tempDir } from "../support/cleanup.ts";

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

const content = "a secret";

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
    for (const [body, status] of [
      ["{", 400],
      ["1", 400],
      ['{"faults":1}', 400],
      ['{"faults":["end:cut", null]}', 400],
    ] as const) {
      const refused = await request(sandbox, "POST", "/sandbox/fault", body, { authorization });
      expect(refused.status).toBe(status);
    }
    expect(sandbox.faults.armed).toBe(0);
  });

  test("lock, unlock, fault, audit and reset from another process", async () => {
    const readyFile = path.join(tempDir(), "ready.json");
    const sandbox = await running({ readyFile });
    const vault = nth(sandbox, 3);
    const call = async (...[route, given]: [Parameters<typeof callSandbox>[1], object?]) =>
      await callSandbox(readyFile, route, given);
    const locked = await call(`POST lock/${encodeURIComponent(vault.label)}`);
    expect(locked).toMatchObject({ uuid: vault.uuid, status: "locked" });
    expect((await start(sandbox, vault)).status).toBe(423);
    expect(await call(`POST unlock/${vault.uuid}`)).toMatchObject({ status: "active" });
    const started = await start(sandbox, vault);
    await end(sandbox, vault, started.body.transactionToken?.token ?? "");
    const { uuid, label, kind } = vault;
    const shown = await call(`POST unlock/${vault.uuid}`);
    expect(shown).toEqual({ uuid, label, kind, status: "active" });
    const { items } = (await call("GET audit")) as AuditDocument;
    expect(items.map(({ action }) => action).slice(-2)).toEqual([
      "READ_VAULT",
      "ACKNOWLEDGE_READ_VAULT",
    ]);

    const always = { faults: ["any:status=503*all"] };
    expect(await call("POST fault", always)).toEqual({ armed: 1 });
    expect((await start(sandbox, vault)).status).toBe(503);
    expect(await call("POST fault", { faults: ["end:cut"], clear: true })).toEqual({ armed: 1 });
    expect((await start(sandbox, vault)).status).toBe(403);
    await call("POST fault", always);
    expect(await call("POST reset")).toEqual({ vaults: 5 });
    expect(await call("GET audit")).toMatchObject({ items: { length: 5 } });
    const { vaults } = JSON.parse(fs.readFileSync(readyFile, "utf8")) as StartDocument;
    const renewed = vaults.find(({ uuid }) => uuid === vault.uuid) ?? vault;
    expect((await start(sandbox, vault)).status).toBe(403);
    expect((await start(sandbox, renewed)).body.vault).toMatchObject({ usesRemaining: 3 });
  });

  test("none runs where a ready file leads to nothing, to something else or to another sandbox", async () => {
    const readyFile = path.join(tempDir(), "ready.json");
    const call = async () => await callSandbox(readyFile, "POST reset");
    expect(await call()).toBeNull();
    const sandbox = await running({ readyFile });
    const left = fs.readFileSync(readyFile);
    const { baseUrl, controlToken } = sandbox;
    for (const other of [{}, { baseUrl: "http://example.org:80", controlToken }, { baseUrl }]) {
      fs.writeFileSync(readyFile, JSON.stringify({ controlToken: "x", ...other }));
      expect(await call()).toBeNull();
    }
    fs.writeFileSync(readyFile, left);
    await sandbox.close();
    expect(fs.existsSync(readyFile)).toBe(false);
    fs.writeFileSync(readyFile, left);
    expect(await call()).toBeNull();
    const { url } = await httpServer((_, response) => response.end("<html>"));
    fs.writeFileSync(readyFile, JSON.stringify({ baseUrl: url, controlToken }));
    expect(await call()).toBeNull();
  });

  test("what it refuses is said as it says it", async () => {
    const readyFile = path.join(tempDir(), "ready.json");
    await running({
      readyFile,
      seed: ["one", "twice", "twice"].map((label) => ({ kind: "generic/offline", label, content })),
    });
    const refused: [Parameters<typeof callSandbox>[1], object, string][] = [
      [`POST lock/${"0".repeat(36)}`, {}, "no vault 000"],
      ["POST lock/none", {}, "no vault none; nothing was changed"],
      ["POST lock/twice", {}, "2 vaults with the label twice; nothing was changed"],
      ["POST fault", { faults: ["start:explode"], clear: true }, "must be TARGET[/UUID]:ACTION"],
    ];
    for (const [route, given, message] of refused)
      await expect(callSandbox(readyFile, route, given)).rejects.toMatchObject({
        code: "invalid-input",
        message: containing(message),
      });
  });

  test("the ready file is for its owner alone and holds the document and the token", async () => {
    const readyFile = path.join(tempDir(), "ready.json");
    fs.writeFileSync(readyFile, "old", { mode: 0o644 });
    const sandbox = await running({ readyFile });
    expect(fs.statSync(readyFile).mode & 0o777).toBe(0o600);
    const written = JSON.parse(fs.readFileSync(readyFile, "utf8")) as RunningDocument;
    const { baseUrl, application, vaults, apiPrefix, controlToken } = sandbox;
    expect(written).toEqual({ baseUrl, application, vaults, apiPrefix, controlToken });
    expect(written.vaults[0]).toMatchObject({
      label: "demo online card",
      device: { browserType: "Firefox" },
      credentials: { hashedPin: anyText },
    });
  });

  test.skipIf(!fs.existsSync("/proc/self/fd"))(
    "the folder of a ready file is not made again where it is there: what is above may not be ours to open",
    async () => {
      const folder = fs.openSync(tempDir(), "r");
      // What cannot be synced stands for what cannot be read, which a test of root cannot have.
      const { controlToken } = await running({ readyFile: `/proc/self/fd/${folder}/ready.json` });
      const written = fs.readFileSync(`/proc/self/fd/${folder}/ready.json`, "utf8");
      expect(written).toContain(controlToken);
      fs.closeSync(folder);
    },
  );

  test("a ready file that cannot be written stops the start", async () => {
    const readyFile = path.join("/dev/null", "ready.json");
    await expect(startSandbox({ now: () => 0, readyFile })).rejects.toMatchObject({
      code: "state",
    });
  });
});
