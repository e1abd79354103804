import type { MarkedToken, Token, Tokens } from "marked";
import { lexer } from "marked";

/** A part of a line; `code` is what is typed or printed as it stands. */
export interface Span {
  text: string;
  style: "plain" | "strong" | "code";
}

/** What a topic is made of: the part of Markdown that a terminal, a man page and the web can all show. */
export type Block =
  | { type: "heading"; level: number; spans: Span[] }
  | { type: "paragraph"; spans: Span[] }
  | { type: "list"; items: Span[][] }
  /** `isOutput`: what commands print, not what is typed. */
  | { type: "code"; lines: string[]; isOutput: boolean }
  | { type: "table"; heading: Span[][]; rows: Span[][][] };

/**
 * Reads Markdown; comments are left out.
 * @throws for anything else that a Block cannot hold: no part of a text may disappear
 */
export function parseMarkdown(markdown: string): Block[] {
  return lexer(markdown).flatMap((token) => blockOf(token as MarkedToken));
}

/** The lines of a code block, with a bar before those that are not typed. */
export const codeLines = ({ lines, isOutput }: Extract<Block, { type: "code" }>): string[] =>
  isOutput ? lines.map((line) => `│ ${line}`) : lines;

export const plainText = (spans: readonly Span[]): string => spans.map(({ text }) => text).join("");

function blockOf(token: MarkedToken): Block[] {
  const { type, raw } = token;
  if (type === "space" || (type === "html" && raw.startsWith("<!--"))) return [];
  if (type === "heading") return [{ type, level: token.depth, spans: spansOf(token.tokens) }];
  if (type === "paragraph") return [{ type, spans: spansOf(token.tokens) }];
  if (type === "list") return [{ type, items: token.items.map(itemOf) }];
  if (type === "code")
    return [
      { type, lines: token.text.split("\n"), isOutput: token.lang?.startsWith("text") === true },
    ];
  if (type === "table")
    return [
      { type, heading: token.header.map(cellOf), rows: token.rows.map((row) => row.map(cellOf)) },
    ];
  throw new Error(`a topic cannot hold Markdown of type ${type}: ${raw}`);
}

const cellOf = ({ tokens }: Tokens.TableCell): Span[] => spansOf(tokens);

function itemOf({ tokens, raw }: Tokens.ListItem): Span[] {
  const [text, ...more] = tokens as MarkedToken[];
  if (text?.type !== "text" || more.length > 0)
    throw new Error(`a list of a topic holds one paragraph an item: ${raw}`);
  return spansOf(text.tokens ?? []);
}

function spansOf(tokens: readonly Token[], style: Span["style"] = "plain"): Span[] {
  return (tokens as MarkedToken[]).flatMap((token): Span[] => {
    const { type, raw } = token;
    if (type === "strong") return spansOf(token.tokens, type);
    if (type === "text" || type === "escape")
      return [{ text: token.text.replaceAll("\n", " "), style }];
    if (type === "codespan") return [{ text: token.text.replaceAll("\n", " "), style: "code" }];
    throw new Error(`a line of a topic cannot hold Markdown of type ${type}: ${raw}`);
  });
}
