import { describe, expect, it } from "vitest";
import { card, expectError, expectExit, offlineNote, warmLab } from "../support/lab.ts";
import { hostileWorld, kind, type Malice } from "../support/hostile-service.ts";
import { errorOf } from "../support/machine.ts";

const error = (message: string, property?: string) => ({
  responseStatus: { status: "ERROR", detailedErrors: [{ message, property }] },
});

const nothing = { unackedStarts: 0, failedAttempts: 0 };

/** Answers of something that lacks the endpoint: a gateway, another server, or the service itself. */
const lacking: [string, Malice][] = [
  [
    "a page with 404",
    (_, { send }) => send("<html>Not Found</html>", 404, { "content-type": "text/html" }),
  ],
  [
    "a page with 405",
    (_, { send }) => send("<html>Not Allowed</html>", 405, { "content-type": "text/html" }),
  ],
  ["an empty 404", (_, { send }) => send("", 404)],
  [
    "JSON of another server",
    (_, { send }) => send({ status: 404, error: "Not Found", path: "/vault/generic" }, 404),
  ],
  [
    "404 about the path",
    ({ path }, { send }) => send(error(`No static resource ${path.slice(1)}.`), 404),
  ],
  ["404 about the vault's path", ({ path }, { send }) => send(error(`Not found: ${path}`), 404)],
  [
    "404 about the endpoint",
    (_, { send }) => send(error("The endpoint of this vault was not found"), 404),
  ],
  ["404 without a word", (_, { send }) => send({ responseStatus: { status: "ERROR" } }, 404)],
];

describe.concurrent("an endpoint that is not there", () => {
  it.each(lacking)(
    "%s: get is 13, counts nothing, and leaves the vault as it was",
    async (_, malice) => {
      const { service, machine, uuid } = await hostileWorld();
      await machine.ok("get", uuid);
      const before = await machine.status(uuid);
      expect(before.status).toBe("ready");
      service.be(malice);
      for (let times = 0; times < 4; times += 1) {
        const refused = await machine.vault("get", uuid, "--json");
        const why =
          /no such endpoint.*base URL, the prefix or the service's version.*nothing was counted/;
        expectError(refused, "service", why);
        expect(errorOf(refused)).toMatchObject({ retry: "after-fix", spent: nothing });
        expect(errorOf(refused).help).toMatch(/--base-url and --api-prefix/);
      }
      expect(await machine.status(uuid)).toMatchObject({
        status: "ready",
        locked: false,
        ...nothing,
      });
      expect(await machine.exported(uuid)).not.toBeNull();
      service.be(kind);
      await machine.ok("get", uuid);
    },
  );

  it.each([["update", "--content", "new"], ["delete", "--yes"], ["info"]])(
    "%s, which the service need not offer: 13, though it speaks of the vault",
    async (command, ...args) => {
      const { service, machine, uuid } = await hostileWorld();
      await machine.ok("get", uuid);
      service.be((_, { send }) => send(error("no such vault", "vaultUuid"), 404));
      const refused = await machine.vault(command, uuid, ...args, "--json");
      expectError(refused, "service", /no such endpoint, or no such vault/);
      expect(errorOf(refused).help).toMatch(/may not support/);
      expect(await machine.status(uuid)).toMatchObject({
        status: "ready",
        locked: false,
        ...nothing,
      });
      service.be(kind);
      await machine.ok("get", "--all", "-o", "ndjson");
    },
  );

  it("does not settle an acknowledgement", async () => {
    const { service, machine, uuid } = await hostileWorld();
    service.be((asked, { good, send }) =>
      asked.what === "get-end" ? send(error("Unknown endpoint"), 404) : send(good),
    );
    expectError(await machine.vault("get", uuid, "--json"), "pending");
    expect(await machine.status(uuid)).toMatchObject({ status: "acknowledging" });
    service.be(kind);
    await machine.ok("ack", uuid);
  });

  it("of a vault that the service names as deleted is 7; nothing leads to forget", async () => {
    const { machine, uuid } = await warmLab(offlineNote);
    expectExit(await machine.copy().vault("delete", uuid, "--yes"), 0);
    const gone = await machine.vault("get", uuid, "--json");
    expectError(gone, "locked", /gone/);
    expect(await machine.status(uuid)).toMatchObject({ status: "gone" });
    const shown = await machine.vault("status", uuid);
    for (const { stdout, stderr } of [gone, shown])
      expect(stdout + stderr).not.toContain("vault forget");
    expect(shown.stdout).toContain("--base-url");
  });
});

describe.concurrent("an update where the service has none", () => {
  it("is 13 for a card too", async () => {
    const { service, machine } = await hostileWorld();
    const uuid = "1f9b1c1e-2d3c-4b5a-8697-a8b9cadbecfd";
    await machine.ok("import", uuid, "--kind", "credit-card/offline", "--credentials", "env:PAIR");
    service.be((_, { send }) => send({ timestamp: 1, status: 404, error: "Not Found" }, 404));
    const file = `@${machine.file("card.json", card)}`;
    const refused = await machine.vault("update", uuid, "--card", file, "--json");
    expectError(refused, "service", /no such endpoint/);
    const was = { status: "unverified", locked: false, ...nothing };
    expect(await machine.status(uuid)).toMatchObject(was);
  });
});
