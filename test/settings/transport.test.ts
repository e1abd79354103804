import { getCACertificates } from "node:tls";
import { describe, expect, test } from "vitest";
import { matchesNoProxy } from "../../src/settings/transport.ts";
import { resolveSettings } from "../../src/settings/settings.ts";
import { readTransport } from "../../src/settings/transport.ts";
import { certificateAuthority } from "../support/keys.ts";
import { failure, fakeIo } from "../support/fake-host.ts";

const baseUrl = "https://vaults.example.com";

interface Given {
  baseUrl?: string;
  flag?: string;
  env?: Record<string, string>;
  profile?: Record<string, unknown>;
  files?: Record<string, string>;
}

async function transport(given: Given) {
  const made = fakeIo({ env: given.env ?? {}, files: given.files ?? {} });
  const flags = {
    baseUrl: given.baseUrl ?? baseUrl,
    insecureHttp: true,
    ...(given.flag === undefined ? {} : { proxy: given.flag }),
  };
  const read = await readTransport(
    resolveSettings(flags, made.io.host.env, given.profile ?? {}),
    made.io,
  );
  return { ...read, told: made.told };
}

describe("which proxy", () => {
  const env = { HTTPS_PROXY: "http://env:1", HTTP_PROXY: "http://plain:1" };
  const profile = { proxy: "http://profile:1" };

  test.each<[string, Given, string | undefined]>([
    ["none", {}, undefined],
    ["flag over environment", { flag: "http://flag:1", env, profile }, "--proxy http://flag:1/"],
    ["environment over profile", { env, profile }, "HTTPS_PROXY http://env:1/"],
    ["profile", { profile }, "config key proxy http://profile:1/"],
    [
      "lower case first",
      { env: { ...env, https_proxy: "http://lower:1" } },
      "https_proxy http://lower:1/",
    ],
    [
      "an empty variable is none",
      { env: { HTTPS_PROXY: "" }, profile },
      "config key proxy http://profile:1/",
    ],
    [
      "HTTP_PROXY is for http",
      { env, baseUrl: "http://vaults.example.com" },
      "HTTP_PROXY http://plain:1/",
    ],
    ["and not for https", { env: { HTTP_PROXY: "http://plain:1" } }, undefined],
    ["without a scheme", { flag: "proxy.example:3128" }, "--proxy http://proxy.example:3128/"],
    ["over TLS", { flag: "https://proxy.example" }, "--proxy https://proxy.example/"],
    ["an empty flag means none", { flag: "", env, profile }, undefined],
    [
      "NO_PROXY, over environment and profile",
      { env: { ...env, NO_PROXY: "example.com" }, profile },
      undefined,
    ],
    ["no_proxy", { env: { ...env, no_proxy: "example.com" } }, undefined],
    [
      "the flag over NO_PROXY",
      { flag: "http://flag:1", env: { NO_PROXY: "*" } },
      "--proxy http://flag:1/",
    ],
    [
      "this machine is reached directly",
      { env, profile, baseUrl: "https://127.0.0.1:1" },
      undefined,
    ],
    ["by every name", { env, profile, baseUrl: "https://localhost:1" }, undefined],
    [
      "unless the flag says otherwise",
      { flag: "http://flag:1", baseUrl: "https://[::1]:1" },
      "--proxy http://flag:1/",
    ],
    [
      "a flag that names a variable",
      { flag: "env:P", env: { P: "http://variable:1" } },
      "--proxy http://variable:1/",
    ],
  ])("%s", async (_, given, expected) => {
    const { proxy } = await transport(given);
    expect(proxy === undefined ? undefined : `${proxy.source} ${proxy.url.href}`).toBe(expected);
  });

  test("its password is made known as a secret: as such, as written, and with the user name", async () => {
    const { told, proxy } = await transport({ env: { HTTPS_PROXY: "http://ada:p%40ss@proxy:1" } });
    expect(proxy?.url.username).toBe("ada");
    expect(told).toMatchObject({ secrets: ["p@ss", "p%40ss", "ada:p@ss"], warnings: [] });
  });

  test("a password in a flag draws a warning that does not repeat it", async () => {
    const { told } = await transport({ flag: "http://ada:hunter2@proxy:1" });
    expect(told.warnings).toEqual([
      expect.stringMatching(/^--proxy has a secret on the command line/),
    ]);
    expect(told.warnings.join()).not.toContain("hunter2");
    expect(
      (await transport({ flag: "@file", files: { file: "http://ada:hunter2@proxy:1" } })).told
        .warnings,
    ).toEqual([]);
    expect((await transport({ flag: "http://proxy:1" })).told.warnings).toEqual([]);
  });

  test.each([
    "socks5://proxy:1",
    "http://proxy/path",
    "http://proxy?x",
    "http://",
    "http://a:%zz@proxy",
    "ftp://proxy",
  ])("%s is refused, and not repeated", async (flag) => {
    expect(await failure(transport({ flag }))).toBe(
      "invalid-input: --proxy: must be the http: or https: URL of a proxy",
    );
    expect(await failure(transport({ env: { https_proxy: flag } }))).toBe(
      "invalid-input: https_proxy: must be the http: or https: URL of a proxy",
    );
  });
});

