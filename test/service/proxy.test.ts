import { describe, expect, test } from "vitest";
import type { Proxy } from "../../src/service/causes.ts";
import { startProxy } from "../support/proxies.ts";
import { certificateAuthority, selfSigned } from "../support/keys.ts";
import {
  answeringTcp,
  clientOf,
  closed,
  endCall,
  freePort,
  httpServer,
  json,
  never,
  startCall,
  success,
  tcpServer,
} from "../support/servers.ts";

const answered = { type: "answer", answer: { httpStatus: 200, body: success } };
const proxyAt = (url: string, source = "HTTPS_PROXY"): Proxy => ({ url: new URL(url), source });
const authority = certificateAuthority();
const trusting = { ca: [authority.cert] };

/** A service whose name only the proxy can resolve. */
const hidden = async () => await httpServer(undefined, authority.issue({ dns: "vault.example" }));

describe("an https service through a proxy", () => {
  test("both calls of an exchange go through one tunnel, and the proxy sees the address alone", async () => {
    const service = await hidden();
    const proxy = await startProxy({ hosts: { "vault.example": service.port } });
    const client = clientOf("https://vault.example", { ...trusting, proxy: proxyAt(proxy.url) });
    expect(await client.call(startCall, never)).toEqual(answered);
    expect(await client.call(endCall, never)).toEqual(answered);
    expect(proxy.asked).toEqual(["CONNECT vault.example:443"]);
    expect([proxy.connections.length, service.connections.length]).toEqual([1, 1]);
    expect(
      service.requests.map(({ headers }) => [headers.host, headers["proxy-authorization"]]),
    ).toEqual([
      ["vault.example", undefined],
      ["vault.example", undefined],
    ]);
  });

  test("a tunnel that ended between the calls is replaced", async () => {
    const service = await hidden();
    const proxy = await startProxy({ hosts: { "vault.example": service.port } });
    const client = clientOf("https://vault.example:8443", {
      ...trusting,
      proxy: proxyAt(proxy.url),
    });
    await client.call(startCall, never);
    service.connections[0]?.end();
    await closed(proxy.connections[0]);
    expect(await client.call(endCall, never)).toEqual(answered);
    expect(proxy.asked).toEqual(["CONNECT vault.example:8443", "CONNECT vault.example:8443"]);
  });

  test("credentials, percent-encoded in the URL", async () => {
    const service = await hidden();
    const proxy = await startProxy({
      hosts: { "vault.example": service.port },
      credentials: "ada:p@ss/wörd",
    });
    const url = proxy.url.replace("//", `//ada:${encodeURIComponent("p@ss/wörd")}@`);
    expect(
      await clientOf("https://vault.example", { ...trusting, proxy: proxyAt(url) }).call(
        startCall,
        never,
      ),
    ).toEqual(answered);
  });

  test("on one host with the service and its session tickets: the service's certificate is verified all the same", async () => {
    const tickets = { ticketKeys: Buffer.alloc(48, 3) };
    const [own, untrusted] = [
      { ...authority.issue(), ...tickets },
      { ...selfSigned(), ...tickets },
    ];
    const service = await httpServer(undefined, untrusted);
    const proxy = await startProxy({ hosts: { localhost: service.port }, certificate: own });
    const url = proxy.url.replace("127.0.0.1", "localhost");
    const client = clientOf("https://localhost", { ...trusting, proxy: proxyAt(url) });
    expect(await client.call(startCall, never)).toMatchObject({
      type: "not-sent",
      cause: "certificate of localhost:443 is not trusted: self-signed certificate",
    });
    expect(service.requests).toEqual([]);
  });

  test("a proxy that speaks TLS, with a certificate of its own", async () => {
    const service = await hidden();
    const proxy = await startProxy({
      hosts: { "vault.example": service.port },
      certificate: authority.issue(),
    });
    const client = clientOf("https://vault.example", { ...trusting, proxy: proxyAt(proxy.url) });
    expect(await client.call(startCall, never)).toEqual(answered);
    expect(proxy.asked).toEqual(["CONNECT vault.example:443"]);
  });

  test("a connection that breaks after the start was written is no answer, not a proxy's failure", async () => {
    const service = await httpServer(
      (_, response) => response.destroy(),
      authority.issue({ dns: "vault.example" }),
    );
    const proxy = await startProxy({ hosts: { "vault.example": service.port } });
    const reply = await clientOf("https://vault.example", {
      ...trusting,
      proxy: proxyAt(proxy.url),
    }).call(startCall, never);
    expect(reply).toMatchObject({
      type: "no-answer",
      cause: expect.stringContaining("vault.example:443 before it responded") as string,
    });
    expect(service.requests).toHaveLength(1);
  });
});

