import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, test } from "vitest";
import { certificateAuthority } from "../support/keys.ts";
import type { Lab } from "../support/lab.ts";
import { expectError, expectExit, expectInStep, firstGetArgs, openLab } from "../support/lab.ts";
import { errorOf, type Machine } from "../support/machine.ts";
import { startProxy } from "../support/proxies.ts";
import type { RunResult } from "../support/run-vault.ts";
import { tempDir } from "../support/cleanup.ts";
import { startTlsFront, type TlsFront } from "../support/gateway.ts";

const authority = certificateAuthority();
let lab: Lab;
let front: TlsFront;
let machine: Machine;
let ca: string;

/** Each test has a vault of its own, behind TLS, which only `vault.example` and this machine's own names lead to. */
beforeEach(async () => {
  lab = await openLab();
  front = await startTlsFront(lab.service.baseUrl, authority.issue({ dns: "vault.example" }));
  machine = lab.machine();
  ca = machine.file("ca.pem", authority.cert);
});

const here = (): string => `https://127.0.0.1:${front.port}`;
const named = "https://vault.example";
const unverified = "unable to verify the first certificate";

/** The first `get` of the vault under an address, each time with a new state. */
async function get(
  env: Record<string, string>,
  baseUrl: string,
  ...args: string[]
): Promise<RunResult> {
  const { home, configDir } = machine;
  const at = { VAULTSVC_BASE_URL: baseUrl, VAULTSVC_MAX_WAIT: "100ms" };
  machine = lab.machine({ home, configDir, stateDir: tempDir("state"), env: at });
  await machine.ok("state", "init");
  return await machine.vaultWith({ env }, ...firstGetArgs(machine, lab.vault), "--json", ...args);
}

function configure(profile: object): void {
  mkdirSync(machine.configDir, { recursive: true });
  const config = JSON.stringify({ profiles: { default: profile } });
  writeFileSync(join(machine.configDir, "config.json"), config);
}

async function expectDone(result: RunResult): Promise<void> {
  expectExit(result, 0);
  expect(result.stderr).toBe("");
  await expectInStep(lab, machine, lab.vault.uuid);
}

/** Nothing reached the service; the cause and the setting that mends it are told. */
function expectNotSent(result: RunResult, cause: string, hint: string): void {
  expectError(result, "network");
  const { message, help, retry } = errorOf(result);
  expect(message).toContain(cause);
  expect(help).toContain(hint);
  expect(retry).toBe("safe");
  expect(lab.service.sandbox.requests()).toEqual([]);
}

test("each exchange uses one connection", async () => {
  const reading = lab.machine({ env: { VAULTSVC_BASE_URL: here() } });
  await reading.ok(...firstGetArgs(reading, lab.vault), "--ca", ca);
  for (let exchanges = 1; exchanges <= 10; exchanges += 1) {
    expect(front.connections.length).toBe(exchanges);
    await reading.ok("get", lab.vault.uuid, "--ca", ca);
  }
});

describe("certificates", () => {
  test("--ca: both calls over one connection", async () => {
    await expectDone(await get({ NODE_EXTRA_CA_CERTS: "" }, here(), "--ca", ca));
    expect(front.connections).toHaveLength(1);
  });

  test("Node's own variable", async () => {
    await expectDone(await get({ NODE_EXTRA_CA_CERTS: ca }, here()));
  });

  test("the config key", async () => {
    configure({ ca });
    await expectDone(await get({}, here()));
  });

  test("--ca is trusted alone, but for Node's own variable", async () => {
    const other = machine.file("other.pem", certificateAuthority("another").cert);
    expectNotSent(await get({}, here(), "--ca", other), unverified, "--ca FILE (config key ca)");
    await expectDone(await get({ NODE_EXTRA_CA_CERTS: ca }, here(), "--ca", other));
  });

  test("is refused at once: no wait makes it trusted", async () => {
    const refused = await get({}, here(), "--max-wait", "1h");
    expectNotSent(refused, unverified, "--ca FILE (config key ca)");
    expect(refused.stderr).not.toContain("again");
  });
});

describe("a proxy", () => {
  const secret = "pr0xy-p@ssword";
  let url: string;
  let asked: string[];

  beforeEach(async () => {
    const hosts = { "vault.example": front.port };
    const proxy = await startProxy({ hosts, credentials: `ada:${secret}` });
    url = proxy.url.replace("//", `//ada:${encodeURIComponent(secret)}@`);
    asked = proxy.asked;
  });

  const none = "http://127.0.0.1:1";
  test.each<[string, () => Record<string, string>, ...string[]]>([
    ["in the environment", () => ({ HTTPS_PROXY: url })],
    ["in lower case", () => ({ https_proxy: url, HTTPS_PROXY: none })],
    ["by flag, from a file", () => ({ HTTPS_PROXY: none, NO_PROXY: "*" }), "--proxy", "@proxy"],
    ["in the profile", () => (configure({ proxy: url }), {})],
  ])("%s, with credentials: one tunnel for both calls", async (_, prepare, ...args) => {
    machine.file("proxy", url);
    await expectDone(await get(prepare(), named, "--ca", ca, ...args));
    expect(asked).toEqual(["CONNECT vault.example:443"]);
    expect(front.connections).toHaveLength(1);
  });

  test("its password is in no output, as such or in base64", async () => {
    const flagged = await get({}, named, "--ca", ca, "--proxy", url, "--debug");
    expectExit(flagged, 0);
    expect(flagged.stderr).toMatch(/^vault: warning: --proxy has a secret on the command line/);
    const other = { HTTPS_PROXY: url.replace("//ada", "//eve") };
    const wrong = await get(other, named, "--ca", ca, "--debug");
    expectError(
      wrong,
      "network",
      /the proxy \S+ does not connect to vault\.example:443 \(HTTP 407\)/,
    );
    const basic = Buffer.from(`ada:${secret}`).toString("base64");
    for (const { stderr } of [flagged, wrong])
      for (const text of [secret, encodeURIComponent(secret), basic])
        expect(stderr).not.toContain(text);
  });

  test("NO_PROXY, and a service on this machine, go around it", async () => {
    await expectDone(await get({ HTTPS_PROXY: url }, here(), "--ca", ca));
    const past = await get({ HTTPS_PROXY: url, NO_PROXY: ".invalid" }, "https://vault.invalid");
    expectError(past, "network", /vault\.invalid/);
    expect(asked).toEqual([]);
  });
});

test("--save-cmd keeps its proxy, and has none of our secrets", async () => {
  const out = join(machine.home, "environment");
  const proxy = "http://ada:pr0xy-password@127.0.0.1:1";
  const env = { HTTPS_PROXY: proxy, VAULTSVC_JWT: "a.b.c", COPY: "Bearer a.b.c" };
  const check = `cat > /dev/null; env > ${out}; ! grep -q 'a\\.b\\.c' ${out} && grep -q pr0xy-password ${out}`;
  expectExit(await get(env, lab.service.baseUrl, "--save-cmd", check), 0);
});
