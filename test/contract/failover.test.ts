import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../support/postgres.ts";
import { SchemaCopy } from "../support/schema-copy.ts";
import type { SharedState } from "../support/shared-state.ts";
import { sharedState } from "../support/shared-state.ts";
import { held, imported, intent, patient, service, started, uuid } from "./store-fixture.ts";

let state: SharedState;
let copy: SchemaCopy;
beforeEach(async () => {
  state = await sharedState();
  const schema = new URL(state.location).searchParams.get("schema") ?? "";
  copy = new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);
});
afterEach(() => state.dispose());

describe("the rows go back to what they were some commits ago, as after a failover", () => {
  it("and the next holder has the same numbers as the one before: their steps do not mix", async () => {
    await (await imported(state)).release();
    await copy.take();
    const former = await held(state);
    await former.recordIntent(intent("x1", 1));
    await copy.putBack();
    const next = await state.another().lock(service, uuid, patient(state.clock, 0));
    await next.recordIntent(intent("x2", 1));
    await expect(former.recordStarted("x1", started("lost"))).rejects.toMatchObject({ code: "busy" });
    await former.release();
    await next.recordStarted("x2", started("second"));
    expect(await state.store.locks()).toHaveLength(1);
    await next.release();
  });
});