test.each<[string, string, boolean]>([
  ["https://vaults.example.com", "", false],
  ["https://vaults.example.com", "*", true],
  ["https://vaults.example.com", "*:443", true],
  ["https://vaults.example.com", "*:80", false],
  ["https://vaults.example.com", "vaults.example.com", true],
  ["https://vaults.example.com", "VAULTS.Example.com", true],
  ["https://vaults.example.com", "example.com", true],
  ["https://vaults.example.com", ".example.com", true],
  ["https://vaults.example.com", "*.example.com", true],
  ["https://vaults.example.com", "com", true],
  ["https://vaults.example.com.", "example.com.", true],
  ["https://badexample.com", "example.com", false],
  ["https://example.com.evil", "example.com", false],
  ["https://vaults.example.com", "other.org, example.com", true],
  ["https://vaults.example.com", "other.org example.com", true],
  ["https://vaults.example.com", "vaults.example.com:443", true],
  ["https://vaults.example.com", "vaults.example.com:8443", false],
  ["https://vaults.example.com:8443", "example.com:8443", true],
  ["http://vaults.example.com", "example.com:80", true],
  ["https://10.1.2.3", "10.1.2.3", true],
  ["https://10.1.2.3", "10.1.0.0/16", true],
  ["https://10.2.2.3", "10.1.0.0/16", false],
  ["https://10.1.2.3", "10.1.2.3:443", true],
  ["https://10.1.2.3", "10.1.0.0/33, 10.1.0.0/x, 10.1.0.0/16/1, 10.1.0.0/", false],
  ["https://10.1.2.3", "2.3", false],
  ["https://[fd00::1]", "fd00::/8", true],
  ["https://[fd00::1]:8443", "[fd00::1]:8443", true],
  ["https://[fd00::1]", "::1", false],
])("%s in NO_PROXY=%j: %s", (url, list, is) => {
  expect(matchesNoProxy(new URL(url), list)).toBe(is);
});

describe("certificates to trust", () => {
  const [one, two] = [certificateAuthority().cert, certificateAuthority().cert];
  const ca = async (text: string | undefined) =>
    await transport({
      profile: { ca: "/ca.pem" },
      ...(text === undefined ? {} : { files: { "/ca.pem": text } }),
    });

  test("all of the file, whatever stands between them", async () => {
    expect((await transport({})).ca).toBeUndefined();
    const trusted = (await ca(`# ours\n${one}\nsubject: x\n${two}`)).ca;
    expect(trusted).toEqual([one.trim(), two.trim(), ...getCACertificates("extra")]);
  });

  test.each<[string | undefined, string]>([
    [undefined, "cannot read the file /ca.pem (ENOENT)"],
    ["", "/ca.pem must contain only valid certificates in PEM"],
    [`${one}${two.replace(/MII/, "AAA")}`, "/ca.pem must contain only valid certificates in PEM"],
  ])("%#", async (text, message) => {
    expect(await failure(ca(text))).toBe(`invalid-input: config key ca: ${message}`);
  });
});
