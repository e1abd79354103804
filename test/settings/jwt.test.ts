import { execFileSync } from "node:child_process";
import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createBearerToken, type BearerToken } from "../../src/settings/jwt.ts";
import { resolveSettings } from "../../src/settings/settings.ts";
import { claimsOf, jwtKeys, makeJwt } from "../support/keys.ts";
import { tempDir } from "../support/cleanup.ts";
import { failure, fakeIo } from "../support/fake-host.ts";

const never = new AbortController().signal;
const keys = jwtKeys();
type Made = ReturnType<typeof fakeIo>;

async function tokenOf(
  profile: object,
  made: Made = fakeIo(),
  flags: Record<string, string> = {},
): Promise<BearerToken | undefined> {
  return await createBearerToken(
    resolveSettings(flags, made.io.host.env, profile as Record<string, unknown>),
    made.io,
  );
}

async function ready(token: BearerToken | undefined): Promise<string | undefined> {
  await token?.ready(never);
  return token?.current();
}

describe("which token", () => {
  const profile = { jwt: { command: "echo from.the.profile" } };

  test("flag over environment over profile", async () => {
    const made = fakeIo({ env: { VAULTSVC_JWT: "from.the.environment" } });
    expect(await ready(await tokenOf(profile, made, { jwt: "from.the.flag" }))).toBe(
      "from.the.flag",
    );
    expect(await ready(await tokenOf(profile, made))).toBe("from.the.environment");
    expect(await ready(await tokenOf(profile))).toBe("from.the.profile");
  });

  test("every token is made known as a secret, and its signature alone", async () => {
    const made = fakeIo();
    await ready(await tokenOf(profile, made));
    await tokenOf(profile, made, { jwt: "from.the.flag" });
    expect(made.told.secrets).toEqual([
      "from.the.profile",
      "Bearer from.the.profile",
      "profile",
      "from.the.flag",
      "Bearer from.the.flag",
      "flag",
    ]);
  });

  test.each([
    ["Bearer a.b.c", ""],
    ["a.b.c\r\nx-evil: 1", " (an invisible character in it)"],
    ["a.b.c ", " (a space at the end)"],
    ["a.b.ç", ""],
  ])("%j is no token", async (jwt, unseen) => {
    expect(await failure(tokenOf({}, fakeIo(), { jwt }))).toBe(
      `invalid-input: --jwt: must be only a token: letters, digits and . _ ~ + / = -${unseen}`,
    );
  });
});

describe("signed here", () => {
  const profile = { jwt: { privateKeyFile: "/key.pem", claims: { role: "reader", iss: "shop" } } };
  const files = { "/key.pem": keys.privateKey };

  test("ES384, with the claims, for five minutes", async () => {
    const made = fakeIo({ files });
    const jwt = (await ready(await tokenOf(profile, made))) ?? "";
    const [header = "", payload = "", signature = ""] = jwt.split(".");
    expect(JSON.parse(Buffer.from(header, "base64url").toString())).toEqual({
      alg: "ES384",
      typ: "JWT",
    });
    const iat = made.clock.now / 1000;
    expect(claimsOf(jwt)).toEqual({ role: "reader", iss: "shop", iat, exp: iat + 300 });
    const key = { key: createPublicKey(keys.publicKey), dsaEncoding: "ieee-p1363" } as const;
    expect(
      verify(
        "sha384",
        Buffer.from(`${header}.${payload}`),
        key,
        Buffer.from(signature, "base64url"),
      ),
    ).toBe(true);
  });

  test("the same one until a minute before its end, then another", async () => {
    const made = fakeIo({ files });
    const token = await tokenOf(profile, made);
    const first = await ready(token);
    made.clock.now += 239_000;
    expect(await ready(token)).toBe(first);
    made.clock.now += 1000;
    const second = await ready(token);
    expect(claimsOf(second ?? "")["exp"]).toBe(made.clock.now / 1000 + 300);
    expect(made.told.secrets).toContain(second);
  });

  test("a key in the older form is read too", async () => {
    const older = createPrivateKey(keys.privateKey)
      .export({ type: "sec1", format: "pem" })
      .toString();
    expect(await ready(await tokenOf(profile, fakeIo({ files: { "/key.pem": older } })))).toMatch(
      /^ey/,
    );
  });

  const encrypted = createPrivateKey(keys.privateKey)
    .export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" })
    .toString();
  const olderEncrypted = createPrivateKey(keys.privateKey)
    .export({ type: "sec1", format: "pem", cipher: "aes-256-cbc", passphrase: "secret" })
    .toString();

  const noKey = "/key.pem: must be a P-384 private key in PEM, without a passphrase";
  test.each<[string, string | undefined, string]>([
    ["a missing file", undefined, "cannot read the file /key.pem (ENOENT)"],
    ["a key on P-256", jwtKeys("P-256").privateKey, noKey],
    ["a public key", keys.publicKey, noKey],
    ["no key", "nothing", noKey],
    ["half a key", keys.privateKey.slice(0, 100), noKey],
    ["an encrypted key", encrypted, noKey],
    ["an encrypted older one", olderEncrypted, noKey],
  ])("%s is refused, naming the config key", async (_, pem, message) => {
    const made = fakeIo(pem === undefined ? {} : { files: { "/key.pem": pem } });
    expect(await failure(ready(await tokenOf(profile, made)))).toBe(
      `invalid-input: config key jwt.privateKeyFile: ${message}`,
    );
  });

  const both = "jwt.privateKeyFile and jwt.claims: a token is signed with both";
  test.each<[object, string]>([
    [{ privateKeyFile: "/key.pem" }, `s ${both}`],
    [{ claims: { role: "reader" } }, `s ${both}`],
    [{ privateKeyFile: "/key.pem", claims: ["reader"] }, " jwt.claims: must be an object"],
    [{ privateKeyFile: "/key.pem", claims: "reader" }, " jwt.claims: not valid JSON"],
    [
      { privateKeyFile: "/key.pem", claims: { role: "reader", exp: 9_999_999_999 } },
      " jwt.claims: exp cannot be set",
    ],
  ])("%j is refused", async (jwt, message) => {
    expect(await failure(tokenOf({ jwt }, fakeIo({ files })).then(ready))).toBe(
      `invalid-input: config key${message}`,
    );
  });
});

