import type { Actor } from "../actor.ts";
import { machineTrouble, VaultError, type ErrorFacts } from "../errors.ts";
import type { Settings } from "../settings/settings.ts";
import { createPalette } from "../terminal/palette.ts";
import { jsonText, printable, printableLine } from "../terminal/redactor.ts";
import { wrapMessage, type DataStream, type TerminalFacts } from "../terminal/streams.ts";
import type { View } from "./vault-view.ts";

interface OutputChoice {
  format: Settings["output"];
  /** A dotted path: one value is printed instead of the document. */
  field: string | undefined;
  /** Whether a view shows secrets. */
  reveal: boolean;
}

/** A result for a person, made only if the output asks for it. */
export type MakeView<Made = string> = (view: View) => Made | Promise<Made>;

/**
 * Prints the result of a command to stdout: as JSON, one field of it, or a view for a person. A field that this document lacks, though others
 * of the command have it, is a warning.
 */
export interface Output extends Readonly<OutputChoice> {
  print(document: unknown, view: MakeView): Promise<void>;
  /**
   * Prints as `print` does, but a view that is longer than the screen through the pager, as `Io.show` does. Then throws `failure`, if
   * there is one: also if nothing can be printed.
   */
  show(document: unknown, view: MakeView, failure?: VaultError): Promise<void>;
  /**
   * Prints a document that is one list of which there may be very many entries: none is kept but its text, and nothing is printed before all
   * are there. For a person as `show` does.
   * @throws as `show`, and what `entries` throws
   */
  showEach<T>(
    name: string,
    entries: AsyncIterable<T>,
    view: (entries: readonly T[], view: View) => string | Promise<string>,
  ): Promise<void>;
  /**
   * Prints the result of a command that has changed something. A sentence is not broken within words on a terminal. `after` is a
   * failure, as for `show`; or what was done, which the error of a failed write says, so that nobody repeats it.
   * @throws `state` for a failed write, with the facts of what was done
   */
  printDone(
    document: unknown,
    view: string | MakeView<string | readonly string[]>,
    after?: VaultError | Done,
  ): Promise<void>;
}

type Done = ErrorFacts & { what: string };

/** What shows a result on a stream. */
export async function viewOn(
  { isTTY, columns, color }: TerminalFacts,
  host: { actor: Actor; now(): number },
  reveal: boolean,
): Promise<View> {
  const palette = await createPalette(color);
  return { palette, isTTY, columns, now: isTTY ? host.now() : null, reveal, self: host.actor };
}

