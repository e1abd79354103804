import type { Candidate, CommandNode, Position, ValueSource } from "./tree.ts";
import { commandAt, locate, optionsAt } from "./tree.ts";

export interface KnownVault {
  uuid: string;
  label: string | null;
  kind: string;
}

/** Sources of candidates on this machine, each asked only when needed. They never throw: an empty list means that nothing is known. */
export interface Known {
  vaults(given: ReadonlyMap<string, string>): Promise<readonly KnownVault[]>;
  profiles(): Promise<Candidate[]>;
  /** Of what a read prints of the vault, by its kind where that is known. */
  fields(given: ReadonlyMap<string, string>, vault: string | undefined): Promise<Candidate[]>;
  variables(): string[];
}

/** Candidates for the word under the cursor. */
interface Offer {
  candidates: Candidate[];
  /**
   * `files` and `directories`: the shell completes paths itself, after `prefix`; `programs`: the names of programs. `nospace`: it adds
   * no space after a candidate.
   */
  directive: "done" | "nospace" | "files" | "directories" | "programs";
  prefix?: string;
}

/**
 * Returns the answer to a completion script. Labels and profile names may be any text: candidates that could break a line or control a
 * terminal are left out.
 */
export async function answer(
  words: readonly string[],
  root: CommandNode,
  known: Known,
): Promise<string> {
  return format(await offer(root, words, known));
}

function format({ candidates, directive, prefix = "" }: Offer): string {
  const shown = candidates.filter(
    ({ value }) => value !== "" && !value.startsWith(":") && plain(value) === value,
  );
  // A word is offered once: two services may have a vault of the same name.
  const lines = new Map(
    shown.map(({ value, description = "" }) => {
      const words = plain(description).replaceAll(/ {2,}/g, " ").trim();
      return [value, words === "" ? value : `${value}\t${words}`];
    }),
  );
  return `${[...lines.values(), `:${directive}${prefix === "" ? "" : ` ${prefix}`}`].join("\n")}\n`;
}

/** Replaces control and format characters, line separators and lone surrogates with spaces. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, " ");

/** Returns candidates for the last word; the words before it are complete. */
export async function offer(
  root: CommandNode,
  words: readonly string[],
  known: Known,
): Promise<Offer> {
  const current = words.at(-1) ?? "";
  const position = locate(root, words.slice(0, -1));
  const awaited = position.pending?.value?.values;
  if (awaited !== undefined) return await offerValues(awaited, "", current, position, known);
  const [, flag, value] = /^(--[^=]+)=(.*)$/s.exec(current) ?? [];
  if (!position.ended && flag !== undefined && value !== undefined) {
    const source = optionsAt(position).find(({ long }) => long === flag)?.value?.values;
    return source === undefined
      ? nothing
      : await offerValues(source, `${flag}=`, value, position, known);
  }
  if (!position.ended && current.startsWith("-")) return matching(flags(position), current);
  const command = commandAt(position);
  if (command.commands.length > 0)
    return position.unknown === undefined
      ? matching(names(command.commands), abbreviations[current] ?? current)
      : nothing;
  const argument =
    command.arguments[position.positional.length] ??
    command.arguments.findLast(({ variadic }) => variadic);
  if (argument === undefined) return position.ended ? nothing : matching(flags(position), current);
  return await offerValues(argument.values, "", current, position, known);
}

const nothing: Offer = { candidates: [], directive: "done" };

/** What stands for one command although others begin with it: those are a letter away. */
const abbreviations: Readonly<Record<string, string>> = { stat: "status" };

const names = (commands: readonly CommandNode[]): Candidate[] =>
  commands.map(({ name, summary }) => ({ value: name, description: summary }));

const flags = (position: Position): Candidate[] =>
  optionsAt(position)
    .filter(({ long, value }) => !position.given.has(long) || value?.variadic === true)
    .map(({ long, description }) => ({ value: long, description }));

