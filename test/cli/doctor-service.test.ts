import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { selfSigned, type Certificate } from "../support/keys.ts";
import { httpServer } from "../support/servers.ts";
import { runHere } from "../support/machine.ts";
import { runVault } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";

/** A service that answers anything with `status` and a clock that is ahead by so many seconds. */
async function service(
  options: {
    status?: number;
    ahead?: number | null;
    certificate?: Certificate;
    answers?: boolean;
  } = {},
) {
  const { status = 404, ahead = 0, certificate, answers = true } = options;
  return await httpServer((_, response) => {
    response.sendDate = false;
    if (ahead !== null)
      response.setHeader("date", new Date(Date.now() + ahead * 1000).toUTCString());
    if (answers) response.writeHead(status).end();
  }, certificate);
}

interface Finding {
  check: string;
  level: string;
  message: string;
  hint?: string;
  next: unknown[];
}

async function findings(
  url: string,
  more: Record<string, string> = {},
  ...args: string[]
): Promise<Record<string, Finding>> {
  const home = tempDir("home");
  const application = {
    VAULTSVC_APP_UUID: "11111111-2222-4333-8444-555555555555",
    VAULTSVC_API_KEY: "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee",
  };
  const env = { HOME: home, VAULTSVC_BASE_URL: url, ...application, ...more };
  const doctor = ["doctor", "--json", "--fail-on", "never", ...args];
  const isTold = "NODE_EXTRA_CA_CERTS" in more;
  const result = await (isTold ? runVault(doctor, { env }) : runHere(doctor, { home, env }));
  expect(result).toMatchObject({ code: 0, stderr: "" });
  const { checks } = JSON.parse(result.stdout) as { checks: Finding[] };
  return Object.fromEntries(checks.map((check) => [check.check, check]));
}

describe.concurrent("vault doctor: the service", () => {
  it("is asked without credentials whether it responds, and by the application about no vault", async () => {
    const { url, port, requests } = await service();
    const found = await findings(`${url}/behind`);
    expect(requests).toEqual([
      {
        method: "HEAD",
        url: "/behind/vaultsvc/v1-2",
        headers: {
          host: `127.0.0.1:${port}`,
          connection: "close",
          "user-agent": expect.stringMatching(/^vault\//) as string,
        },
        body: "",
      },
      expect.objectContaining({
        method: "PUT",
        url: "/behind/vaultsvc/v1-2/vault/generic/offline/00000000-0000-0000-0000-000000000000/get-end",
      }),
    ]);
    expect(found["service"]).toMatchObject({
      level: "ok",
      message: expect.stringMatching(/responds \(in \d+m?s\)/) as string,
    });
    expect(found["tls"]).toMatchObject({ level: "ok" });
    expect(found["clock"]).toMatchObject({ level: "ok", message: "in sync" });
    expect(await findings(url, {}, "--offline")).not.toHaveProperty("service");
    expect(requests).toHaveLength(2);
  });

  it("that is down, does not answer, or fails", async () => {
    expect((await findings("http://127.0.0.1:1"))["service"]).toEqual({
      check: "service",
      level: "error",
      message: "connection refused by 127.0.0.1:1",
      hint: "check --base-url and that the service is running",
      next: [],
    });
    const silent = await service({ answers: false });
    const late = (await findings(silent.url, {}, "--timeout", "300ms"))["service"];
    expect(late?.level).toBe("error");
    expect(late?.message).toMatch(/timed out after 300ms waiting for /);
    const failing = await service({ status: 503 });
    const failed = (await findings(failing.url))["service"];
    expect(failed?.level).toBe("warn");
    expect(failed?.message).toMatch(/HTTP 503/);
  });

  it.each<[string, number | null, string, RegExp]>([
    ["20 seconds ahead of this machine", 20, "ok", /is (19|20) seconds behind/],
    ["100 seconds ahead", 100, "warn", /is 1 minute behind/],
    ["100 seconds behind", -100, "warn", /is 1 minute ahead/],
    ["an hour behind", -3600, "warn", /59 minutes ahead/],
    ["unknown", null, "info", /no Date/],
  ])("whose clock is %s", async (_, ahead, level, message) => {
    const { url } = await service({ ahead });
    // A busy machine may take seconds to look at its clock; then it is asked again.
    const isFound = async (): Promise<void> =>
      expect((await findings(url))["clock"]).toMatchObject({
        level,
        message: expect.stringMatching(message) as string,
      });
    await vi.waitFor(isFound, { timeout: 60_000 });
  });

  it("with a certificate of an unknown issuer, and with one that is trusted", async () => {
    const certificate = selfSigned();
    const { url, requests } = await service({ certificate });
    const found = await findings(url);
    expect(found["tls"]?.level).toBe("error");
    expect(found["tls"]?.message).toMatch(/not trusted: self-signed/);
    expect(found["tls"]?.hint).toMatch(/NODE_EXTRA_CA_CERTS/);
    expect([found["service"], found["clock"], requests]).toEqual([undefined, undefined, []]);
    const ca = join(tempDir("ca"), "ca.pem");
    writeFileSync(ca, certificate.cert);
    const trusted = await findings(url, { NODE_EXTRA_CA_CERTS: ca });
    const message = "the service's certificate is trusted";
    expect(trusted["tls"]).toMatchObject({ level: "ok", message });
    expect(trusted["service"]).toMatchObject({ level: "ok" });
  });

  it("that speaks no TLS where https is configured, and http to another machine", async () => {
    const { port } = await service();
    expect((await findings(`https://127.0.0.1:${port}`))["tls"]).toMatchObject({ level: "error" });
    const found = await findings("http://vault.invalid", {}, "--insecure-http");
    expect(found["service"]).toMatchObject({ level: "error" });
  });
});
