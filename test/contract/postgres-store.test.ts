import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseAddress } from "../../src/store/postgres/address.ts";
import { PostgresStore } from "../../src/store/postgres/store.ts";
import { postgres } from "../support/postgres.ts";
import { describeStore } from "./store-contract.ts";
import type { StoreFixture } from "./store-fixture.ts";
import { TestClock } from "./store-fixture.ts";

let made = 0;

async function sharedState(): Promise<StoreFixture> {
  const { location } = await postgres();
  const root = mkdtempSync(join(tmpdir(), "vault-shared-"));
  const clock = new TestClock("2026-11-21T10:00:00Z");
  const address = parseAddress(location(`state_${(made += 1)}`), {}, "postgres", () => undefined);
  const keySource = { type: "file", path: join(root, "state.key") } as const;
  const stores: PostgresStore[] = [];
  const another = (): PostgresStore => {
    const holder = { host: "here", pid: stores.length, user: "tester" };
    const time = { note: () => undefined, now: () => clock.now() };
    const store = new PostgresStore({ address, keySource, clock, holder, warn: () => undefined, time });
    stores.push(store);
    return store;
  };
  const store = another();
  await store.initialize();
  const dispose = (): void => {
    for (const each of stores) each.close();
    rmSync(root, { recursive: true, force: true });
  };
  return { store, clock, another, dispose };
}

describeStore("PostgreSQL", sharedState);