describe("by command", () => {
  const run = async (
    command: string,
    made: Made = fakeIo({ env: { PATH: "/usr/bin:/bin" } }),
    flags = {},
  ) => await ready(await tokenOf({ jwt: { command } }, made, flags));

  test("what it prints, trimmed; what it says on stderr is passed on", async () => {
    const made = fakeIo({ env: { PATH: "/usr/bin:/bin" } });
    expect(await run("echo talk >&2; printf ' a.b.c \\n\\n'", made)).toBe("a.b.c");
    expect(made.told.said).toBe("talk\n");
  });

  test("it has none of our secrets in its environment, and its proxies", async () => {
    const env = {
      PATH: "/usr/bin:/bin",
      VAULTSVC_API_KEY: "k",
      COPY: "the-secret-key",
      HTTPS_PROXY: "http://ada:the-secret-key@p:1",
      KEPT: "1",
    };
    const made = fakeIo({ env });
    made.io.redactor.add("the-secret-key");
    expect(
      await run('echo "${VAULTSVC_API_KEY-none}.${COPY-none}.${HTTPS_PROXY+there}$KEPT"', made),
    ).toBe("none.none.there1");
  });

  test.each([
    ["exit 3", "failed with exit code 3"],
    ["kill -9 $$", "failed with SIGKILL"],
    ["true", "printed nothing"],
    ["no-such-program-here", "failed with exit code 127"],
    ["head -c 100000 /dev/zero | tr '\\0' a", "printed more than 65536 characters and was stopped"],
  ])("%s", async (command, message) => {
    expect(await failure(run(command))).toBe(
      `invalid-input: config key jwt.command: the command ${message}`,
    );
  });

  test("one that hangs is ended, with all that it started", async () => {
    const pids = join(tempDir("jwt"), "pids");
    const command = `sleep 600 & echo $! > ${pids}; wait`;
    expect(await failure(run(command, undefined, { timeout: "100ms" }))).toBe(
      "invalid-input: config key jwt.command: the command did not finish within 100ms and was stopped",
    );
    const pid = readFileSync(pids, "utf8").trim();
    // Killed; at most a zombie is left.
    if (existsSync(`/proc/${pid}`))
      expect(execFileSync("ps", ["-o", "stat=", "-p", pid]).toString()).toMatch(/^Z/);
  });

  test("an interruption ends it", async () => {
    const interruption = new AbortController();
    const marker = join(tempDir("jwt"), "started");
    const made = fakeIo({ env: { PATH: "/usr/bin:/bin" } });
    const token = await tokenOf(
      { jwt: { command: `echo talk >&2; touch ${marker}; exec sleep 600` } },
      made,
    );
    const interrupted = expect(token?.ready(interruption.signal)).rejects.toThrow("stopped");
    await expect.poll(() => existsSync(marker)).toBe(true);
    interruption.abort(new Error("stopped"));
    await interrupted;
    expect(made.told.said).toBe("talk\n");
  });

  test("run again when its token is about to end, once for calls at the same moment", async () => {
    const made = fakeIo({ env: { PATH: "/usr/bin:/bin" } });
    const count = join(tempDir("jwt"), "count");
    const runs = (): number => readFileSync(count, "utf8").length;
    const jwt = makeJwt(keys, { exp: made.clock.now / 1000 + 100 });
    const token = await tokenOf({ jwt: { command: `printf x >> ${count}; echo ${jwt}` } }, made);
    await Promise.all([ready(token), ready(token), ready(token)]);
    expect(runs()).toBe(1);
    made.clock.now += 49_000;
    await ready(token);
    expect(runs()).toBe(1);
    made.clock.now += 1000;
    await ready(token);
    expect(runs()).toBe(2);
  });

  test("a token that does not say when it ends is taken to be good for five minutes", async () => {
    const made = fakeIo({ env: { PATH: "/usr/bin:/bin" } });
    const count = join(tempDir("jwt"), "count");
    const token = await tokenOf({ jwt: { command: `printf x >> ${count}; echo opaque` } }, made);
    for (const after of [0, 239_000, 1000]) {
      made.clock.now += after;
      expect(await ready(token)).toBe("opaque");
    }
    expect(readFileSync(count, "utf8")).toBe("xx");
  });

  test("one that failed is run again for the next call", async () => {
    const made = fakeIo({ env: { PATH: "/usr/bin:/bin" } });
    const flag = join(tempDir("jwt"), "flag");
    const token = await tokenOf(
      { jwt: { command: `test -e ${flag} && echo a.b.c || { touch ${flag}; exit 1; }` } },
      made,
    );
    expect(await failure(ready(token))).toMatch(/exit code 1$/);
    expect(await ready(token)).toBe("a.b.c");
  });
});