export function createOutput(
  host: { stdout: DataStream; actor: Actor; now(): number },
  choice: OutputChoice,
  warn: (message: string) => void,
  showText: (text: string) => Promise<void>,
): Output {
  const { stdout } = host;
  const viewed = async <Made>(view: MakeView<Made>): Promise<Made> =>
    await view(await viewOn(stdout, host, choice.reveal));
  const sentence = (line: string): string =>
    `${wrapMessage(printableLine(line), stdout.isTTY ? stdout.columns : Infinity)}\n`;
  const dataOf = (document: unknown): string | undefined => {
    const { field } = choice;
    if (field !== undefined && valueAt(document, field) === undefined)
      warn(`--field ${field}: the document has no such field this time; nothing was printed`);
    return serialize(document, choice, stdout.isTTY);
  };
  const textOf = async (document: unknown, view: MakeView): Promise<string> =>
    dataOf(document) ?? (await viewed(view));
  const output: Output = {
    ...choice,
    print: async (document, view) => await stdout.write(await textOf(document, view)),
    show: async (document, view, failure) => {
      try {
        const data = dataOf(document);
        await (data === undefined ? showText(await viewed(view)) : stdout.write(data));
      } catch (error) {
        throw failure ?? error;
      }
      if (failure !== undefined) throw failure;
    },
    async showEach(name, entries, view) {
      if (stdout.isTTY || choice.field !== undefined) {
        const all = await Array.fromAsync(entries);
        return await output.show({ [name]: all }, async (seen) => await view(all, seen));
      }
      const isJson = choice.format === "json";
      // As bytes: texts that are made of others keep these.
      const pieces: Buffer[] = [];
      let text = "";
      let count = 0;
      for await (const entry of entries) {
        if (isJson) text += `${count === 0 ? `{\n  "${name}": [` : ","}\n    ${indented(entry)}`;
        else text += await textOf(entry, async (seen) => await view([entry], seen));
        count += 1;
        if (text.length < pieceLength) continue;
        pieces.push(Buffer.from(text));
        text = "";
      }
      if (isJson) text += count === 0 ? `{\n  "${name}": []\n}\n` : "\n  ]\n}\n";
      for (const piece of [...pieces, text]) await stdout.write(piece);
    },
    printDone: async (document, made, after) => {
      const view: MakeView = async () => {
        const shown = typeof made === "string" ? [made] : await viewed(made);
        return typeof shown === "string" ? shown : shown.map(sentence).join("");
      };
      const written = async (): Promise<void> => {
        await stdout.write(await textOf(document, view));
      };
      // Also if what makes the text is missing, as in a program that was replaced.
      await written().catch((error: unknown) => {
        const { code } = error as NodeJS.ErrnoException;
        if (after instanceof VaultError) throw after;
        if (after === undefined || error instanceof VaultError || code === undefined) throw error;
        const { what, ...facts } = after;
        const why = machineTrouble[code]?.cause ?? code;
        throw new VaultError("state", `${what}, but the result could not be printed (${why})`, {
          retry: "after-status",
          ...facts,
          cause: error,
        });
      });
      if (after instanceof VaultError) throw after;
    },
  };
  return output;
}

/** Characters of a list that are written at a time. */
const pieceLength = 64 * 1024;

/** A value as it stands in a list of a document. */
const indented = (value: unknown): string => jsonText(value, 2).replaceAll("\n", "\n    ");

/**
 * Refuses a standard output that is closed or the null device: contents that nobody receives would
 * count as delivered.
 * @throws `usage`
 */
export function refuseClosedOutput({ isClosed }: DataStream): void {
  if (!isClosed) return;
  const message =
    "standard output is closed or /dev/null, and the contents would be lost; nothing was sent";
  throw new VaultError("usage", message, {
    hint: "run it again with an output, such as > FILE or --out FILE",
  });
}

/** A line about a vault: its UUID and what there is to say, between tabs for a program. */
export const vaultLine = ({ isTTY }: View, uuid: string, words: string): string =>
  `${uuid}${isTTY ? "  " : "\t"}${words}`;

/**
 * Text of a document for stdout: JSON, one field of it, or undefined if the command prints a table. A field is exact, but on a
 * terminal control characters are made visible.
 */
export function serialize(
  document: unknown,
  output: Pick<OutputChoice, "format" | "field">,
  isTTY: boolean,
): string | undefined {
  if (output.field !== undefined) {
    const text = fieldText(document, output.field);
    if (text === undefined) return "";
    return isTTY ? `${printable(text)}\n` : text;
  }
  if (output.format === "table") return undefined;
  if (output.format === "json") return `${jsonText(document, 2)}\n`;
  return entriesOf(document)
    .map((entry) => `${jsonText(entry)}\n`)
    .join("");
}

/** What has a line of its own in NDJSON: each entry of a document that is lists, which is one whose first property is a list. */
export function entriesOf(document: unknown): readonly unknown[] {
  if (Array.isArray(document)) return document;
  const values = Object.values(document ?? {}) as unknown[];
  if (!Array.isArray(values[0])) return [document];
  return values.flat().filter((entry) => typeof entry === "object");
}

const valueAt = (document: unknown, path: string): unknown =>
  path
    .split(".")
    .reduce<unknown>(
      (value, part) =>
        typeof value === "object" && value !== null && Object.hasOwn(value, part)
          ? (value as Record<string, unknown>)[part]
          : undefined,
      document,
    );

/** The value at a dotted path as a program takes it: a text as it is, anything else as JSON. Undefined if there is none. */
export function fieldText(document: unknown, path: string): string | undefined {
  const value = valueAt(document, path);
  return value === undefined || typeof value === "string" ? value : jsonText(value);
}

/** Whether a path leads to the contents of a vault, or into them. */
export const isContents = (path: string): boolean =>
  /^vault\.(?:creditCard|content)(?:\.|$)/.test(path);

/** Whether a path leads to the whole contents of a vault. */
export const isWhole = (path: string): boolean =>
  ["vault", "vault.creditCard", "vault.content"].includes(path);