/** Filters by prefix, ignoring case: uuids are the same in either. */
function matching(candidates: readonly Candidate[], typed: string): Offer {
  const wanted = typed.toLowerCase();
  return {
    candidates: candidates.filter(({ value }) => value.toLowerCase().startsWith(wanted)),
    directive: "done",
  };
}

/** Returns candidates for a value. `before` is the part of the word that belongs to the flag: `--kind=`. */
async function offerValues(
  source: ValueSource,
  before: string,
  typed: string,
  position: Position,
  known: Known,
): Promise<Offer> {
  const found = await values(source, typed, position, known);
  if (found.prefix !== undefined) return { ...found, prefix: before + found.prefix };
  const { candidates } = matching(found.candidates, typed);
  return {
    ...found,
    candidates: candidates.map((each) => ({ ...each, value: before + each.value })),
  };
}

async function values(
  source: ValueSource,
  typed: string,
  position: Position,
  known: Known,
): Promise<Offer> {
  switch (source.from) {
    case "list": {
      const chosen = source.separated === true ? typed.split(",").slice(0, -1) : [];
      const isOpen = source.open === true;
      const left = source.values.filter(
        (value) => !chosen.some((one) => (isOpen ? one.startsWith(value) : one === value)),
      );
      const candidates = left.map((value) => ({ value: [...chosen, value].join(",") }));
      return { candidates, directive: isOpen ? "nospace" : "done" };
    }
    case "commands": {
      const [root] = position.path;
      const { path, unknown } = locate(root, position.positional);
      return unknown === undefined
        ? list([...names(commandAt({ path }).commands), ...(path.length === 1 ? source.also : [])])
        : nothing;
    }
    case "vaults": {
      const isNamed = (name: string | null): boolean =>
        name !== null && position.positional.includes(name);
      const vaults = (await known.vaults(position.given)).filter(
        ({ uuid, label }) => !isNamed(uuid) && !isNamed(label),
      );
      const withLabels = source.byLabel === true && typed !== "";
      return list(vaults.flatMap((vault) => vaultNames(vault, withLabels)));
    }
    case "profiles":
      return list(await known.profiles());
    case "fields": {
      // What other commands print has few fields.
      if (source.after === undefined && !["get", "update"].includes(commandAt(position).name))
        return nothing;
      const start = source.after === undefined ? 0 : typed.indexOf(source.after) + 1;
      if (start === 0 && source.after !== undefined) return nothing;
      const fields = await known.fields(position.given, position.positional[0]);
      return list(fields.map(({ value }) => ({ value: typed.slice(0, start) + value })));
    }
    case "programs":
      // Flags of the program would be taken for ours.
      if (!position.ended)
        return list([{ value: "--", description: "the program follows" }, ...flags(position)]);
      return position.positional.length < commandAt(position).arguments.length
        ? { candidates: [], directive: "programs", prefix: "" }
        : { candidates: [], directive: "files", prefix: "" };
    case "files":
    case "directories":
      return { candidates: [], directive: source.from, prefix: "" };
    case "given":
      if (typed.startsWith("@")) return { candidates: [], directive: "files", prefix: "@" };
      if (typed.startsWith("env:"))
        return list(known.variables().map((name) => ({ value: `env:${name}` })));
      return { candidates: given, directive: "nospace" };
    case "anything":
      return nothing;
  }
}

/** The UUID says which vault it is by the label, and the label by the UUID. */
const vaultNames = ({ uuid, label, kind }: KnownVault, withLabel: boolean): Candidate[] => [
  { value: uuid, description: label ?? kind },
  ...(withLabel && label !== null ? [{ value: label, description: uuid }] : []),
];

const list = (candidates: Candidate[]): Offer => ({ candidates, directive: "done" });

const given: Candidate[] = [
  { value: "@", description: "the content of a file" },
  { value: "env:", description: "the value of a variable" },
  { value: "-", description: "standard input" },
];
