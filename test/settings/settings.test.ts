import { environmentWithoutSecrets } from "../../src/settings/child-command.ts";
import { command } from "../../src/way.ts";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Redactor } from "../../src/terminal/redactor.ts";
import { describe, expect, test } from "vitest";
import {
  missingIn,
  missingSettings,
  resolveSettings,
  serviceName,
} from "../../src/settings/settings.ts";
import { parseDuration } from "../../src/duration.ts";
import { findProfile } from "../../src/settings/config-file.ts";
import { readSecret, readValue, valueSources } from "../../src/settings/given.ts";
import { asVaultError } from "../../src/errors.ts";
import { tempDir } from "../support/cleanup.ts";
import { fakeHost } from "../support/fake-host.ts";

const messageOf = (action: () => unknown): string => {
  try {
    action();
    return "nothing was raised";
  } catch (error) {
    const { code, message } = asVaultError(error);
    return `${code}: ${message}`;
  }
};

describe("precedence", () => {
  const profile = {
    baseUrl: "https://profile.example",
    timeout: "3s",
    policy: { failedAttempts: 7 },
    device: { browserType: "Firefox" },
  };

  test("flag over environment over profile over default", () => {
    const env = { VAULTSVC_BASE_URL: "https://env.example", VAULTSVC_TIMEOUT: "2s" };
    expect(resolveSettings({ timeout: "1s" }, env, profile)).toMatchObject({
      baseUrl: "https://env.example",
      timeout: 1000,
      maxWait: 120_000,
      policy: { failedAttempts: 7, unackedStarts: 5 },
      rate: 25,
      output: "table",
      apiPrefix: "/vaultsvc/v1-2",
      device: { text: '{"browserType":"Firefox"}', source: "config key device" },
    });
    expect(resolveSettings({}, {}, profile)).toMatchObject({
      baseUrl: "https://profile.example",
      timeout: 3000,
    });
    expect(resolveSettings({}, {}, {})).toMatchObject({
      baseUrl: undefined,
      timeout: 30_000,
      policy: { failedAttempts: 3, unackedStarts: 5 },
    });
  });

  test("an empty variable is none", () => {
    expect(resolveSettings({}, { VAULTSVC_TIMEOUT: "", VAULTSVC_DEBUG: "0" }, {})).toMatchObject({
      timeout: 30_000,
      debug: false,
    });
  });

  type Given = Parameters<typeof resolveSettings>;
  test.each<[Given, string]>([
    [[{ rate: "fast" }, {}, {}], "invalid-input: --rate: must be a whole number of at least 0"],
    [
      [{}, { VAULTSVC_TIMEOUT: "soon" }, {}],
      "invalid-input: VAULTSVC_TIMEOUT: must be a duration of at least 100ms, such as 500ms, 30s, 2m or 1h",
    ],
    [
      [{}, { VAULTSVC_BASE_URL: "https://:secret@vaults.example" }, {}],
      "invalid-input: VAULTSVC_BASE_URL: must be a URL, such as https://vaults.example.com, without user, password, query or fragment",
    ],
    [
      [{}, {}, { policy: { unackedStarts: 0 } }],
      "invalid-input: config key policy.unackedStarts: must be a whole number of at least 2",
    ],
    // They could send nothing: the first start would be the one that locks.
    [
      [{ lockAfterFailed: "1" }, {}, {}],
      "invalid-input: --lock-after-failed: must be a whole number of at least 2",
    ],
    [
      [{}, {}, { policy: { failedAttempts: 1 } }],
      "invalid-input: config key policy.failedAttempts: must be a whole number of at least 2",
    ],
    // They could only spend starts, and open the breaker for everybody.
    ...(["0s", "99ms", "0.09s"] as const).flatMap((short): [Given, string][] => {
      const rule = "must be a duration of at least 100ms, such as 500ms, 30s, 2m or 1h";
      return [
        [[{ timeout: short }, {}, {}], `invalid-input: --timeout: ${rule}`],
        [[{}, { VAULTSVC_TIMEOUT: short }, {}], `invalid-input: VAULTSVC_TIMEOUT: ${rule}`],
        [[{}, {}, { timeout: short }], `invalid-input: config key timeout: ${rule}`],
      ];
    }),
    [[{ output: "xml" }, {}, {}], "usage: --output: must be one of table, json, ndjson"],
    [
      [{}, { VAULTSVC_OUTPUT: "json\r" }, {}],
      "usage: VAULTSVC_OUTPUT: must be one of table, json, ndjson (an invisible character at the end)",
    ],
    [
      [{}, { VAULTSVC_API_PREFIX: " /v1" }, {}],
      "invalid-input: VAULTSVC_API_PREFIX: must be a path, such as /vaultsvc/v1-2 (a space at the beginning)",
    ],
  ])("%j", (given, message) => {
    expect(messageOf(() => resolveSettings(...given))).toBe(message);
  });

  test("missing settings are named at once, each with its flag, variable and config key, and the commands that give all", () => {
    expect(missingSettings(missingIn({ baseUrl: "https://vaults.example.com" }))).toMatchObject({
      code: "usage",
      message: "the application UUID and the API key are missing",
      facts: {
        hint:
          "set the application UUID with --app-uuid, VAULTSVC_APP_UUID or the config key appUuid; " +
          "set the API key with --api-key, VAULTSVC_API_KEY or the config key apiKey",
        next: [command`vault init`, command`vault sandbox exec -- sh`],
      },
    });
    expect(missingSettings(missingIn({})).message).toBe(
      "the base URL of the service, the application UUID and the API key are missing",
    );
  });
});

