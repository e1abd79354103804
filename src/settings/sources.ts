import type { ValueSources } from "../secrets/secret-value.ts";
import { readSecret, readValue } from "../secrets/secret-value.ts";
import type { Sourced } from "./definitions.ts";

/** What reading a setting may touch, besides its text. */
export interface SettingIo {
  host: {
    env: Readonly<Record<string, string | undefined>>;
    readFile(path: string): Promise<Uint8Array>;
    now(): number;
    /** Kills a process group. */
    endGroup(pid: number): void;
    stderr: { writeColored(text: string): unknown };
  };
  sources: ValueSources;
  redactor: { add: (secret: string) => void; redact: (text: string) => string };
}

/** Reads and registers a secret: from a flag in any form, from environment or profile as `@FILE` or the value itself. */
export async function readGiven(
  { sources, redactor }: Pick<SettingIo, "redactor" | "sources">,
  { text, source, fromFlag }: Sourced,
): Promise<string> {
  const literal = !fromFlag && !text.startsWith("@");
  const value = literal ? text : await (fromFlag ? readSecret : readValue)(text, source, sources);
  redactor.add(value);
  return value;
}

/** The text of a file, decoded leniently, since comments around certificates may not be UTF-8. Rejects with Node's error. */
export const readText = async ({ host }: Pick<SettingIo, "host">, path: string): Promise<string> =>
  Buffer.from(await host.readFile(path)).toString("utf8");
