import http from "node:http";
import { describe, expect, test } from "vitest";
import { parseFault } from "../../src/sandbox/faults.ts";
import { demoSeed } from "../../src/sandbox/seeds.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { containing, end, nth, running, start, target } from "./support.ts";

describe("over sockets", () => {
  test("every demo vault is read, both calls on one connection", async () => {
    const sandbox = await running();
    expect(sandbox.vaults.map(({ kind }) => kind)).toEqual([
      "credit-card/online",
      "credit-card/offline",
      "generic/offline",
      "generic/offline",
      "generic/online",
    ]);
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const ports = new Set<number | undefined>();
    agent.on("free", (socket: { localPort?: number }) => ports.add(socket.localPort));
    for (const vault of sandbox.vaults) {
      const started = await start(sandbox, vault, agent);
      expect(started.body.responseStatus?.status).toBe("SUCCESS");
      expect(
        (await end(sandbox, vault, started.body.transactionToken?.token ?? "", agent)).status,
      ).toBe(200);
      expect(sandbox.sandbox.inspect(vault.uuid).counts.acknowledged).toBe(1);
    }
    agent.destroy();
    expect(ports.size).toBeLessThanOrEqual(1);
  });

  test.each([
    ["drop-before", 0],
    ["drop-after", 1],
    ["cut", 1],
  ])("%s ends the connection", async (fault, starts) => {
    const sandbox = await running({ faults: [parseFault(`start:${fault}`)] });
    const vault = nth(sandbox, 1);
    await expect(start(sandbox, vault)).rejects.toThrow(/socket hang up|ECONNRESET|aborted/);
    expect(sandbox.sandbox.inspect(vault.uuid).counts.starts).toBe(starts);
    expect((await start(sandbox, vault)).status).toBe(200);
  });

  test("cut sends half of the answer", async () => {
    const sandbox = await running({ faults: [parseFault("start:cut")] });
    const vault = nth(sandbox, 2);
    const { application } = sandbox;
    const response = await fetch(`${sandbox.baseUrl}${target(vault, "get-start")}`, {
      method: "POST",
      body: JSON.stringify({ application, vault: { credentials: vault.credentials } }),
    });
    expect(response.status).toBe(200);
    const received: Uint8Array[] = [];
    const read = async () => {
      for await (const chunk of response.body ?? []) received.push(chunk as Uint8Array);
    };
    await expect(read()).rejects.toThrow(/terminated/);
    const length = Number(response.headers.get("content-length"));
    expect(Buffer.concat(received).length).toBe(Math.floor(length / 2));
  });

  test("hang answers nothing until the sandbox closes, which it does at once", async () => {
    const sandbox = await startSandbox({
      now: () => Date.now(),
      seed: demoSeed,
      faults: ["start:hang", "end:delay=1h"].map(parseFault),
    });
    const hanging = start(sandbox, nth(sandbox, 1)).catch((error: unknown) => error);
    const delayed = end(sandbox, nth(sandbox, 1), "token").catch((error: unknown) => error);
    await expect.poll(() => sandbox.sandbox.requests().length).toBe(2);
    await sandbox.close();
    expect(await hanging).toBeInstanceOf(Error);
    expect(await delayed).toBeInstanceOf(Error);
    await sandbox.close();
  });

  test("delay and latency answer later", async () => {
    const sandbox = await running({ latencyMs: 20, faults: [parseFault("start:delay=30ms")] });
    const begun = performance.now();
    expect((await start(sandbox, nth(sandbox, 1))).status).toBe(200);
    expect(performance.now() - begun).toBeGreaterThanOrEqual(48);
  });

  test("a port that is taken is a usage error that names --port", async () => {
    const sandbox = await running();
    const port = Number(new URL(sandbox.baseUrl).port);
    await expect(startSandbox({ now: () => 0, port })).rejects.toMatchObject({
      code: "usage",
      message: containing(`--port ${port}`),
    });
  });
});
