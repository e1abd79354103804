import { describe, expect, test } from "vitest";
import { showText, type ForegroundProgram } from "../../src/terminal/foreground.ts";
import { DataStream } from "../../src/terminal/streams.ts";

interface Case {
  env?: Record<string, string>;
  setting?: string;
  isAllowed?: boolean;
  rows?: number | undefined;
  text?: string;
  /** How the pager ends. */
  ends?: () => number;
}

const lines = (count: number): string => "line\n".repeat(count);

/** Shows a text, of 24 lines unless it is given, on a screen of 80 × 24. */
async function show(options: Case) {
  const { env = {}, setting, isAllowed = true, text = lines(24), ends = () => 0 } = options;
  const facts = {
    isTTY: true,
    color: true,
    columns: 80,
    rows: "rows" in options ? options.rows : 24,
  };
  let written = "";
  const started: ForegroundProgram[] = [];
  const screen = {
    stdout: new DataStream({
      facts,
      signal: () => undefined,
      openWriter: () => async (bytes) => void (written += Buffer.from(bytes).toString()),
    }),
    interrupted: new AbortController().signal,
    runForeground: async (program: ForegroundProgram) => {
      started.push(program);
      return await Promise.resolve({ exitCode: ends(), signal: null, unread: false });
    },
  };
  await showText(screen, text, {
    isAllowed,
    setting,
    env: { TERM: "xterm", ...env },
  });
  const [pager] = started;
  return { written, pager: pager?.command.at(-1), env: pager?.env, input: pager?.input };
}

test("less shows what is longer than the screen, and nothing is written beside it", async () => {
  expect(await show({ env: { KEPT: "1" } })).toEqual({
    written: "",
    pager: "less",
    env: { TERM: "xterm", KEPT: "1", LESS: "FRX", LV: "-c" },
    input: lines(24),
  });
});

test("what the user has set for less stays", async () => {
  const { env } = await show({ env: { LESS: "-i", LV: "-r" } });
  expect(env).toMatchObject({ LESS: "-i", LV: "-r" });
});

describe("the last line of the screen is left to the prompt", () => {
  test.each<[string, Case, boolean]>([
    ["23 lines", { text: lines(23) }, false],
    ["24 lines", { text: lines(24) }, true],
    ["lines that the terminal wraps", { text: `${"wide ".repeat(17)}\n${lines(22)}` }, true],
    [
      "color, which takes no place",
      { text: `${"\u001B[31mr\u001B[39m".repeat(80)}\n${lines(22)}` },
      false,
    ],
    ["signs of two columns", { text: `${"金".repeat(41)}\n${lines(22)}` }, true],
  ])("%s", async (_, options, isLong) => {
    expect(await show(options)).toMatchObject({ pager: isLong ? "less" : undefined });
  });
});

test("where the height is not known, it is taken for the usual one: less would take what is pasted after a short help", async () => {
  const short = await show({ text: lines(23), rows: undefined });
  expect(short).toMatchObject({ pager: undefined, written: lines(23) });
  expect(await show({ rows: undefined })).toMatchObject({ pager: "less" });
});

describe("which pager", () => {
  test.each<[string, Case, string | undefined]>([
    ["of the settings", { setting: "more", env: { PAGER: "most" } }, "more"],
    ["PAGER", { env: { PAGER: "most -s" } }, "most -s"],
    ["none by an empty VAULT_PAGER", { env: { VAULT_PAGER: "", PAGER: "most" } }, undefined],
    ["none by an empty setting", { setting: "", env: { PAGER: "most" } }, undefined],
    ["none by cat", { setting: "cat", env: { PAGER: "most" } }, undefined],
    ["none by PAGER", { env: { PAGER: "cat" } }, undefined],
    ["another cat", { setting: "cat -A" }, "cat -A"],
    ["none where none is allowed", { setting: "more", isAllowed: false }, undefined],
    ["none on a dumb terminal", { env: { TERM: "dumb" } }, undefined],
    ["none on a terminal without a name", { env: { TERM: "" } }, undefined],
  ])("%s", async (_, options, pager) => {
    const shown = await show(options);
    expect(shown).toMatchObject({ pager });
    expect(shown.written).toBe(pager === undefined ? lines(24) : "");
  });
});

describe("a pager that does not show the text", () => {
  const fails = (code: string) => () => {
    throw Object.assign(new Error(code), { code });
  };
  test.each<[string, () => number]>([
    ["is not there", fails("ENOENT")],
    ["is not there for the shell", () => 127],
    ["cannot be run by the shell", () => 126],
  ])("%s: it is written", async (_, ends) => {
    expect(await show({ ends })).toMatchObject({ written: lines(24) });
  });

  test.each([1, 2, 130, 141])(
    "ends with %i after it has begun: it is not written again",
    async (code) => {
      expect(await show({ ends: () => code })).toMatchObject({ written: "" });
    },
  );
});
