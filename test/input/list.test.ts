import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { VaultNames } from "../../src/cli/vault-name.ts";
import { nameOf, readList, startOf, type ListChoice } from "../../src/input/list.ts";
import type { ForAll } from "../../src/input/read-start.ts";

import type { Named, VaultRecord } from "../../src/exchange/records.ts";
import type { Start } from "../../src/exchange/start/start.ts";
import { failure, fakeBasics, fakeHost } from "../support/fake-host.ts";

const uuidOf = (n: number): string => `${String(n).padStart(8, "0")}-0000-4000-8000-00000000abcd`;
const generation = { proven: true, device: null };
const vault = (n: number, label: string | null, more: Partial<VaultRecord> = {}): VaultRecord =>
  ({
    uuid: uuidOf(n),
    label,
    kind: "credit-card/offline",
    generations: [generation],
    ...more,
  }) as VaultRecord;
const known = [
  vault(1, "spare"),
  vault(2, "Checkout"),
  vault(3, null),
  vault(4, "notes", { kind: "generic/offline" }),
  vault(5, "forgotten", { generations: [] }),
];
const ofCard = "credit-card/offline";
const note = "generic/offline";
const pair = { encryptedData: "c2VjcmV0LTE=", payload: "c2VjcmV0LTI=" };
const card = { number: "4111111111111111", name: "Ada Lovelace", expiryMonth: 4, expiryYear: 2029 };

type Operation = "get" | "update" | "ack";
type Choice = Partial<ListChoice> & { defaults?: Partial<ForAll> };

/** What every vault of a list has that says nothing else. */
const common = { force: false, noAck: false, discardPending: false };

/** Reads a list. Of each vault, what is the same for all is left out. */
async function read(
  { defaults, ...choice }: Choice,
  operation: Operation = "get",
  input = "",
  isPossible = true,
  vaults = known,
) {
  const { io } = fakeBasics(fakeHost({ input, files: { list: input } }));
  const app = { ...io, ask: { ...io.ask, isPossible } };
  const list = { vaults: [], ...choice };
  const names = new VaultNames(vaults);
  if (operation === "ack") return await readList(app, list, operation, names, nameOf);
  const forAll = { operation, ...common, ...defaults };
  const starts = await readList(app, list, operation, names, (...line) => startOf(forAll, ...line));
  const isForAll = (key: string): boolean => key === "operation" || key in common;
  return starts.map((start): Partial<Start> & Named => ({
    uuid: start.uuid,
    label: start.label,
    ...Object.fromEntries(Object.entries(start).filter(([key]) => !isForAll(key))),
  }));
}

/** A list on standard input: lines, or objects. */
const listed = async (
  lines: readonly unknown[],
  operation: Operation = "get",
  choice: Choice = {},
) =>
  await read(
    { from: "-", ...choice },
    operation,
    lines.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n"),
  );

