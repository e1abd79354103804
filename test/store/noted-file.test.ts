import { expect, test } from "vitest";
import { patient, imported, service, uuid } from "../contract/store-fixture.ts";
import { temporaryState } from "./temporary-state.ts";

test("a copied state is told once where several vaults are locked at the same time", async () => {
  const state = temporaryState();
  await (await imported(state)).release();
  state.sql("UPDATE meta SET value = '0' WHERE name = 'file'");
  const copied = state.another();
  const vaults = [uuid, ...[2, 3, 4].map((n) => `${uuid.slice(0, -1)}${n}`)];
  const sessions = await Promise.all(
    vaults.map(async (vault) => await copied.lock(service, vault, patient(state.clock))),
  );
  expect(state.warnings).toEqual([expect.stringMatching(/was copied or moved/)]);
  expect((await sessions[0]?.read())?.generations).toMatchObject([{ elsewhere: true }]);
  for (const session of sessions) await session.release();
});
