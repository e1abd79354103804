import tls from "node:tls";
import { once } from "node:events";
import { createServer as createTlsServer, getCACertificates } from "node:tls";
import { createServer } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { connectCause } from "../../src/service/causes.ts";
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
  onLoopback,
  startCall,
  success,
  tcpServer,
} from "../support/servers.ts";

describe("no connection: surely not sent", () => {
  test("refused", async () => {
    const port = await freePort();
    expect(await clientOf(`http://127.0.0.1:${port}`).call(startCall, never)).toEqual({
      type: "not-sent",
      cause: `connection refused by 127.0.0.1:${port}`,
      hint: "check --base-url and that the service is running",
    });
  });

  test("refused on every address of a name", async () => {
    const port = await freePort();
    expect(await clientOf(`http://localhost:${port}`).call(startCall, never)).toMatchObject({
      type: "not-sent",
      cause: `connection refused by localhost:${port}`,
    });
  });

  test("a name that does not exist", async () => {
    const reply = await clientOf("http://host.invalid:4000").call(startCall, never);
    // A machine without a network has no name server to ask.
    expect(reply).toMatchObject({
      type: "not-sent",
      cause: expect.stringMatching(/^no such host host\.invalid:4000$|^cannot look up/) as string,
    });
  });

  test("the service is back: the next call connects", async () => {
    const port = await freePort();
    const client = clientOf(`http://127.0.0.1:${port}`);
    expect(await client.call(startCall, never)).toMatchObject({ type: "not-sent" });
    const server = createServer((socket) =>
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"),
    ).listen(port, "127.0.0.1");
    await once(server, "listening");
    expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
    server.close();
  });

  test("a connection that does not come about in time", async () => {
    // TCP connects, but TLS never answers.
    const server = await tcpServer((socket) => socket.resume(), "https");
    const reply = await clientOf(server.url, { timeoutMs: 500 }).call(startCall, never);
    expect(reply).toEqual({
      type: "not-sent",
      cause: `no connection to ${server.host} within 500ms`,
      hint: "check the network and --base-url, or raise --timeout",
    });
    // The attempt ends with the call: nothing keeps the process alive, and the next call connects again.
    await closed(server.connections[0]);
  });

  test.each([
    ["ECONNREFUSED", "connection refused by h.example:443"],
    ["ENOTFOUND", "no such host h.example:443"],
    ["EAI_AGAIN", "cannot look up h.example:443: no name server responds"],
    ["ECONNRESET", "connection closed by h.example:443 before the request was sent"],
    [
      "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION",
      "no TLS connection to h.example:443: it does not speak TLS 1.2 or newer",
    ],
    ["EMFILE", "too many files are open on this machine"],
  ])("%s", (code, cause) => {
    const route = { origin: new URL("https://h.example") };
    expect(connectCause(Object.assign(new Error("raw text"), { code }), route)).toMatchObject({
      cause,
    });
    expect(
      connectCause(new AggregateError([Object.assign(new Error("raw text"), { code })]), route),
    ).toMatchObject({ cause });
  });
});

