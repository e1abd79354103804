import { describe, expect, test } from "vitest";
import type { HostileService, Malice } from "../support/hostile-service.ts";
import { importOld, oldPair, startHostileService, withVault } from "../support/hostile-service.ts";
import { card, expectExit } from "../support/lab.ts";
import { errorOf, machineFor, type Machine } from "../support/machine.ts";
import type { RunResult } from "../support/run-vault.ts";
import { Secrets } from "../support/secret-search.ts";

const uuid = "5a4b3c2d-1e0f-4a1b-8c2d-3e4f5a6b7c8d";
const kind = "credit-card/offline";
const newPair = { encryptedData: "the+new/data-of-a=", payload: "the+new/payload-of-a=" };
const documentToken = "the+token/of-a-document=";

/** As a service may write them in a message. */
const numbers = [
  card.number,
  "4111 1111 1111 1111",
  "4111-1111-1111-1111",
  "411111 11111 11111",
  "4111\u00A01111\u00A01111\u00A01111",
];
const names = [card.name, card.name.toUpperCase()];

/** What is sent, and `known`, is repeated in the message of an end call's answer. */
const echo =
  (known: readonly string[], status = 400): Malice =>
  ({ what, body }, { good, send }) => {
    if (!what.endsWith("-end")) return send(good);
    const message = [body, (JSON.parse(body) as { token: string }).token, ...known].join(" | ");
    const detailedErrors = [{ property: "token", message, errorReasons: [message] }];
    send({ responseStatus: { status: "ERROR", detailedErrors } }, status);
  };

/** A machine, all that its runs have said, and all that must not be in it. */
async function prepare(malice: Malice) {
  const service: HostileService = await startHostileService(malice);
  const machine: Machine = machineFor(service);
  const runs: RunResult[] = [];
  const secrets = new Secrets();
  for (const [name, secret] of Object.entries({ ...oldPair, ...newPair, documentToken }))
    secrets.add(name, secret);
  for (const secret of [...numbers, ...names]) secrets.add("card", secret);
  for (const n of [1, 2, 3, 4, 5, 6]) {
    for (const what of ["data", "payload"])
      secrets.add(what, `${what}-${n}+of/the-hostile-service=`);
    secrets.add("token", `token-${n}+of/the-service=`);
  }
  const run = async (...args: string[]): Promise<RunResult> => {
    const env = { DOCUMENT: JSON.stringify(document), CARD: JSON.stringify(card) };
    const result = await machine.vaultWith({ env }, ...args);
    runs.push(result);
    return result;
  };
  const expectClean = async (): Promise<void> => {
    expect(runs.flatMap(({ stderr }) => secrets.in(stderr))).toEqual([]);
    for (const args of [["status"], ["status", uuid, "--json", "--history"], ["guard"]]) {
      const { stdout, stderr } = await machine.vault(...args);
      expect(secrets.in(stdout + stderr)).toEqual([]);
    }
    expect(secrets.inFolder(machine.stateDir)).toEqual([]);
    // The service was heard all the same.
    expect(runs.map(({ stderr }) => stderr).join("")).toContain("«redacted»");
  };
  return { service, machine, runs, run, expectClean };
}

const document = {
  format: 2,
  uuid,
  kind,
  exchange: { id: "01M7Y4M06TQXZPWE02VC5SW77D", operation: "get", tokenExpiry: null },
  status: "pending",
  old: oldPair,
  new: newPair,
  token: documentToken,
};

const talk = ["--debug", "--verbose"];

