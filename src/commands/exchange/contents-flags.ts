import type { Command } from "commander";

/** Flags of `contentsOptions`; apart from them, because help loads no schema. */
export function addContentsOptions(command: Command): Command {
  return command
    .option("--card <value>", 'a card as JSON {"number","name","expiryMonth","expiryYear"}: @FILE, -, env:NAME')
    .option("--card-number <value>", "or its parts: 8 to 19 digits: @FILE, -, env:NAME")
    .option("--card-name <text>", "the name on it, at most 30 characters")
    .option("--expiry <MM/YYYY>", "its expiry: 04/2029")
    .option("--content <value>", "of a generic vault (extended), as it is to the last byte: @FILE, -, env:NAME");
}
