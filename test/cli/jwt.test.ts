import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { httpServer } from "../support/servers.ts";
import { claimsOf, jwtKeys, makeJwt } from "../support/keys.ts";
import type { Lab } from "../support/lab.ts";
import {
  expectError,
  expectExit,
  expectInStep,
  firstGetArgs,
  noVault,
  onlineCard,
  openLab,
  coldLab,
} from "../support/lab.ts";
import { oldPair, startHostileService } from "../support/hostile-service.ts";
import { errorOf, machineFor, type Machine } from "../support/machine.ts";
import { Secrets, spellings } from "../support/secret-search.ts";
import { device } from "../support/examples.ts";

const keys = jwtKeys();
const policy = { jwt: { publicKey: keys.publicKey, claims: { role: ["reader", "writer"] } } };
const soon = (seconds = 60): number => Math.floor(Date.now() / 1000) + seconds;
const good = (): string => makeJwt(keys, { role: "reader", exp: soon() });

function configure(machine: Machine, profile: object): void {
  mkdirSync(machine.configDir, { recursive: true });
  const config = JSON.stringify({ profiles: { default: profile } });
  writeFileSync(join(machine.configDir, "config.json"), config);
}
const printing = (command: string): object => ({ jwt: { command } });
const signing = (privateKeyFile: string, claims = { role: "reader" }): object => ({
  jwt: { privateKeyFile, claims },
});

describe("a service that requires JWT", () => {
  test.each(["in a file", "by command", "signed here"])(
    "%s: start and end carry it",
    async (how) => {
      const { lab, machine, uuid } = await coldLab(undefined, { policy });
      const token = machine.file("token", `${good()}\n`);
      const more = how === "in a file" ? ["--jwt", `@${token}`] : [];
      if (how === "by command") configure(machine, printing(`cat ${token}`));
      if (how === "signed here")
        configure(machine, signing(machine.file("jwt.pem", keys.privateKey)));
      await machine.ok("state", "init");
      const result = await machine.ok(...firstGetArgs(machine, lab.vault), ...more, "--json");
      expect(result.stderr).toBe("");
      expect(lab.service.sandbox.requests().map(({ step, status }) => [step, status])).toEqual([
        ["start", 200],
        ["end", 200],
      ]);
      await expectInStep(lab, machine, uuid);
    },
  );

  test.each<[string, string | undefined, RegExp]>([
    ["missing", undefined, /the JWT is missing/],
    ["expired", makeJwt(keys, { role: "reader", exp: soon(-60) }), /the JWT has expired/],
  ])("%s: unauthorized, and nothing counted", async (_, jwt, message) => {
    const { lab, machine } = await coldLab(undefined, { policy });
    const env = { VAULTSVC_JWT: jwt };
    const result = await machine.vaultWith({ env }, ...firstGetArgs(machine, lab.vault), "--json");
    expectError(result, "unauthorized", message);
    expect(errorOf(result)).toMatchObject({
      retry: "after-fix",
      spent: { unackedStarts: 0, failedAttempts: 0 },
    });
    expect(errorOf(result).help).toContain("--jwt");
  });
});

