import { readFileSync, writeFileSync } from "node:fs";
import { basename, extname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { VaultReport } from "../../src/documents/audit.ts";
import { tempDir } from "../support/cleanup.ts";
import { runAudit } from "./support.ts";

type Some<T> = T | T[];

/** Values of a report on a vault; `lockedAt` is a beginning, `advice` and `adviceNever` are patterns. */
type Answer = Partial<
  Record<
    "verdict" | "certainty" | "rule" | "ruleNot" | "lockedAt" | "advice" | "adviceNever",
    Some<string>
  >
>;

/** One whole right answer. */
interface Expectation {
  /** By UUID or its first digits; no other vault may come. */
  vaults?: Record<string, Some<Answer>>;
  /** Exit code with `--json`, 0 by default, and with `--fail-on`. */
  exit?: Some<number>;
  failOn?: Record<string, Some<number>>;
  /** Patterns that the printed text must and must not match, names of inputs left out. */
  stderrOrText?: string[];
  never?: string[];
}

interface Case extends Expectation {
  name: string;
  files: string[];
  args?: string[];
  stdin?: boolean;
  /** Other right answers. */
  or?: Expectation[];
  /** False: words are not replaced by unknown ones. */
  property?: boolean;
}

const folder = join(import.meta.dirname, "corpus", "cases");
const cases = JSON.parse(readFileSync(join(folder, "..", "expect.json"), "utf8")) as Case[];

const vaultsOf = ({ out }: { out: string }): VaultReport[] =>
  out === "" ? [] : (JSON.parse(out) as { vaults: VaultReport[] }).vaults;
const list = <T>(value: Some<T> | undefined): T[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];
const matching = (text: string) => (source: string) => new RegExp(source, "iu").test(text);

/** Returns what is wrong with the closest right answer. */
async function wrongIn({ files, args = [], stdin = false, or = [], ...first }: Case) {
  const input = stdin ? readFileSync(join(folder, files[0] ?? "")) : undefined;
  const replay = async (...more: string[]) =>
    await runAudit([...(stdin ? ["-"] : files), ...more, ...args], folder, input);
  const ways: Expectation[] = [first, ...or];
  const json = await replay("--json");
  const { out, err } = ways.some((way) => way.stderrOrText ?? way.never) ? await replay() : json;
  let text = `${out} ${err}`.replace(/\s+/gu, " ");
  for (const name of files.flatMap((file) => [file, basename(file)]))
    text = text.replaceAll(name, "INPUT");
  const exits = new Map([["--json", json.exit]]);
  for (const findings of ways.flatMap(({ failOn = {} }) => Object.keys(failOn)))
    exits.set(findings, (await replay("--json", "--fail-on", findings)).exit);
  const wrong = ways.map(({ vaults, exit = 0, failOn, stderrOrText = [], never = [] }) => [
    ...Object.entries({ "--json": exit, ...failOn })
      .filter(([findings, right]) => !list(right).includes(exits.get(findings) ?? Number.NaN))
      .map(([findings, right]) => `${findings}: ${exits.get(findings)}, not ${list(right).join()}`),
    ...(vaults === undefined ? [] : wrongVaults(vaults, vaultsOf(json))),
    ...stderrOrText.filter((one) => !matching(text)(one)).map((one) => `no /${one}/ in: ${text}`),
    ...never.filter(matching(text)).map((one) => `/${one}/ in: ${text}`),
  ]);
  return wrong.toSorted((a, b) => a.length - b.length)[0] ?? [];
}

function wrongVaults(right: Record<string, Some<Answer>>, vaults: VaultReport[]): string[] {
  const rest = new Set(vaults);
  const wrong = Object.entries(right).flatMap(([key, answers]) => {
    const found = vaults.filter(({ uuid }) => uuid.startsWith(key));
    for (const vault of found) rest.delete(vault);
    const [vault] = found;
    if (vault === undefined || found.length > 1) return [`${found.length} vaults ${key}`];
    if (list(answers).some((answer) => isRight(answer, vault))) return [];
    const { verdict, certainty, cause, lockedAt, advice } = vault;
    const came = { verdict, certainty, rule: cause?.rule, lockedAt, advice };
    return [`${key}: ${JSON.stringify(came)} in place of ${JSON.stringify(answers)}`];
  });
  return [...wrong, ...[...rest].map(({ uuid, verdict }) => `${uuid}: ${verdict}, not expected`)];
}

function isRight(answer: Answer, vault: VaultReport): boolean {
  const { verdict, certainty, cause, lockedAt = "", advice } = vault;
  const has = (right: Some<string> | undefined, value: string | undefined): boolean =>
    right === undefined || list(right).includes(value ?? "");
  const isAdvised = matching(JSON.stringify(advice));
  return (
    has(answer.verdict, verdict) &&
    has(answer.certainty, certainty) &&
    has(answer.rule, cause?.rule) &&
    !list(answer.ruleNot).includes(cause?.rule ?? "") &&
    list(answer.lockedAt ?? "").some((time) => lockedAt.startsWith(time)) &&
    list(answer.advice).every(isAdvised) &&
    !list(answer.adviceNever).some(isAdvised)
  );
}

describe("a log with a known answer", () => {
  test.each(cases)("$name", async (one) => expect(await wrongIn(one)).toEqual([]));
});

const texts =
  /^(description|reason|message|msg|error|errormessage|error_message|errorcode|error_code|detail|details|displaymessage|note|cause|failurereason)$/iu;
const outcomes =
  /^(outcome|result|status|success|succeeded|ok|statuscode|status_code|httpstatus)$/iu;

const replacements = cases
  .filter((one) => one.name.startsWith("fine/") && mayReplace(one))
  .flatMap((one) => [
    { ...one, name: `reason: ${one.name}`, columns: texts, rule: "failed-attempts" },
    { ...one, name: `outcome: ${one.name}`, columns: outcomes, rule: "unacknowledged-starts" },
  ]);

describe("an unknown word in the place of each", () => {
  test.each(replacements)("$name", async (one) => expect(await wrongReplaced(one)).toEqual([]));
});

function mayReplace({ files, args, stdin, property }: Case): boolean {
  const isText = files.every((file) => !readFileSync(join(folder, file)).includes(0));
  return isText && args === undefined && stdin !== true && property !== false;
}

const isCertain = ({ verdict, certainty, cause }: VaultReport): boolean =>
  verdict === "locked" && (cause?.certainty ?? certainty) === "certain" && certainty === "certain";

/** No vault becomes certain by this rule, none becomes ok, and no certain lock an open exchange. */
async function wrongReplaced({ files, columns, rule }: (typeof replacements)[number]) {
  const before = vaultsOf(await runAudit([...files, "--json"], folder));
  if (!before.some(isCertain)) return [];
  const where = tempDir("replaced");
  const words = new Map<unknown, string>();
  for (const file of files)
    writeFileSync(join(where, basename(file)), replaced(join(folder, file), columns, words));
  if (words.size === 0) return [];
  const after = await runAudit([...files.map((file) => basename(file)), "--json"], where);
  if (after.exit === 3) return [];
  return vaultsOf(after).flatMap((vault) => {
    const was = before.find(({ uuid }) => uuid === vault.uuid);
    const isWrong =
      (isCertain(vault) && vault.cause?.rule === rule) ||
      (vault.verdict === "ok" && was?.verdict !== "ok") ||
      (vault.verdict === "open-exchange" && was !== undefined && isCertain(was));
    return isWrong ? [`${vault.uuid}: ${was?.verdict} became ${vault.verdict}`] : [];
  });
}

/** Returns a file with a word that nobody knows in the place of each value of these columns; the same value, the same word. */
function replaced(path: string, columns: RegExp, words: Map<unknown, string>): string {
  const isTable = /^\.[ct]sv$/u.test(extname(path));
  return (isTable ? inTable : inJson)(readFileSync(path, "utf8"), (name, value) => {
    if (!columns.test(name)) return undefined;
    const word = words.get(value) ?? `qwx-${"vrtlm"[words.size % 5]}${words.size}`;
    words.set(value, word);
    return word;
  });
}

type WordFor = (column: string, value: unknown) => string | undefined;

function inTable(text: string, wordFor: WordFor): string {
  const between = /[\t;,]/u.exec(text)?.[0] ?? ",";
  const cells = new RegExp(`("(?:[^"]|"")*"|[^${between}\r\n"]*)(${between}|\r?\n)`, "gu");
  const header: string[] = [];
  let row = 0;
  let column = 0;
  return text.replace(cells, (whole, cell: string, end: string) => {
    const value = cell.replaceAll('"', "").trim();
    if (row === 0) header.push(value);
    const word = row === 0 || value === "" ? undefined : wordFor(header[column] ?? "", cell);
    column = end === between ? column + 1 : 0;
    if (end !== between) row += 1;
    return word === undefined ? whole : word + end;
  });
}

function inJson(text: string, wordFor: WordFor): string {
  const again = (json: string): string =>
    JSON.stringify(
      JSON.parse(json, (name, value: unknown) =>
        typeof value === "object" || value === "" ? value : (wordFor(name, value) ?? value),
      ),
    );
  try {
    return again(text);
  } catch {
    return text.replace(/.+/gu, again);
  }
}