describe("a list in a file", () => {
  it("has a vault a line, by UUID, label or first digits, or objects; empty lines are ignored", async () => {
    const given = await listed([
      "",
      ` ${uuidOf(1).toUpperCase()} \r`,
      "Checkout",
      "00000003",
      "",
      { uuid: uuidOf(4), externalRef: "order-1" },
    ]);
    expect(given).toEqual([
      { uuid: uuidOf(1), label: "spare", kind: ofCard },
      { uuid: uuidOf(2), label: "Checkout", kind: ofCard },
      { uuid: uuidOf(3), label: null, kind: ofCard },
      { uuid: uuidOf(4), label: "notes", kind: note, externalRef: "order-1" },
    ]);
    expect(await read({ from: "list" }, "get", "spare\n")).toEqual([
      { uuid: uuidOf(1), label: "spare", kind: ofCard },
    ]);
  });

  const pretty = (value: unknown): string => JSON.stringify(value, null, 2);
  const [one, two] = [{ uuid: uuidOf(1) }, { uuid: uuidOf(2) }];
  it.each([
    ["a byte order mark", `\uFEFF${uuidOf(1)}\r\n${uuidOf(2)}\r\n\r\n`],
    ["a mark before an object", `\uFEFF${JSON.stringify(one)}\n${JSON.stringify(two)}`],
    ["an array", JSON.stringify([one, two])],
    ["an array over lines, with a mark", `\uFEFF${pretty([one, two])}\n`],
    ["an array of names, as jq writes it", pretty([uuidOf(1), "Checkout"])],
    ["names in quotes, as jq writes them", `"${uuidOf(1)}"\n"Checkout"\n`],
    ["documents in a row, over lines", `${pretty(one)}\n${pretty(two)}\n`],
    ["documents in a row, on one line", `${JSON.stringify(one)} ${JSON.stringify(two)}`],
    ["files put together", `\uFEFF${pretty([one])}\n\uFEFF${JSON.stringify(two)}\n`],
    ["all of it", `spare\n${JSON.stringify([two])}\n`],
  ])("may have %s", async (_, text) => {
    const given = await read({ from: "-" }, "get", text);
    expect(given.map(({ uuid }) => uuid)).toEqual([uuidOf(1), uuidOf(2)]);
  });

  it("may have labels that begin as JSON does", async () => {
    const labels = ["[prod] card", '"the" card', "[", "12 [a"];
    const vaults = labels.map((label, index) => vault(index + 1, label));
    expect(
      (await read({ from: "-" }, "get", labels.join("\n"), true, vaults)).map(({ label }) => label),
    ).toEqual(labels);
  });

  it("is refused where it is empty, also with --all, unless what is pending is acknowledged", async () => {
    const empty = "invalid-input: --from: the list is empty; nothing was sent";
    expect(await failure(listed([]))).toBe(empty);
    expect(await failure(listed(["", " "], "ack"))).toBe(empty);
    const all = async (operation: Operation): Promise<unknown> =>
      await read({ all: true }, operation, "", true, known.slice(4));
    expect(await failure(all("get"))).toMatch(/^invalid-input: --all: no vault of this service/);
    expect(await all("ack")).toEqual([]);
  });

  it("brings the credentials of a vault that is not known yet, as vault export writes them", async () => {
    const line = { uuid: uuidOf(9), label: "new", kind: "generic/offline", credentials: pair };
    expect(await listed([line])).toEqual([
      {
        uuid: uuidOf(9),
        label: "new",
        kind: "generic/offline",
        given: { type: "pair", credentials: pair },
      },
    ]);
    expect(
      await listed([{ uuid: uuidOf(9), credentials: pair }], "get", {
        defaults: { kind: "generic/offline" },
      }),
    ).toMatchObject([{ uuid: uuidOf(9), kind: "generic/offline" }]);
  });

  it("brings the new contents of each vault, or has those for all", async () => {
    const lines = [
      { uuid: uuidOf(1), card },
      { uuid: uuidOf(4), content: "new text", externalRef: "ref" },
    ];
    expect(await listed(lines, "update")).toEqual([
      { uuid: uuidOf(1), label: "spare", kind: ofCard, newVault: { creditCard: card } },
      {
        uuid: uuidOf(4),
        label: "notes",
        kind: note,
        externalRef: "ref",
        newVault: { content: "new text" },
      },
    ]);
  });

  const nothing = "nothing was sent";
  it.each<[string, Operation, unknown[], string]>([
    [
      "a line that is not JSON",
      "get",
      ["spare", '{"uuid":"5105105105105101'],
      "--from line 2: not valid JSON",
    ],
    [
      "an object without a UUID",
      "get",
      [{ kind: "generic/offline" }],
      "--from line 1: uuid is missing: must be 36 characters",
    ],
    [
      "an item of an array without a UUID",
      "get",
      [[one, {}]],
      "--from item 2: uuid is missing: must be 36 characters",
    ],
    [
      "an array that is cut off",
      "get",
      ["spare", JSON.stringify([one]).slice(0, -1)],
      "--from line 2: not valid JSON",
    ],
    ["a number in an array", "get", [[one, 1]], "--from item 2: must be an object, such as"],
    [
      "a UUID that ends in CR",
      "get",
      [{ uuid: `${uuidOf(1)}\r` }],
      "--from line 1: uuid must be 36 characters, hexadecimal and dashes, such as 123e4567-e89b-42d3-a456-426614174000 (an invisible character at the end)",
    ],
    [
      "a card number that is a number",
      "update",
      [{ uuid: uuidOf(1), card: { ...card, number: 5_105_105_105_105_101 } }],
      "--from line 1: card.number must be 8 to 19 digits that pass the Luhn check, such as 4111111111111111 (is a number, not a string)",
    ],
    ["a label as a UUID", "get", [{ uuid: "spare" }], "--from line 1: uuid must be 36 characters"],
    [
      "a property with a typing error",
      "get",
      [{ uuid: uuidOf(1), externalref: "x" }],
      "--from line 1: externalref is not one of uuid, ",
    ],
    [
      "a property of another command",
      "get",
      [{ uuid: uuidOf(1), card }],
      "--from line 1: card is not one of uuid, ",
    ],
    [
      "more than a UUID for ack",
      "ack",
      [{ uuid: uuidOf(1), kind: "generic/offline" }],
      "--from line 1: kind is not one of uuid",
    ],
    [
      "a card with a wrong number",
      "update",
      ["", { uuid: uuidOf(1), card: { ...card, number: "5105105105105101" } }],
      "--from line 2: card.number must be 8 to 19 digits",
    ],
    [
      "a card and content",
      "update",
      [{ uuid: uuidOf(1), card, content: "x" }],
      "--from line 1: a credit-card/offline vault holds a card, not --content",
    ],
    [
      "a card for a generic vault",
      "update",
      [{ uuid: uuidOf(4), card }],
      "--from line 1: a generic/offline vault holds no card",
    ],
    ["no new contents", "update", ["spare"], "--from line 1: card or content is missing"],
    [
      "credentials without a part",
      "get",
      [{ uuid: uuidOf(1), credentials: { payload: "x" } }],
      "--from line 1: credentials.encryptedData: is missing",
    ],
    [
      "a kind that a known vault does not have",
      "get",
      [{ uuid: uuidOf(1), kind: "generic/offline" }],
      "--from line 1: --kind: vault",
    ],
    [
      "a new vault without a kind",
      "get",
      [{ uuid: uuidOf(9), credentials: pair }],
      "--from line 1: --kind is needed",
    ],
    [
      "an online vault without a device",
      "get",
      [{ uuid: uuidOf(9), kind: "credit-card/online", credentials: pair }],
      "--from line 1: vault",
    ],
    ["a UUID that is not known", "get", [uuidOf(9)], "--from line 1: no credentials are known"],
    ["a vault that was forgotten", "ack", ["forgotten"], "--from line 1: no credentials are known"],
    [
      "a name that fits none",
      "get",
      ["spare", "", "5105105105105101"],
      `--from line 3: no vault has this label or UUID; ${nothing}`,
    ],
    ["a name that fits several", "get", ["0000000"], "--from line 1: it fits 5 vaults"],
    ["too few digits", "get", ["000"], "--from line 1: at least 4 digits"],
    [
      "a new vault that stands there twice",
      "get",
      [uuidOf(9), uuidOf(9).toUpperCase()].map((uuid) => ({
        uuid,
        kind: "generic/offline",
        credentials: pair,
      })),
      "--from line 2: the same vault as line 1",
    ],
    [
      "a vault that stands there twice",
      "get",
      ["spare", "Checkout", { uuid: uuidOf(1).toUpperCase() }],
      "--from line 3: the same vault as line 1",
    ],
    [
      "a vault that stands there twice, once in an array",
      "get",
      ["spare", [{ uuid: uuidOf(2) }, { uuid: uuidOf(1) }]],
      "--from item 2: the same vault as line 1",
    ],
    [
      "a document of another vault",
      "get",
      [
        {
          uuid: uuidOf(1),
          credentials: { uuid: uuidOf(2), kind: "credit-card/offline", credentials: pair },
        },
      ],
      "--from line 1: --credentials: this document belongs to vault",
    ],
  ])("with %s is refused with the line, and shows no value", async (_, operation, lines, says) => {
    const told = await failure(listed(lines, operation));
    expect(told).toContain(`invalid-input: ${says}`);
    expect(told).not.toMatch(/5105|c2Vjc/);
  });

  it("is refused if it cannot be read, or is not UTF-8", async () => {
    expect(await failure(read({ from: "missing" }))).toBe(
      "invalid-input: --from: cannot read the file missing (ENOENT)",
    );
    const { io } = fakeBasics(fakeHost({ input: Buffer.from([0x73, 0xff, 0x0a]) }));
    const reading = async () =>
      await readList(io, { vaults: [], from: "-" }, "ack", new VaultNames(known), nameOf);
    expect(await failure(reading())).toBe("invalid-input: --from: standard input must be UTF-8");
    await expect(reading()).rejects.toThrow(/already read for --from/);
  });

  const named = (n: number, form: string): unknown => {
    const { uuid, label } = known[n - 1] ?? vault(n, null);
    return form === "object"
      ? { uuid }
      : form === "digits"
        ? uuid.slice(0, 8)
        : form === "label"
          ? (label ?? uuid)
          : uuid.toUpperCase();
  };
  const numbers = fc.shuffledSubarray([1, 2, 3, 4], { minLength: 1 });
  const forms = fc.array(fc.constantFrom("uuid", "object", "digits", "label"), {
    minLength: 5,
    maxLength: 5,
  });

  it("keeps its order, whatever forms it has; a vault that is added again is told with both lines", async () => {
    await fc.assert(
      fc.asyncProperty(numbers, forms, fc.nat(3), async (chosen, how, again) => {
        const lines = chosen.map((n, index) => named(n, how[index] ?? "uuid"));
        expect((await listed(lines)).map(({ uuid }) => uuid)).toEqual(chosen.map(uuidOf));
        const first = again % chosen.length;
        const told = await failure(listed([...lines, named(chosen[first] ?? 1, how[4] ?? "uuid")]));
        expect(told).toBe(
          `invalid-input: --from line ${lines.length + 1}: the same vault as line ${first + 1}`,
        );
      }),
    );
  });
});