describe("online vaults need none: what an application has for its offline ones does not stop them", () => {
  test.each([printing("exit 4"), signing("/nowhere/key.pem")])("%j", async (profile) => {
    const { lab, machine, uuid } = await coldLab(onlineCard, { policy });
    configure(machine, profile);
    await machine.ok(...firstGetArgs(machine, lab.vault), "--no-ack", "--json");
    const create = ["create", "--content", "env:HOME", "--kind"];
    const online = ["generic/online", "--device", `@${machine.file("device.json", device)}`];
    for (const args of [
      ["ack", uuid],
      ["info", uuid],
      ["delete", uuid, "--yes"],
    ])
      await machine.ok(...args);
    await machine.ok(...create, ...online);
    // Those of offline vaults fail before anything is sent.
    const sent = lab.service.sandbox.requests().length;
    for (const args of [["info", uuid, "--kind"], create].map((args) => [
      ...args,
      "generic/offline",
    ]))
      expectError(await machine.vault(...args, "--json"), "invalid-input", /^config key jwt\./);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });

  test("none is sent to them: it would be shown to an endpoint that does not ask for it", async () => {
    const sent: [string, boolean][] = [];
    const service = await startHostileService(({ path, headers }, { good, send }) => {
      const endpoint = path.replace(/^.*v1-2.vault.|.[0-9a-f-]{36}/g, "");
      if (!path.includes(noVault)) sent.push([endpoint, headers.authorization !== undefined]);
      send(good);
    });
    const env = { VAULTSVC_JWT: good(), DEVICE: JSON.stringify(device) };
    for (const kind of ["credit-card/online", "generic/offline"] as const) {
      const machine = machineFor(service);
      const { uuid } = (await openLab()).vault;
      const given = [...machine.given(oldPair, kind), "--device", "env:DEVICE"];
      await machine.okWith({ env }, "get", uuid, ...given);
      await machine.okWith({ env }, "info", uuid);
      await machine.okWith({ env }, "delete", uuid, "--yes");
    }
    const calls = ["/get-start", "/get-end", "/info", ""];
    expect(sent).toEqual([
      ...calls.map((call) => [`credit-card/online${call}`, false]),
      ...calls.map((call) => [`generic/offline${call}`, true]),
    ]);
  });
});

describe("renewal", () => {
  /** The service's clock is an hour behind, so that a token which this machine takes for dead is still good there. */
  async function behind(): Promise<{ lab: Lab; machine: Machine; count: string }> {
    const lab = await openLab(undefined, { policy });
    lab.clock.ahead = -3_600_000;
    const machine = lab.machine();
    return { lab, machine, count: join(machine.home, "count") };
  }
  const dead = makeJwt(keys, { role: "reader", exp: soon(-60) });

  test("a token that is over when the end call is due is replaced for it", async () => {
    const { lab, machine, count } = await behind();
    configure(machine, printing(`printf x >> ${count}; cat ${machine.file("token", dead)}`));
    await machine.ok(...firstGetArgs(machine, lab.vault), "--json");
    // And for the probe behind it.
    expect(readFileSync(count, "utf8")).toBe("xxx");
  });

  test("one that cannot be: the exchange is pending, and `ack` finishes it", async () => {
    const { lab, machine, count } = await behind();
    const once = `test ! -e ${count} && touch ${count}`;
    configure(machine, printing(`${once} && cat ${machine.file("token", dead)}`));
    const result = await machine.vault(...firstGetArgs(machine, lab.vault), "--json");
    const why = /acknowledgement is outstanding: config key jwt\.command: .*exit code 1$/;
    expectError(result, "pending", why);
    expect(errorOf(result).help).toMatch(new RegExp(`; vault ack ${lab.vault.uuid}$`));
    expect(lab.service.sandbox.requests().map(({ step }) => step)).toEqual(["start"]);
    await machine.okWith({ env: { VAULTSVC_JWT: good() } }, "ack", lab.vault.uuid);
    await expectInStep(lab, machine, lab.vault.uuid);
  });
});