describe("TLS", () => {
  const trust = (cert: string) => ({ ca: [...getCACertificates(), cert] });

  test("a certificate that is not trusted", async () => {
    const server = await httpServer(undefined, selfSigned());
    expect(await clientOf(server.url).call(startCall, never)).toEqual({
      type: "not-sent",
      cause: `certificate of ${server.host} is not trusted: self-signed certificate`,
      hint: "check --base-url and the clock; if you trust its issuer, add the issuer's certificate with --ca FILE (config key ca) or NODE_EXTRA_CA_CERTS",
      lasts: true,
      untrusted: true,
    });
    expect(server.requests).toHaveLength(0);
  });

  test("a certificate that is trusted by `ca`, with one HTTP/1.1 connection for both calls", async () => {
    const certificate = selfSigned();
    const server = await httpServer(undefined, certificate);
    const client = clientOf(server.url, trust(certificate.cert));
    expect(await client.call(startCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: 200, body: success },
    });
    expect(await client.call(endCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: 200, body: success },
    });
    expect(server.connections).toHaveLength(1);
  });

  test("HTTP/1.1 is all that is offered to a service that would rather speak HTTP/2", async () => {
    const certificate = selfSigned();
    const protocols: unknown[] = [];
    const server = createTlsServer(
      { ...certificate, ALPNProtocols: ["h2", "http/1.1"] },
      (socket) => {
        protocols.push(socket.alpnProtocol);
        socket.on("error", () => undefined);
        socket.on("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"));
      },
    );
    const port = await onLoopback(server);
    const client = clientOf(`https://127.0.0.1:${port}`, trust(certificate.cert));
    expect(await client.call(startCall, never)).toMatchObject({ type: "answer" });
    expect(protocols).toEqual(["http/1.1"]);
  });

  test.each([
    [
      "another name",
      { ip: "10.1.2.3", dns: "other.example" },
      "IP: 127.0.0.1 is not in the cert's list: 10.1.2.3",
    ],
    ["a time that is over", { to: "20210101000000Z" }, "certificate has expired"],
    ["a time to come", { from: "21100101000000Z" }, "certificate is not yet valid"],
  ])("a certificate for %s", async (_, options, reason) => {
    const certificate = selfSigned(options);
    const server = await httpServer(undefined, certificate);
    const reply = await clientOf(server.url, trust(certificate.cert)).call(startCall, never);
    expect(reply).toMatchObject({
      type: "not-sent",
      cause: expect.stringMatching(
        new RegExp(`^certificate of ${server.host} is not trusted: .*${reason}`),
      ) as string,
      lasts: true,
    });
    expect(server.requests).toHaveLength(0);
  });

  test("an issuer that nobody knows", async () => {
    const server = await httpServer(undefined, certificateAuthority().issue());
    const reply = await clientOf(server.url).call(startCall, never);
    expect(reply).toMatchObject({
      type: "not-sent",
      cause: `certificate of ${server.host} is not trusted: unable to verify the first certificate`,
    });
    const other = await clientOf(server.url, { ca: [certificateAuthority("another").cert] }).call(
      startCall,
      never,
    );
    expect(other).toMatchObject({
      type: "not-sent",
      hint: expect.stringContaining("--ca FILE (config key ca)") as string,
    });
    const namesake = await clientOf(server.url, { ca: [certificateAuthority().cert] }).call(
      startCall,
      never,
    );
    expect(namesake).toMatchObject({
      type: "not-sent",
      cause: `certificate of ${server.host} is not trusted: certificate signature failure`,
    });
    expect(server.requests).toHaveLength(0);
  });

  test("certificates are checked, also on this machine, whatever the environment says", async () => {
    const server = await httpServer(
      undefined,
      selfSigned({ dns: "other.example", to: "20210101000000Z" }),
    );
    vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
    onTestFinished(() => void vi.unstubAllEnvs());
    expect(await clientOf(server.url).call(startCall, never)).toMatchObject({
      type: "not-sent",
      cause: expect.stringContaining(`certificate of ${server.host} is not trusted`) as string,
    });
    expect(server.requests).toHaveLength(0);
  });

  test("TLS 1.1 is too old, also where the runtime would take it", async () => {
    const { DEFAULT_CIPHERS, DEFAULT_MIN_VERSION } = tls;
    Object.assign(tls, { DEFAULT_CIPHERS: "DEFAULT@SECLEVEL=0", DEFAULT_MIN_VERSION: "TLSv1" });
    onTestFinished(() => void Object.assign(tls, { DEFAULT_CIPHERS, DEFAULT_MIN_VERSION }));
    const certificate = selfSigned();
    const server = createTlsServer({
      ...certificate,
      minVersion: "TLSv1",
      maxVersion: "TLSv1.1",
      ciphers: "DEFAULT@SECLEVEL=0",
    });
    const port = await onLoopback(server);
    expect(
      await clientOf(`https://127.0.0.1:${port}`, trust(certificate.cert)).call(startCall, never),
    ).toMatchObject({
      type: "not-sent",
      cause: `no TLS connection to 127.0.0.1:${port}: it does not speak TLS 1.2 or newer`,
    });
  });

  test("a service that speaks no TLS", async () => {
    const server = await httpServer();
    const reply = await clientOf(server.url.replace("http:", "https:")).call(startCall, never);
    expect(reply).toMatchObject({
      type: "not-sent",
      cause: `no TLS connection to ${server.host}: it does not speak TLS 1.2 or newer`,
    });
    expect(server.requests).toHaveLength(0);
  });

  test("a connection that is closed in the handshake", async () => {
    const server = await tcpServer((socket) => socket.destroy(), "https");
    const reply = await clientOf(server.url).call(startCall, never);
    expect(reply).toMatchObject({
      type: "not-sent",
      cause: `connection closed by ${server.host} before the request was sent`,
    });
  });
});

describe("one connection", () => {
  test("both calls of an exchange use it", async () => {
    const server = await httpServer();
    const client = clientOf(server.url);
    await client.call(startCall, never);
    await client.call(endCall, never);
    expect(server.requests.map((r) => r.method)).toEqual(["POST", "PUT"]);
    expect(server.connections).toHaveLength(1);
  });

  test("a connection that the server closed between the calls, and said so, is replaced", async () => {
    const server = await httpServer();
    const client = clientOf(server.url);
    await client.call(startCall, never);
    const [connection] = server.connections;
    connection?.end();
    // The server sees the close only once the client has closed it.
    await once(connection as never, "close");
    expect(await client.call(endCall, never)).toMatchObject({ type: "answer" });
    expect(server.connections).toHaveLength(2);
    expect(server.requests.map((r) => r.method)).toEqual(["POST", "PUT"]);
  });

  test("what comes on it between the calls is not the answer to the next one", async () => {
    const late = JSON.stringify({ responseStatus: { status: "ERROR" } });
    let requests = 0;
    const server = await answeringTcp((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}`);
      if ((requests += 1) === 1)
        setTimeout(
          () => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${late.length}\r\n\r\n${late}`),
          5,
        );
    });
    const client = clientOf(server.url);
    await client.call(startCall, never);
    await closed(server.connections[0]);
    expect(await client.call(endCall, never)).toEqual({
      type: "answer",
      answer: { httpStatus: 200, body: {} },
    });
    expect(server.connections).toHaveLength(2);
  });

  test("a connection that the server is about to close is not used again", async () => {
    const server = await httpServer(
      json(200, success, { connection: "keep-alive", "keep-alive": "timeout=1" }),
    );
    const client = clientOf(server.url);
    await client.call(startCall, never);
    await client.call(endCall, never);
    expect(server.connections).toHaveLength(2);
  });
});
