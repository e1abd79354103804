import { beforeEach, describe, expect, it } from "vitest";
import { postgres } from "../support/postgres.ts";
import { SchemaCopy, sharedState, type SharedState } from "../support/shared-state.ts";
import {
  exchange,
  held,
  imported,
  intent,
  known,
  pair,
  patient,
  service,
  started,
  uuid,
} from "./store-fixture.ts";

let state: SharedState;
let copy: SchemaCopy;
let schema: string;
beforeEach(async () => {
  state = await sharedState();
  schema = new URL(state.location).searchParams.get("schema") ?? "";
  copy = new SchemaCopy((await postgres()).sql, schema, `${schema}_standby`);
});

describe("the rows go back to what they were some commits ago, as after a failover", () => {
  it("and the next holder has the same numbers as the one before: their steps do not mix", async () => {
    await (await imported(state)).release();
    await copy.take();
    const former = await held(state);
    await former.recordIntent(intent("x1", 1));
    await copy.putBack();
    const next = await state.another().lock(service, uuid, patient(state.clock, 0));
    await next.recordIntent(intent("x2", 1));
    await expect(former.recordStarted("x1", started("lost"))).rejects.toMatchObject({
      code: "busy",
    });
    await former.release();
    await next.recordStarted("x2", started("second"));
    expect(await state.store.locks()).toHaveLength(1);
    await next.release();
  });

  it("and the machine that has acknowledged an exchange brings it back, though the clock of the new server is behind", async () => {
    await lose("x1");
    const other = await state.another().lock(service, uuid, patient(state.clock));
    await other.recordPair({ credentials: pair("other"), kind: "credit-card/offline" });
    await other.release();
    const session = await held(state);
    const { generations } = await known(session);
    expect(await session.credentials(generations[0]?.generation ?? 0)).toMatchObject(pair("lost"));
    await session.release();
  });

  it("and the machine still knows what it has kept after it has listed the vaults as they are now", async () => {
    await lose("x1");
    await state.store.list();
    // Others get as far with a pair of their own.
    const third = await state.another().lock(service, uuid, patient(state.clock));
    await third.recordPair({ credentials: pair("third"), kind: "credit-card/offline" });
    await third.release();
    await state.store.list();
    const session = await held(state);
    const { generations } = await known(session);
    expect(await session.credentials(generations[0]?.generation ?? 0)).toMatchObject(pair("lost"));
    await session.release();
  });

  it("and what the machine has kept is of no use, where others have gone on with the pair that it began with", async () => {
    await lose("x1");
    const other = await state.another().lock(service, uuid, patient(state.clock));
    await exchange(other, "x2", 1, "next");
    await other.release();
    const session = await held(state);
    expect(await known(session)).toMatchObject({
      generations: [{ generation: 2, standing: "current", proven: true }, { generation: 1 }],
    });
    await session.release();
  });

  it("and what was superseded by a step that the rows have lost is superseded for ever by the next one", async () => {
    await (await imported(state)).release();
    const session = await held(state);
    await exchange(session, "x1", 1, "second");
    const { sql } = await postgres();
    await sql(`DELETE FROM ${schema}.spent`);
    await exchange(session, "x2", 2, "third");
    expect(await sql(`SELECT FROM ${schema}.spent`)).toHaveLength(2);
    await session.release();
  });

  /** An exchange after which the rows go back: at an earlier time than its own, by the clock of the server that has taken over. */
  async function lose(id: string): Promise<void> {
    await (await imported(state)).release();
    await copy.take();
    const session = await held(state);
    await exchange(session, id, 1, "lost");
    await session.release();
    await copy.putBack();
  }
});

it.each(["forgotten", "deleted"])(
  "a vault that was %s is not given back what a machine has kept of it",
  async (way) => {
    const session = await imported(state);
    await exchange(session, "x1", 1, "second");
    if (way === "forgotten") await session.forget();
    else {
      await session.recordIntent(intent("x2", 2, { operation: "delete" }));
      await session.recordDeleted("x2");
    }
    await session.recordPair({ credentials: pair("newer"), kind: "credit-card/offline" });
    await session.release();
    const next = await held(state);
    expect((await known(next)).generations).toHaveLength(1);
    await next.release();
  },
);
