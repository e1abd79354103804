import { beforeEach, expect, it } from "vitest";
import { sharedState, type SharedState } from "../../support/shared-state.ts";
import { prepareClaim } from "../../../src/store/whole/move.ts";

let state: SharedState;
beforeEach(async () => {
  state = await sharedState();
});

const numbers = async (): Promise<unknown> =>
  await state.sql(
    "SELECT name, value FROM schema.meta WHERE name IN ('copies', 'doubts') ORDER BY name",
  );

it("of several that find another timeline at once, one says so, and nothing counts as sole or proven", async () => {
  for (const value of ["1", "2"]) {
    await state.sql("UPDATE schema.meta SET value = '00000000' WHERE name = 'timeline'");
    const told: string[] = [];
    const stores = Array.from({ length: 8 }, () =>
      state.through(Number(new URL(state.location).port)),
    );
    for (const { parts } of stores) parts.warn = (message) => told.push(message);
    await Promise.all(stores.map(async (store) => await store.list()));
    expect(told).toEqual([expect.stringContaining("another server has taken over")]);
    expect(await numbers()).toEqual([
      { name: "copies", value },
      { name: "doubts", value },
    ]);
  }
});

it.each([
  ["the row was written again, as from a dump", "born = born"],
  ["the server is another one", "born = pg_current_xact_id(), system = '1'"],
  ["the database is another one of the server", "born = pg_current_xact_id(), database = '1'"],
])("a state is a copy if %s, on another timeline, too, until it is claimed", async (_, set) => {
  await state.sql("UPDATE schema.meta SET value = '00000000' WHERE name = 'timeline'");
  await state.sql(`UPDATE schema.identity SET ${set}`);
  await expect(state.another().list()).rejects.toMatchObject({ code: "state", exitCode: 14 });
  expect(await numbers()).toEqual([]);
  const { signal } = new AbortController();
  const place = await state.another().whole();
  const nowhere = async () => await Promise.reject(new Error("nothing was moved"));
  const claim = await prepareClaim(place, nowhere, () => undefined);
  await claim({ deadline: state.clock.elapsed(), signal });
  expect(await state.another().list()).toEqual([]);
});