describe("the service's name", () => {
  const apiPrefix = "/vaultsvc/v1-2";

  test.each([
    ["https://vaults.example.com", "https://vaults.example.com/vaultsvc/v1-2"],
    ["https://vaults.example.com:443/", "https://vaults.example.com/vaultsvc/v1-2"],
    ["https://VAULTS.example.com/tenant/", "https://vaults.example.com/tenant/vaultsvc/v1-2"],
    ["http://127.0.0.1:4000", "http://127.0.0.1:4000/vaultsvc/v1-2"],
    // As messages name it.
    ["http://127.0.0.1:4000/vaultsvc/v1-2/", "http://127.0.0.1:4000/vaultsvc/v1-2"],
    ["https://h.example.com/vaultsvc/v1-20", "https://h.example.com/vaultsvc/v1-20/vaultsvc/v1-2"],
    ["http://localhost:4000", "http://localhost:4000/vaultsvc/v1-2"],
    ["http://[::1]:4000", "http://[::1]:4000/vaultsvc/v1-2"],
  ])("%s", (baseUrl, name) => {
    expect(serviceName({ baseUrl, apiPrefix, insecureHttp: false })).toBe(name);
  });

  test.each([
    "vaults.example.com",
    "ftp://vaults.example.com",
    "https://me:secret@vaults.example.com",
    "https://:secret@vaults.example.com",
    "http://:secret@127.0.0.1:4000",
    "https://vaults.example.com?x=1",
    "http://127.0.0.1.example.com",
    "http://localhost.example.com",
    "http://0.0.0.0",
  ])("%s is refused", (baseUrl) => {
    expect(messageOf(() => serviceName({ baseUrl, apiPrefix, insecureHttp: false }))).toMatch(
      /^invalid-input: --base-url: /,
    );
  });

  test("http elsewhere only with --insecure-http", () => {
    expect(
      serviceName({ baseUrl: "http://vaults.example.com", apiPrefix, insecureHttp: true }),
    ).toBe("http://vaults.example.com/vaultsvc/v1-2");
  });
});

test("0s and 100ms are enough where nothing is sent, and for a time-out", () => {
  expect(resolveSettings({ timeout: "100ms", maxWait: "0s" }, {}, {})).toMatchObject({
    timeout: 100,
    maxWait: 0,
  });
});

test.each([
  ["500ms", 500],
  ["30s", 30_000],
  ["2m", 120_000],
  ["1h", 3_600_000],
  ["0.5s", 500],
])("%s is %i milliseconds", (text, milliseconds) => {
  expect(parseDuration(text, "--timeout")).toBe(milliseconds);
});

