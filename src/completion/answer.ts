import type { Known, Offer } from "./candidates.ts";
import { offer } from "./candidates.ts";
import type { CommandNode } from "./tree.ts";

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
  const lines = shown.map(({ value, description = "" }) => {
    const words = plain(description).replaceAll(/ {2,}/g, " ").trim();
    return words === "" ? value : `${value}\t${words}`;
  });
  return `${[...new Set(lines), `:${directive}${prefix === "" ? "" : ` ${prefix}`}`].join("\n")}\n`;
}

/** Replaces control and format characters, line separators and lone surrogates with spaces. */
const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu, " ");
