import { describe, expect, it } from "vitest";
import { parseWhatIf, whatIfForms } from "../../src/audit/fold/rules.ts";
import { failure, line, moment, replayText, vaultUuid } from "./support.ts";

const created = line(0, "CREATE_VAULT");
const reads = [1, 2, 3, 4, 5].map((at) => line(at, "READ_VAULT"));
const of2 = { vaultUuid: vaultUuid(2) };
const bystander = line(2, "READ_VAULT", of2);

async function changes(change: string, lines: readonly string[]) {
  const whatIf = parseWhatIf(change, () => 600_000);
  const { result } = await replayText(`${lines.join("\n")}\n`, { whatIf });
  const short = result.whatIf?.vaults.map(({ uuid, before, after }) => [
    uuid,
    before.verdict,
    after.verdict,
    after.unackedStarts,
    after.failedAttempts,
  ]);
  return { changed: short, unchanged: result.whatIf?.unchanged };
}

it("a change that is none is refused, and the forms are listed once", () => {
  const refused = (): unknown => parseWhatIf("lock-after=5", Number);
  expect(refused).toThrow(
    expect.objectContaining({
      code: "invalid-input",
      message: "--what-if: is not a known change",
      facts: { hint: expect.stringContaining(whatIfForms.join(", ")) as string },
    }) as Error,
  );
});

describe("what if", () => {
  it("an acknowledgement had come at that time: of what was open then", async () => {
    const lines = [created, ...reads.slice(0, 2), bystander, ...reads.slice(2)];
    expect(await changes(`ack@${moment(3.5)}`, lines)).toEqual({
      changed: [
        [vaultUuid(1), "locked", "open-exchange", 2, 0],
        [vaultUuid(2), "open-exchange", "ok", 0, 0],
      ],
      unchanged: 0,
    });
  });

  it("nothing was open then: nothing differs", async () => {
    expect(await changes(`ack@${moment(0.5)}`, [created, ...reads])).toEqual({
      changed: [],
      unchanged: 1,
    });
  });

  it("the acknowledgement would have come too late, and that is told", async () => {
    const whatIf = parseWhatIf(`ack@${moment(500)}`, () => 0);
    const { result } = await replayText(`${[created, ...reads.slice(0, 2)].join("\n")}\n`, {
      whatIf,
    });
    expect(result.whatIf).toMatchObject({
      vaults: [],
      touched: 0,
      notes: ["too late for 1 exchange: the token had expired"],
    });
    const none = await replayText(`${created}\n`, {
      whatIf: parseWhatIf(`without@${moment(77)}`, () => 0),
    });
    expect(none.result.whatIf?.notes).toEqual(["no item has that time"]);
  });

  it("the acknowledgement had come after the last item", async () => {
    expect(await changes(`ack@${moment(60)}`, [created, ...reads.slice(0, 4)])).toEqual({
      changed: [[vaultUuid(1), "at-risk", "ok", 0, 0]],
      unchanged: 0,
    });
  });

  it("the limits were others, whatever the items say of locks", async () => {
    const said = [
      failure(1),
      failure(2),
      failure(3, { description: "bad credentials, vault locked" }),
    ];
    expect(await changes("lock-after-failed=5", [created, ...said])).toEqual({
      changed: [[vaultUuid(1), "locked", "open-exchange", 0, 3]].map(
        ([uuid, before, , ...rest]) => [uuid, before, "ok", ...rest],
      ),
      unchanged: 0,
    });
    const refused = line(5, "READ_VAULT", {
      outcome: "FAILURE",
      description: "too many starts without acknowledgement, vault locked",
    });
    expect(
      await changes("lock-after-unacked=6", [created, ...reads.slice(0, 4), refused]),
    ).toMatchObject({
      changed: [[vaultUuid(1), "locked", "at-risk", 5, 0]],
    });
  });

  it("an item had not been", async () => {
    expect(
      await changes(`without@${moment(3)}`, [created, failure(1), failure(2), failure(3)]),
    ).toMatchObject({
      changed: [[vaultUuid(1), "locked", "at-risk", 0, 2]],
    });
  });

  it("none of a vault's items had been, which leaves it without a verdict, and with their time", async () => {
    const whatIf = parseWhatIf(`without@${moment(3)}`, () => 0);
    const { result } = await replayText(`${created}\n${line(3, "READ_VAULT", of2)}\n`, { whatIf });
    expect(result.whatIf?.vaults).toMatchObject([
      { after: { verdict: "unknown", items: 0, firstAt: moment(3), lastAt: moment(3) } },
    ]);
  });

  it("the service were of an older release", async () => {
    const lines = [created, failure(1), line(900, "READ_VAULT", of2)];
    expect(await changes("release=1.2.22", lines)).toMatchObject({
      changed: [[vaultUuid(1), "ok", "locked", 0, 1]],
      unchanged: 1,
    });
  });
});
