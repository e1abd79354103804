import { Option, type Argument } from "commander";
import type { Candidate, ValueSource } from "../cli/command.ts";
import type { CliCommand, CliOption } from "../cli/commander.ts";
import { isPrintableLine, printableLine } from "../terminal/redactor.ts";

/** Values of the options of a line, by commander's names. */
export type Given = Readonly<Record<string, unknown>>;

/** What is known on this machine. Each rejects with the errors of the file system, JSON and SQLite. */
export interface Known {
  variables: readonly string[];
  profiles(): readonly string[];
  /** The vaults of the state on this machine; of a shared one none. */
  vaults(): Promise<readonly { uuid: string; label: string | null; kind: string }[]>;
}

type Look = (given: Given) => Promise<Known>;

/** Candidates for the word under the cursor, and what the shell does with them. */
interface Offer {
  candidates: Candidate[];
  /**
   * `files` and `directories`: the shell completes paths itself, after the prefix that follows; `programs`: the names of programs.
   * `nospace`: it adds no space after a candidate.
   */
  directive: "done" | "nospace" | `${"files" | "directories" | "programs"}${string}`;
}

/**
 * Returns the answer to a completion script. Labels and profile names may be any text: candidates that could break a line or control a
 * terminal are left out.
 */
export async function answer(
  words: readonly string[],
  program: CliCommand,
  look: Look,
): Promise<string> {
  const { candidates, directive } = await offer(program, words, look);
  const shown = candidates.filter(
    ({ value }) => value !== "" && !value.startsWith(":") && isPrintableLine(value),
  );
  // A word is offered once: two services may have a vault of the same name.
  const lines = new Map(
    shown.map(({ value, description = "" }) => {
      const meaning = printableLine(description).replaceAll(/\s+/g, " ").trim();
      return [value, meaning === "" ? value : `${value}\t${meaning}`];
    }),
  );
  return `${[...lines.values(), `:${directive}`].join("\n")}\n`;
}

/** Returns candidates for the last word; the words before it are complete. */
async function offer(program: CliCommand, words: readonly string[], look: Look): Promise<Offer> {
  const current = words.at(-1) ?? "";
  const place = locate(program, words.slice(0, -1));
  const { awaits, command, operands, isEnded } = place;
  if (awaits !== undefined) return await values(awaits, "", current, place, look);
  if (!isEnded && current.startsWith("-")) {
    const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
    if (flag === undefined || value === undefined) return list(flags(place), current);
    const option = command.allOptions.find(({ long, required }) => long === flag && required);
    return option === undefined ? nothing : await values(option, `${flag}=`, value, place, look);
  }
  if (command.commands.length > 0)
    return operands.length === 0 ? list(names(command), current) : nothing;
  const { registeredArguments: terms } = command;
  const argument = terms[operands.length] ?? terms.findLast(({ variadic }) => variadic);
  if (argument !== undefined) return await values(argument, "", current, place, look);
  return isEnded ? nothing : list(flags(place), current);
}

const nothing: Offer = { candidates: [], directive: "done" };

/** Those that begin with what is typed, ignoring case: uuids are the same in either; each behind `before`. */
function list(candidates: readonly Candidate[], typed: string, before = ""): Offer {
  const wanted = typed.toLowerCase();
  const found = candidates.filter(({ value }) => value.toLowerCase().startsWith(wanted));
  const whole = found.map((each) => ({ ...each, value: before + each.value }));
  return { candidates: whole, directive: "done" };
}

type Place = ReturnType<typeof locate>;

/** Stands for the word under the cursor: where commander puts it, that word belongs. */
const cursor = "\0";

/**
 * What the words before the cursor mean to commander, as it goes down the commands: what it does not know as an option of one is for the
 * next. `awaits` is the option whose value is to come; `--` has ended the options if `isEnded`.
 */
function locate(program: CliCommand, words: readonly string[]) {
  const path = [program];
  let operands: string[] = [];
  let unknown = [...words, cursor];
  for (let command = program; ; path.unshift(command)) {
    const read = command.parseOptions(unknown);
    operands = [...operands, ...read.operands];
    unknown = read.unknown;
    const next = command.commands.find((each) => each.name() === operands[0]);
    if (next === undefined) break;
    operands = operands.slice(1);
    command = next;
  }
  const [command = program] = path;
  const given: Given = command.optsWithGlobals();
  const awaits = command.allOptions.find((option) =>
    [given[option.attributeName()]].flat().includes(cursor),
  );
  const isOperand = (word: string): boolean => word !== cursor && !/^-./.test(word);
  return {
    path,
    command,
    operands: [...operands.filter((word) => word !== cursor), ...unknown.filter(isOperand)],
    isEnded: awaits === undefined && words.includes("--"),
    awaits,
    given,
  };
}

