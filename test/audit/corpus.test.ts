import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import type { VaultReport } from "../../src/documents/audit.ts";
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

test.each(cases)("$name", async (one) => expect(await wrongIn(one)).toEqual([]));
