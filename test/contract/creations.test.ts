import { expect, it } from "vitest";
import { describeStore } from "./store-contract.ts";
import type { CreatedVault, Creation } from "../../src/exchange/records.ts";
import {
  eachOn,
  held,
  holdAgain,
  imported,
  intent,
  known,
  lower,
  pair,
  problem,
  service,
  standings,
  started,
  uuid,
} from "./store-fixture.ts";
import { device } from "../support/examples.ts";
import { fingerprint } from "../../src/protocol/fingerprint.ts";

const creation: Creation = {
  id: "01CREATION",
  service,
  kind: "generic/online",
  externalRef: "order-1",
};
const dates = {
  expiryDate: null,
  autoLockDate: "2027-01-01T00:00:00Z",
  dateCreated: "2026-01-01T00:00:00Z",
  lastModified: null,
};
const vault: CreatedVault = {
  uuid,
  credentials: { ...pair("new"), hashedPin: "cGlu" },
  device,
  label: "Ada",
  usesRemaining: 3,
  limited: true,
  ...dates,
};

/** Vaults that are created and deleted at the service (extended operations), and what an info call tells. */
describeStore("creating vaults", (make) => {
  const on = eachOn(make, held);

  it("keeps the credentials of a new vault whose label another one has by now, without it", async () => {
    const { store } = on.fixture;
    await on.session.recordPair({
      credentials: pair("old"),
      kind: "generic/offline",
      label: "Ada",
    });
    await store.beginCreation(creation);
    const created = uuid.replace(/1$/, "2");
    expect(await store.completeCreation(creation, { ...vault, uuid: created })).toBe(1);
    expect(await store.find(created)).toMatchObject([
      { label: null, generations: [{ proven: true }] },
    ]);
    expect(await known(on.session)).toMatchObject({ label: "Ada" });
  });

  it("makes a vault known by what the service handed out: current, proven, counters zero", async () => {
    const { store } = on.fixture;
    await on.session.release();
    await store.beginCreation(creation);
    expect(await store.list()).toEqual([]);
    expect(await store.completeCreation(creation, vault)).toBe(1);
    await holdAgain(on);
    const record = await known(on.session);
    expect(record).toMatchObject({
      uuid: lower,
      kind: "generic/online",
      label: "Ada",
      unackedStarts: 0,
      failedAttempts: 0,
    });
    expect(record).toMatchObject({
      usesRemaining: 3,
      limited: true,
      ...dates,
      open: null,
      last: null,
    });
    expect(record.generations).toMatchObject([
      {
        generation: 1,
        standing: "current",
        proven: true,
        fingerprint: fingerprint(uuid, vault.credentials),
        device,
      },
    ]);
    expect(await on.session.credentials(1)).toEqual(vault.credentials);
  });

  it("says so where another process holds the vault for long: whoever creates it has the credentials", async () => {
    const another = on.fixture.another();
    await another.beginCreation(creation);
    await expect(another.completeCreation(creation, vault)).rejects.toMatchObject({ code: "busy" });
    expect(await on.session.read()).toBeNull();
  });

  it("beside credentials that are known already it adds an unproven generation, and changes nothing else", async () => {
    await on.session.recordPair({
      credentials: pair("old"),
      kind: "generic/offline",
      label: "mine",
    });
    await on.fixture.store.beginCreation(creation);
    await on.session.release();
    expect(await on.fixture.store.completeCreation(creation, vault)).toBe(2);
    await holdAgain(on);
    expect(await standings(on.session)).toEqual(["2 imported", "1 imported"]);
    expect(await known(on.session)).toMatchObject({ label: "mine", kind: "generic/offline" });
  });

  it("after the vault was forgotten it is a new one, whose counters are zero", async () => {
    await on.session.recordPair({ credentials: pair("old"), kind: "generic/offline" });
    await on.session.recordIntent(intent("x1", 1));
    await on.session.forget();
    await on.session.release();
    await on.fixture.store.beginCreation(creation);
    await on.fixture.store.completeCreation(creation, vault);
    await holdAgain(on);
    expect(await known(on.session)).toMatchObject({ unackedStarts: 0, label: "Ada" });
    expect(await standings(on.session)).toEqual(["2 current"]);
  });
});

describeStore("deleting vaults", (make) => {
  const on = eachOn(make, imported);

  it("a delete is journalled and counted like a start, and ends with the credentials removed and the counters zero", async () => {
    await on.session.recordIntent(intent("d1", 1, { operation: "delete" }));
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 1,
      failedAttempts: 1,
      open: null,
      last: { operation: "delete", state: "intent" },
    });
    await on.session.recordDeleted("d1");
    expect(await known(on.session)).toMatchObject({
      unackedStarts: 0,
      failedAttempts: 0,
      generations: [],
      last: null,
      label: null,
    });
    expect(await on.fixture.store.find(uuid)).toEqual([]);
    expect(await on.fixture.store.list()).toEqual([]);
  });

  it("removes them with an exchange open, too, and fingerprints of superseded pairs stay", async () => {
    await on.session.recordIntent(intent("x1", 1));
    await on.session.recordStarted("x1", started("second"));
    await on.session.recordEnding("x1", true);
    await on.session.acknowledge("x1");
    await on.session.recordIntent(intent("x2", 2));
    await on.session.recordStarted("x2", started("third"));
    await on.session.recordIntent(intent("d1", 2, { operation: "delete" }));
    await on.session.recordDeleted("d1");
    expect((await known(on.session)).open).toBeNull();
    expect(await on.session.isSuperseded(pair("first"))).toBe(true);
  });

  it("is conditional on its ①", async () => {
    await expect(on.session.recordDeleted("d1")).rejects.toMatchObject({ code: "state" });
    await on.session.recordIntent(intent("d1", 1, { operation: "delete" }));
    await on.session.noteOutcome("d1", "free", problem);
    await expect(on.session.recordDeleted("d1")).rejects.toMatchObject({ code: "state" });
    expect(await standings(on.session)).toEqual(["1 imported"]);
  });
});