test("no token is in any output or in the state, also where the service repeats it", async () => {
  const secrets = new Secrets();
  const sent: string[] = [];
  const service = await httpServer(({ url = "", headers: { authorization = "" } }, response) => {
    if (!url.includes(noVault)) sent.push(authorization);
    const token = authorization.replace("Bearer ", "");
    const parts = [authorization, token, token.split(".")[2] ?? ""];
    for (const part of parts) secrets.add("token", part);
    const message = Object.values(spellings)
      .flatMap((spell) => parts.map(spell))
      .join(" | ");
    const detailedErrors = [{ property: "authorization", message, errorReasons: parts }];
    const responseStatus = { status: "ERROR", detailedErrors };
    response.writeHead(401, { "content-type": "application/json" });
    response.end(JSON.stringify({ responseStatus }));
  });
  const lab = await openLab();
  const machine = lab.machine({ env: { VAULTSVC_BASE_URL: service.url } });
  const given = good();
  const ways: [object, Record<string, string>][] = [
    [{}, { VAULTSVC_JWT: given }],
    [printing(`cat ${machine.file("token", given)}`), {}],
    [signing(machine.file("jwt.pem", keys.privateKey)), {}],
  ];
  for (const [profile, env] of ways) {
    configure(machine, profile);
    for (const form of [["--json"], ["--verbose"]]) {
      const get = firstGetArgs(machine, lab.vault);
      const result = await machine.vaultWith({ env }, ...get, "--debug", ...form);
      expectExit(result, 5);
      expect(result.stderr).toContain('"authorization":"«redacted');
      expect(secrets.in(result.stderr + result.stdout)).toEqual([]);
    }
  }
  const isGiven = sent.map((header) => header === `Bearer ${given}`);
  expect(isGiven.join(" ")).toBe("true true true true false false");
  expect(claimsOf(sent[5] ?? "")).toMatchObject({ role: "reader" });
  for (const folder of [machine.stateDir, machine.configDir])
    expect(secrets.inFolder(folder)).toEqual([]);
});

/** Each piece is written by a process of its own, so that it is read before the next one comes. */
const inPieces = "i=1; while [ $i -lt 400 ]; do tail -c +$i token | head -c 25; i=$((i+25)); done";

test.each([
  ["before it prints it", "cat token >&2; echo talk >&2; cat token", 0],
  ["in pieces", `cat token; { ${inPieces}; echo talk; } >&2`, 0],
  ["without the end of a line", `printf 'talk %s' "$(cat token)" >&2; cat token`, 0],
  ["and fails", "cat token >&2; echo talk >&2; cat token; false", 3],
  ["and a word too many", `cat token >&2; echo talk >&2; echo "Bearer $(cat token)"`, 3],
  ["and JSON", `cat token >&2; echo talk >&2; printf '{"token":"%s"}' "$(cat token)"`, 3],
  ["and hangs", "cat token >&2; echo talk >&2; cat token; exec sleep 60", 3],
  ["in its parts", "tr . ' ' < token >&2; echo talk >&2; cat token", 0],
])(
  "a command that prints the token on stderr %s: it is replaced there",
  async (how, command, exitCode) => {
    const { lab, machine } = await coldLab(undefined, { policy });
    const token = good();
    machine.file("token", `${token}\n`);
    const timeout = how === "and hangs" ? "1s" : "30s";
    configure(machine, { timeout, ...printing(command) });
    const run = machine.start({}, ...firstGetArgs(machine, lab.vault), "--json");
    const { code, stderr } = await run.exit;
    expect(stderr).toContain("talk");
    expect(stderr).toContain("«redacted»");
    for (const part of [token, token.split(".")[2] ?? "", token.slice(0, 50)])
      expect(stderr).not.toContain(part);
    expect(code).toBe(exitCode);
  },
);

test.each([
  ["jwt", 5],
  ["key", 3],
] as const)(
  "a short text that the command of a %s prints alone is replaced on its stderr",
  async (what, exitCode) => {
    const { lab, machine } = await coldLab(undefined, { policy });
    const command = "echo talk short-one >&2; echo short-one";
    configure(machine, what === "jwt" ? printing(command) : { stateKeyCommand: command });
    const result = await machine.vault(...firstGetArgs(machine, lab.vault), "--json");
    expectExit(result, exitCode);
    expect(result.stderr).toContain("talk «redacted»");
    expect(result.stderr).not.toContain("short-one");
  },
);

test("a whitelist that this machine is not on: unauthorized, and nothing counted", async () => {
  const { lab, machine } = await coldLab(undefined, { policy: { whitelist: ["10.0.0.0/8"] } });
  const result = await machine.vault(...firstGetArgs(machine, lab.vault), "--json");
  expectError(result, "unauthorized", /the IP address is not in the whitelist/);
  expect(errorOf(result)).toMatchObject({ spent: { unackedStarts: 0, failedAttempts: 0 } });
  expect(errorOf(result).help).toContain("this address is allowed");
});