describe("values", () => {
  const warnings: string[] = [];
  const marked = (value: string): string => `\uFEFF${value}\r\n\n\r`;
  const made = (input = "from stdin\r\n") =>
    valueSources(
      fakeHost({
        env: { SECRET: "from the environment", MARKED: marked("secret") },
        files: { there: "from a file\n", marked: marked("secret"), "": "", blank: "\uFEFF\r\n" },
        input,
      }),
      (message) => void warnings.push(message),
    ).sources;
  const sources = made();
  const secret = async (text: string, from = sources, how?: "exactly"): Promise<string> => {
    const io = { sources: from, redactor: new Redactor() };
    return await readSecret(io, { text, source: "--api-key", from: "flag" }, how);
  };

  test.each([
    ["@there", "from a file"],
    ["-", "from stdin"],
    ["env:SECRET", "from the environment"],
    ["literal", "literal"],
  ])("%s", async (spec, value) => {
    expect(await secret(spec)).toBe(value);
  });

  test.each(["@marked", "-", "@-", "env:MARKED", marked("secret")])(
    "%j has no byte order mark and no final newlines, but where each byte counts",
    async (spec) => {
      expect(await readValue(spec, "--api-key", made(marked("secret")))).toBe("secret");
      expect(await secret(spec, made(marked("secret")), "exactly")).toBe(marked("secret"));
    },
  );

  test("a variable and a profile are read as flags are", async () => {
    const io = { sources, redactor: new Redactor() };
    for (const text of ["@marked", marked("secret")])
      expect(await readSecret(io, { text, source: "VAULTSVC_API_KEY", from: "variable" })).toBe(
        "secret",
      );
  });

  test("a secret in a variable that begins with @ is no path that a message shows", async () => {
    const io = { sources, redactor: { add: () => undefined } };
    const given = { text: "@pass word", source: "VAULTSVC_STATE_KEY", from: "variable" as const };
    await expect(readSecret(io, given)).rejects.toThrow(
      /^VAULTSVC_STATE_KEY: cannot read the file that it names \(ENOENT\)$/,
    );
  });

  test("only a literal draws a warning, which does not repeat it", () => {
    // "literal", and "secret" with a mark, each by itself.
    expect(warnings).toHaveLength(2);
    expect(warnings[0]).toMatch(/^--api-key has a secret on the command line/);
    expect(warnings[0]).not.toMatch(/literal/);
  });

  test.each([
    ["@missing", /^--api-key: cannot read the file missing \(ENOENT\)$/],
    ["@blank", /^--api-key: the value is empty$/],
    ["\uFEFF\n", /^--api-key: the value is empty$/],
    ["env:NOT_SET", /^--api-key: the environment variable NOT_SET is not set$/],
  ])("%s is refused", async (spec, message) => {
    await expect(readValue(spec, "--api-key", sources)).rejects.toMatchObject({
      code: "invalid-input",
      message: expect.stringMatching(message) as string,
      facts: { hint: expect.not.stringMatching(/export \w+=/) as string },
    });
  });
});

describe("profiles", () => {
  const directory = join(tempDir("profiles"), "config");
  mkdirSync(directory);
  writeFileSync(
    join(directory, "config.json"),
    JSON.stringify({
      currentProfile: "work",
      profiles: { work: { baseUrl: "https://work.example" }, home: { rateLimit: 5 } },
    }),
  );

  test("a file that is not JSON is told, and left as it is", async () => {
    const broken = join(tempDir("profiles"), "config");
    mkdirSync(broken);
    for (const text of [
      '{"apiKey":"geheim',
      "{",
      "[]",
      "null",
      "[".repeat(200) + "]".repeat(200),
    ]) {
      writeFileSync(join(broken, "config.json"), text);
      expect(() => findProfile(broken, undefined)).toThrow(
        expect.objectContaining({
          code: "state",
          message: expect.stringMatching(/cannot be read: it is not a JSON object$/) as string,
        }) as Error,
      );
    }
  });

  test("a byte order mark is no part of it", async () => {
    const marked = join(tempDir("profiles"), "config");
    mkdirSync(marked);
    writeFileSync(join(marked, "config.json"), '\uFEFF{"profiles":{"default":{"rateLimit":5}}}');
    expect(findProfile(marked, undefined).settings).toEqual({ rateLimit: 5 });
  });
});

describe("the environment of a command", () => {
  const long = "correct-horse-battery-staple";
  const passed = (env: Record<string, string>, ...secrets: string[]): Record<string, string> => {
    const redactor = new Redactor();
    for (const secret of secrets) redactor.add(secret);
    return environmentWithoutSecrets(env, redactor);
  };

  test("has no variable that is a secret, or contains a long one", () => {
    const env = {
      VAULTSVC_API_KEY: "@key",
      VAULTSVC_OWN: "home",
      PGPASSWORD: "home",
      ENCODED: Buffer.from("home").toString("base64"),
      WITHIN: `key=${long};`,
    };
    expect(passed(env, "home", long)).toEqual({});
  });

  test("has what every program needs, and what contains a short secret by chance", () => {
    const env = {
      HOME: "/home/ada",
      PATH: "/usr/local/bin:/bin",
      LANG: "C",
      LC_ALL: "C",
      TERM: "xterm",
      TZ: "home",
      VAULTSVC_PROFILE: "home",
      HTTPS_PROXY: `http://ada:${long}@proxy.example`,
      PROJECT: "/home/ada/local",
    };
    expect(passed(env, "home", "local", "/home/ada", "C", long)).toEqual(env);
  });

  test("has the address of the state without its password", () => {
    const env = {
      VAULTSVC_STATE: "postgres://vault:postgres@db.example/vaults?sslmode=verify-full",
    };
    expect(passed(env, "postgres")).toEqual({
      VAULTSVC_STATE: "postgres://vault@db.example/vaults?sslmode=verify-full",
    });
  });
});