/** What is declared, else what the name of the value tells: `<file>`. */
function sourceOf(value: Argument | Option): ValueSource {
  const { values } = value as { values?: ValueSource };
  if (value.argChoices !== undefined) return { from: "list", values: value.argChoices };
  if (values !== undefined) return values;
  const name = value instanceof Option ? /<([^>.]+)/.exec(value.flags)?.[1] : value.name();
  if (["file", "files", "seed"].includes(name ?? "")) return { from: "files" };
  if (name === "directory") return { from: "directories" };
  return { from: value.description.includes("@FILE") ? "given" : "anything" };
}

const names = ({ commands }: CliCommand): Candidate[] =>
  commands.map((command) => ({ value: command.name(), description: command.summary() }));

/** Those that may come next, those of the last command first. */
const flags = ({ path }: Place): Candidate[] =>
  path.flatMap((command) => {
    const isNew = (option: CliOption): boolean =>
      option.isMany || command.getOptionValueSource(option.attributeName()) !== "cli";
    const own = (command.options as CliOption[]).filter(isNew);
    return [...own, help].map(({ long = "", description }) => ({ value: long, description }));
  });

const help = { long: "--help", description: "show this help" };

/** Returns candidates for a value. `before` is the part of the word that belongs to the flag: `--kind=`. */
async function values(
  of: Argument | Option,
  before: string,
  typed: string,
  place: Place,
  look: Look,
): Promise<Offer> {
  const source = sourceOf(of);
  const these = (candidates: readonly Candidate[]): Offer => list(candidates, typed, before);
  switch (source.from) {
    case "list": {
      const chosen = source.separated === true ? typed.slice(0, typed.lastIndexOf(",") + 1) : "";
      const offered = these(source.values.map((value) => ({ value: chosen + value })));
      return source.values[0]?.endsWith("=") ? { ...offered, directive: "nospace" } : offered;
    }
    case "commands": {
      const of = place.path.at(-1)?.at(place.operands);
      const also = place.operands.length === 0 ? source.also : [];
      return of === undefined ? nothing : these([...names(of), ...also]);
    }
    case "vaults": {
      const isNamed = (name: string | null): boolean => place.operands.includes(name ?? "");
      const vaults = (await (await look(place.given)).vaults()).filter(
        ({ uuid, label }) => !isNamed(uuid) && !isNamed(label),
      );
      const withLabels = source.byLabel === true && typed !== "";
      // The UUID says which vault it is by the label, and the label by the UUID.
      return these(
        vaults.flatMap(({ uuid, label, kind }) => [
          { value: uuid, description: label ?? kind },
          ...(withLabels && label !== null ? [{ value: label, description: uuid }] : []),
        ]),
      );
    }
    case "profiles":
      return these((await look(place.given)).profiles().map((value) => ({ value })));
    case "programs":
      // Flags of the program would be taken for ours.
      if (!place.isEnded)
        return these([{ value: "--", description: "the program follows" }, ...flags(place)]);
      return shellCompletes(
        place.operands.length < place.command.registeredArguments.length ? "programs" : "files",
      );
    case "files":
    case "directories":
      return shellCompletes(source.from, before);
    case "given":
      if (typed.startsWith("@")) return shellCompletes("files", `${before}@`);
      if (typed.startsWith("env:"))
        return these((await look(place.given)).variables.map((name) => ({ value: `env:${name}` })));
      return { ...these(given), directive: "nospace" };
    case "anything":
      return nothing;
  }
}

const shellCompletes = (what: "files" | "directories" | "programs", prefix = ""): Offer => ({
  candidates: [],
  directive: prefix === "" ? what : `${what} ${prefix}`,
});

const given: Candidate[] = [
  { value: "@", description: "the content of a file" },
  { value: "env:", description: "the value of a variable" },
  { value: "-", description: "standard input" },
];