describe("a proxy that does not lead to the service: surely not sent, with the proxy and its setting named", () => {
  async function reply(proxy: string, source?: string, timeoutMs = 10_000) {
    return await clientOf("https://vault.example", {
      ...trusting,
      timeoutMs,
      proxy: proxyAt(proxy, source),
    }).call(startCall, never);
  }
  const hint = (source: string): string =>
    `check ${source} (http://USER:PASSWORD@HOST:PORT, percent-encoded), --base-url, and --ca FILE for the certificate of an https: proxy; if the service can be reached without one: NO_PROXY=vault.example, and no --proxy`;

  test("it asks for credentials", async () => {
    const proxy = await startProxy({ credentials: "ada:secret" });
    expect(await reply(proxy.url)).toEqual({
      type: "not-sent",
      cause: `the proxy ${proxy.host} does not connect to vault.example:443 (HTTP 407)`,
      hint: hint("HTTPS_PROXY"),
    });
    // Wrong ones are not shown.
    const wrong = await reply(proxy.url.replace("//", "//ada:wrong-word@"), "--proxy");
    expect(wrong).toEqual({
      type: "not-sent",
      cause: `the proxy ${proxy.host} does not connect to vault.example:443 (HTTP 407)`,
      hint: hint("--proxy"),
    });
  });

  test.each([403, 502, 302])("HTTP %i", async (refuses) => {
    const proxy = await startProxy({ refuses });
    expect(await reply(proxy.url)).toEqual({
      type: "not-sent",
      cause: `the proxy ${proxy.host} does not connect to vault.example:443 (HTTP ${refuses})`,
      hint: hint("HTTPS_PROXY"),
    });
  });

  test("nobody listens there", async () => {
    const port = await freePort();
    expect(await reply(`http://127.0.0.1:${port}`, "config key proxy")).toEqual({
      type: "not-sent",
      cause: `connection refused by the proxy 127.0.0.1:${port}`,
      hint: hint("config key proxy"),
    });
  });

  test("its name does not exist", async () => {
    expect(await reply("http://proxy.invalid:3128", "--proxy")).toMatchObject({
      type: "not-sent",
      // A machine without a network has no name server to ask.
      cause: expect.stringMatching(
        /^(no such host|cannot look up) the proxy proxy\.invalid:3128/,
      ) as string,
      hint: hint("--proxy"),
    });
  });

  test("it closes the connection, or speaks something else", async () => {
    const closing = await tcpServer((socket) => socket.destroy());
    expect(await reply(closing.url)).toMatchObject({
      type: "not-sent",
      cause: `connection closed by the proxy ${closing.host} before the request was sent`,
    });
    const other = await answeringTcp((socket) => socket.end("SSH-2.0-nothing\r\n"));
    expect(await reply(other.url)).toMatchObject({
      type: "not-sent",
      cause: expect.stringContaining(`the proxy ${other.host}`) as string,
      hint: hint("HTTPS_PROXY"),
    });
    // One attempt each.
    expect([closing.connections.length, other.connections.length]).toEqual([1, 1]);
  });

  test("TLS to a proxy that speaks none, or whose certificate is not trusted", async () => {
    const plain = await startProxy();
    expect(await reply(plain.url.replace("http:", "https:"))).toMatchObject({
      type: "not-sent",
      cause: `no TLS connection to the proxy ${plain.host}: it does not speak TLS 1.2 or newer`,
      hint: hint("HTTPS_PROXY"),
    });
    const unknown = await startProxy({ certificate: selfSigned() });
    expect(await reply(unknown.url)).toMatchObject({
      type: "not-sent",
      cause: `certificate of the proxy ${unknown.host} is not trusted: self-signed certificate`,
      hint: expect.stringContaining("--ca FILE") as string,
    });
    const elsewhere = await startProxy({ certificate: authority.issue({ ip: "10.1.1.1" }) });
    expect(await reply(elsewhere.url)).toMatchObject({
      type: "not-sent",
      cause: expect.stringContaining(
        `certificate of the proxy ${elsewhere.host} is not trusted`,
      ) as string,
    });
    expect(elsewhere.connections).toHaveLength(1);
  });

  test("it does not answer in time: the attempt is ended", async () => {
    const silent = await tcpServer((socket) => socket.resume());
    expect(await reply(silent.url, "HTTPS_PROXY", 60)).toEqual({
      type: "not-sent",
      cause: `no connection to vault.example:443 through the proxy ${silent.host} within 60ms`,
      hint: "check the network, HTTPS_PROXY and --base-url, or raise --timeout",
    });
    await closed(silent.connections[0]);
  });

  test("the service behind it does not answer in time: the attempt is ended too", async () => {
    const silent = await tcpServer((socket) => socket.resume());
    const proxy = await startProxy({ hosts: { "vault.example": silent.port } });
    expect(await reply(proxy.url, "HTTPS_PROXY", 1000)).toMatchObject({
      type: "not-sent",
      cause: expect.stringContaining("within 1s") as string,
    });
    expect(proxy.asked).toEqual(["CONNECT vault.example:443"]);
    await closed(proxy.connections[0]);
  });

  test("the service behind it is not the one: its certificate is, by its issuer and by its name", async () => {
    const stranger = await httpServer(undefined, selfSigned({ dns: "vault.example" }));
    const proxy = await startProxy({ hosts: { "vault.example": stranger.port } });
    expect(await reply(proxy.url)).toMatchObject({
      type: "not-sent",
      cause: "certificate of vault.example:443 is not trusted: self-signed certificate",
      hint: expect.stringMatching(/--ca FILE.*it may be the proxy's own \(HTTPS_PROXY\)/) as string,
    });
    const other = await httpServer(undefined, authority.issue({ dns: "other.example" }));
    const leading = await startProxy({ hosts: { "vault.example": other.port } });
    expect(await reply(leading.url)).toMatchObject({
      type: "not-sent",
      cause: expect.stringMatching(
        /^certificate of vault\.example:443 is not trusted: .*other\.example/,
      ) as string,
    });
    expect([...stranger.requests, ...other.requests]).toEqual([]);
  });
});

describe("an http service through a proxy", () => {
  test("it goes through a tunnel as well; both calls use one connection", async () => {
    const service = await httpServer();
    const proxy = await startProxy({
      hosts: { "vault.example": service.port },
      credentials: "ada:secret",
    });
    const client = clientOf("http://vault.example:8080", {
      proxy: proxyAt(proxy.url.replace("//", "//ada:secret@"), "HTTP_PROXY"),
    });
    expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
    expect(await client.call(endCall, never)).toMatchObject({ type: "answer" });
    expect(proxy.asked).toEqual(["CONNECT vault.example:8080"]);
    expect(proxy.connections).toHaveLength(1);
    expect(service.requests.map(({ headers }) => headers.host)).toEqual([
      "vault.example:8080",
      "vault.example:8080",
    ]);
  });

  test.each([403, 502])(
    "an answer of the proxy's own, HTTP %i, is no answer of the service: not sent",
    async (refuses) => {
      const proxy = await startProxy({ refuses });
      const client = clientOf("http://vault.example", { proxy: proxyAt(proxy.url, "HTTP_PROXY") });
      expect(await client.call(startCall, never)).toMatchObject({
        type: "not-sent",
        cause: `the proxy ${proxy.host} does not connect to vault.example:80 (HTTP ${refuses})`,
      });
    },
  );

  test("407 is the proxy's own: not sent", async () => {
    const proxy = await startProxy({ credentials: "ada:secret" });
    const client = clientOf("http://vault.example", { proxy: proxyAt(proxy.url, "HTTP_PROXY") });
    expect(await client.call(startCall, never)).toMatchObject({
      type: "not-sent",
      cause: `the proxy ${proxy.host} does not connect to vault.example:80 (HTTP 407)`,
      hint: expect.stringContaining("check HTTP_PROXY (http://USER:PASSWORD@") as string,
    });
  });

  test("a page that comes with its consent is the proxy's own: not sent, and asked for once", async () => {
    const proxy = await answeringTcp((socket) =>
      socket.write("HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>"),
    );
    const client = clientOf("http://vault.example", { proxy: proxyAt(proxy.url, "HTTP_PROXY") });
    expect(await client.call(startCall, never)).toMatchObject({
      type: "not-sent",
      cause: `the proxy ${proxy.host} does not connect to vault.example:80 (HTTP 200)`,
    });
    expect(proxy.connections).toHaveLength(1);
  });

  test("a proxy that cannot be reached is named", async () => {
    const plain = await startProxy();
    const client = clientOf("http://vault.example", {
      proxy: proxyAt(plain.url.replace("http:", "https:"), "HTTP_PROXY"),
    });
    expect(await client.call(startCall, never)).toMatchObject({
      type: "not-sent",
      cause: `no TLS connection to the proxy ${plain.host}: it does not speak TLS 1.2 or newer`,
    });
  });

  test("a 407 of the service itself is its answer", async () => {
    const service = await httpServer(json(407, success));
    expect(await clientOf(service.url).call(startCall, never)).toMatchObject({
      type: "answer",
      answer: { httpStatus: 407 },
    });
  });
});