describe("vaults on the command line, and all", () => {
  it("are named as for one vault, each once", async () => {
    expect(await read({ vaults: ["spare", "00000003"] })).toEqual([
      { uuid: uuidOf(1), label: "spare", kind: ofCard },
      { uuid: uuidOf(3), label: null, kind: ofCard },
    ]);
    expect(await failure(read({ vaults: ["spare", "none"] }))).toBe(
      `no-credentials: no vault named "none"; nothing was sent`,
    );
    expect(await failure(read({ vaults: ["0000000"] }))).toMatch(/^usage: 0000000 fits 5 vaults/);
    expect(await failure(read({ vaults: ["spare", uuidOf(1)] }))).toBe(
      `usage: ${uuidOf(1)}: the same vault as spare`,
    );
    expect(await failure(read({ vaults: [uuidOf(9)] }))).toMatch(/^no-credentials: /);
  });

  it.each(["get", "update", "ack"] as const)(
    "are not named by digits where nobody can be asked: %s",
    async (operation) => {
      const says = "abbreviated UUIDs work only on a terminal; nothing was sent";
      expect(await failure(read({ vaults: ["00000001"] }, operation, "", false))).toBe(
        `invalid-input: "00000001": ${says}`,
      );
      for (const line of ["00000001", "5105105105105101", uuidOf(1).slice(1)])
        expect(await failure(read({ from: "-" }, operation, line, false))).toBe(
          `invalid-input: --from line 1: ${says}`,
        );
    },
  );

  it("are all that have credentials, in their order", async () => {
    expect((await read({ all: true })).map(({ label }) => label)).toEqual([
      "spare",
      "Checkout",
      null,
      "notes",
    ]);
  });
});