describe("secrets that a service repeats in its messages", () => {
  test.each([[[]], [["--json"]], [talk], [["--json", ...talk]]])(
    "the token, at an `ack` of a later process %j",
    async (more) => {
      const { machine, run, expectClean } = await prepare(echo([]));
      await importOld(machine, uuid, kind);
      expectExit(await run("get", uuid, "--no-ack", "--json"), 0);
      expectExit(await run("ack", uuid, ...more), 13);
      await expectClean();
    },
  );

  test("the token, at an `ack` that goes unanswered", async () => {
    const { machine, run, expectClean } = await prepare(echo([], 503));
    await importOld(machine, uuid, kind);
    expectExit(await run("get", uuid, "--no-ack", "--json"), 0);
    expectExit(await run("ack", uuid, "--max-wait", "1s", ...talk), 11);
    expectExit(await run("ack", "--all", "--max-wait", "1s", "--json"), 11);
    await expectClean();
  });

  test("the token, at a `get` that acknowledges first", async () => {
    const { service, machine, run, expectClean } = await prepare(echo([], 503));
    await importOld(machine, uuid, kind);
    expectExit(await run("get", uuid, "--json", "--max-wait", "1s"), 11);
    service.be(echo([]));
    await run("get", uuid, ...talk);
    await expectClean();
  });

  test.each([
    ["get", uuid, "--kind", kind, "--credentials", "env:DOCUMENT"],
    ["import", uuid, "--kind", kind, "--credentials", "env:DOCUMENT"],
  ])("token and both pairs of a recovery document: %s", async (...args) => {
    const { run, expectClean } = await prepare(echo(Object.values({ ...oldPair, ...newPair })));
    await run(...args, ...talk);
    await expectClean();
  });

  test("token and both pairs of a recovery document: import --file", async () => {
    const malice = echo(Object.values({ ...oldPair, ...newPair }));
    const { machine, run, expectClean } = await prepare(malice);
    const file = machine.file("vaults.ndjson", { uuid, kind, credentials: document });
    await run("import", "--file", file, ...talk);
    await expectClean();
  });

  test("the card's number however it is grouped, and the holder's name", async () => {
    for (const more of [[], talk, ["--json", ...talk]]) {
      const { machine, run, expectClean } = await prepare(echo([...numbers, ...names]));
      await importOld(machine, uuid, kind);
      expectExit(await run("get", uuid, ...more), 13);
      await expectClean();
    }
  });

  test.each(["e", "Al", "Ann"])(
    "a name as short as %s takes no other text with it",
    async (name) => {
      const malice = echo([name]);
      const { machine, run } = await prepare((asked, answered) => {
        if (asked.what.endsWith("-end")) malice(asked, answered);
        else answered.send(withVault(answered.good, { creditCard: { ...card, name } }));
      });
      await importOld(machine, uuid, kind);
      const { stderr } = await run("get", uuid, "--json");
      const { message, help } = errorOf({ code: 13, signal: null, stdout: "", stderr });
      expect(message).toMatch(/^the service no longer accepts the token \(service: /);
      expect(help).toBe(`vault get ${uuid}`);
    },
  );

  test("the number and the name that an update sends", async () => {
    const { machine, run, expectClean } = await prepare(({ what, body }, { good, send }) => {
      if (!what.endsWith("-start")) return send(good);
      const message = [body, ...numbers, ...names].join(" | ");
      const detailedErrors = [{ property: "vault.credentials", message }];
      send({ responseStatus: { status: "ERROR", detailedErrors } }, 400);
    });
    await importOld(machine, uuid, kind);
    expectExit(await run("update", uuid, "--card", "env:CARD", ...talk), 6);
    await expectClean();
  });

  test("what an answer brings itself: shown by --debug, or refused as unusable", async () => {
    const own = ["token-1+of/the-service=", "data-1+of/the-hostile-service="];
    const words = [...own, ...numbers, ...names].join(" | ");
    for (const lacks of [false, true]) {
      const { machine, run, expectClean } = await prepare((_, { good, send }) => {
        const { vault } = good as { vault?: object };
        const detailedErrors = [{ message: words }];
        const answer = { ...good, responseStatus: { status: "SUCCESS", detailedErrors } };
        send(lacks ? { ...answer, vault: { ...vault, uuid: "not-this-one" } } : answer);
      });
      await importOld(machine, uuid, kind);
      expectExit(await run("get", uuid, ...talk), lacks ? 13 : 0);
      await expectClean();
    }
  });
});
