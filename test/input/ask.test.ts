import { expect, test } from "vitest";
import type { Prompts } from "../../src/cli/prompts.ts";
import { askVault } from "../../src/input/ask.ts";
import { completeContents, readContents } from "../../src/input/contents.ts";
import type { VaultRecord } from "../../src/exchange/records.ts";
import type { Local } from "../../src/parts/state.ts";
import { fakeBasics, uuid } from "../support/fake-host.ts";

/** A person who gives these answers, each once, and the next one where a rule refuses it; what was read on the way. */
function person(...answers: string[]) {
  const read = {
    questions: [] as string[],
    refusals: [] as string[],
    offered: [] as string[],
  };
  const text: Prompts["text"] = async ({ message, rule }) => {
    read.questions.push(message);
    for (;;) {
      const answer = answers.shift();
      if (answer === undefined) throw new Error(`no answer to ${message}`);
      const refusal = (await rule?.(answer)) ?? null;
      if (refusal === null) return await Promise.resolve(answer);
      read.refusals.push(refusal);
    }
  };
  const ask: Prompts = {
    isPossible: true,
    text,
    secret: text,
    choose: async (_, choices) => {
      read.offered = choices.map(({ name }) => name.trim());
      const [first] = choices;
      if (first === undefined) throw new Error("nothing is offered");
      return await Promise.resolve(first.value);
    },
    confirm: async () => await Promise.reject(new Error("no question is expected")),
  };
  const { io, settings } = fakeBasics();
  return { io: { ...io, ask }, settings, read };
}

const card = { card: {}, content: undefined };

test("a card is asked for in a person's words, until each answer is valid", async () => {
  const answers = [
    ["", "4111 1111 1111 1112", "4111-1111-1111-1111"],
    ["", "  ", "Ada Lovelace Ada Lovelace Ada Lovelace", "Ada Lovelace"],
    ["", "4/9", "13/29", "04/029", "04/29"],
  ].flat();
  const { io, read } = person(...answers);
  await expect(completeContents(io, "credit-card/offline", card)).resolves.toEqual({
    creditCard: {
      number: "4111111111111111",
      name: "Ada Lovelace",
      expiryMonth: 4,
      expiryYear: 2029,
    },
  });
  expect(read.questions).toEqual(["Card number", "Name on the card", "Expiry (MM/YY)"]);
  expect(read.refusals).toHaveLength(9);
  expect(read.refusals.filter((text) => /--|Luhn|undefined/.test(text))).toEqual([]);
});

test.each([
  ["04/29", 2029],
  ["4/99", 2099],
  [" 04 / 2031 ", 2031],
])("an expiry is month and year as on a card: %j", async (expiry, expiryYear) => {
  const { io } = fakeBasics();
  const { card: given } = await readContents(io, { expiry });
  expect(given).toEqual({ expiryMonth: 4, expiryYear });
});

const vault = (n: number, change: Partial<VaultRecord>): VaultRecord =>
  ({
    uuid: uuid(n),
    label: null,
    kind: "credit-card/offline",
    service: "here",
    generations: [{}],
    limited: false,
    open: null,
    ...change,
  }) as VaultRecord;

/** What is offered to a person whom `command` asks for a vault, the first one being what only Enter takes. */
async function offered(
  command: string,
  vaults: readonly VaultRecord[],
  which?: (record: VaultRecord) => boolean,
): Promise<string[]> {
  const { io, settings, read } = person(uuid(9));
  const state = { store: async () => ({ list: async () => vaults }) } as unknown as Local["state"];
  await askVault({ io, settings, state }, undefined, command, which);
  return read.offered;
}

test("vaults are offered in their order, those with limited reads last, and Enter never takes one of them", async () => {
  const other = "another vault, by its UUID";
  const limited = vault(1, { label: "a", limited: true });
  const spare = vault(2, { label: "spare" });
  const gone = vault(3, { label: "gone", generations: [] });
  expect(await offered("get", [limited, spare, gone])).toEqual([
    `spare  ${uuid(2)}`,
    other,
    `a      ${uuid(1)}`,
  ]);
  expect(await offered("get", [limited])).toEqual([other, `a  ${uuid(1)}`]);
  expect(await offered("get", [spare, limited], ({ label }) => label === "a")).toEqual([
    other,
    `a  ${uuid(1)}`,
  ]);
  expect(await offered("import", [gone, spare])).toEqual([
    other,
    `gone   ${uuid(3)}`,
    `spare  ${uuid(2)}`,
  ]);
  // What works on this machine alone takes no vault that is not known here.
  expect(await offered("export", [vault(2, {})])).toEqual([uuid(2)]);
  await expect(offered("forget", [gone])).rejects.toMatchObject({ code: "no-credentials" });
});
