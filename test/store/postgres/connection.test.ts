import pg from "pg";
import { expect, it, vi } from "vitest";
import { imported, intent, known } from "../../contract/store-fixture.ts";
import { sharedState } from "../../support/shared-state.ts";

it("a pipe that breaks is a lost answer, and no answer of the server: its code has five letters too", async () => {
  const state = await sharedState();
  const session = await imported(state);
  const { query } = pg.Client.prototype;
  const broken = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  vi.spyOn(pg.Client.prototype, "query").mockImplementationOnce(function (this: pg.Client, ...given: unknown[]) {
    const answer = query.apply(this, given as never) as unknown;
    (this as unknown as { connection: { stream: { destroy(error: Error): void } } }).connection.stream.destroy(broken);
    return answer as never;
  });
  await session.recordIntent(intent("x1", 1));
  expect(await known(session)).toMatchObject({ unackedStarts: 1, last: { id: "x1", state: "intent" } });
  await session.release();
  state.dispose();
});
