import { expect, test } from "vitest";
import { reachService, type ReachOptions } from "../../src/service/client.ts";
import { startProxy } from "../support/proxies.ts";
import { certificateAuthority } from "../support/keys.ts";
import { answeringTcp, httpServer, json, never, tcpServer } from "../support/servers.ts";

const look = async (baseUrl: string, more: Partial<ReachOptions> = {}) =>
  await reachService(
    { service: `${baseUrl}/vaultsvc/v1-2`, timeoutMs: 5000, version: "1.2.3", ...more },
    never,
  );

test("any HTTP answer: status, the service's clock, no credentials sent", async () => {
  const server = await httpServer(json(404, {}, { date: "Sat, 21 Nov 2026 12:00:00 GMT" }));
  expect(await look(server.url)).toMatchObject({
    reached: true,
    httpStatus: 404,
    date: Date.parse("2026-11-21T12:00:00Z"),
  });
  expect(server.requests).toMatchObject([{ method: "HEAD", url: "/vaultsvc/v1-2", body: "" }]);
  expect(Object.keys(server.requests[0]?.headers ?? {}).sort()).toEqual([
    "connection",
    "host",
    "user-agent",
  ]);
});

test("TLS, through the proxy", async () => {
  const authority = certificateAuthority();
  const server = await httpServer(undefined, authority.issue({ dns: "vault.example" }));
  const { url, asked } = await startProxy({ hosts: { "vault.example": server.port } });
  const proxy = { url: new URL(url), source: "HTTPS_PROXY" };
  expect(await look("https://vault.example", { ca: [authority.cert], proxy })).toMatchObject({
    reached: true,
    httpStatus: 200,
  });
  expect(asked).toEqual(["CONNECT vault.example:443"]);
  expect(await look("https://vault.example", { proxy })).toMatchObject({
    reached: false,
    untrusted: true,
  });
});

test("no connection, no TLS, a broken answer, none in time: the cause and its hint", async () => {
  expect(await look("http://127.0.0.1:1")).toMatchObject({
    reached: false,
    cause: "connection refused by 127.0.0.1:1",
    type: "not-sent",
  });
  const plain = await httpServer();
  expect(await look(plain.url.replace("http:", "https:"))).toMatchObject({
    cause: expect.stringContaining("does not speak TLS") as string,
    untrusted: true,
  });
  const broken = await answeringTcp((socket) => socket.destroy());
  expect(await look(broken.url)).toMatchObject({
    cause: expect.stringContaining("before it responded") as string,
  });
  const silent = await tcpServer((socket) => socket.resume());
  expect(await look(silent.url, { timeoutMs: 1000 })).toMatchObject({
    cause: `timed out after 1s waiting for ${silent.host}`,
  });
});
