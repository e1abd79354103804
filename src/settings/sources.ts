import type { ValueSources } from "../secrets/secret-value.ts";
import { readSecret, readValue } from "../secrets/secret-value.ts";
import type { Sourced } from "./definitions.ts";

/** Everything that reading a setting may need, besides its text. */
export interface SettingWorld {
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
  /** The text of a file, decoded leniently, since comments around certificates may not be UTF-8. Rejects with Node's error. */
  readFile: (path: string) => Promise<string>;
  /** Reads and registers a secret: from a flag in any form, from environment or profile as `@FILE` or the value itself. */
  readGiven: (spec: Sourced) => Promise<string>;
  /** Registers a secret for redaction, before anything else sees it. */
  learnSecret: (secret: string) => void;
  /** Replaces the secrets that are known so far. */
  redact: (text: string) => string;
  warn: (message: string) => void;
  /** Shows what a command of the user prints on stderr. */
  forward: (text: string) => void;
  /** Kills a process group. */
  endGroup: (pid: number) => void;
}

/** The parts of a run from which a world is made. */
interface WorldParts {
  host: {
    env: SettingWorld["env"];
    readFile(path: string): Promise<Uint8Array>;
    now(): number;
    endGroup(pid: number): void;
    stderr: { writeColored(text: string): unknown };
  };
  sources: ValueSources;
  redactor: { add: (secret: string) => void; redact: (text: string) => string };
}

export const settingWorld = ({ host, sources, redactor }: WorldParts): SettingWorld => ({
  env: host.env,
  now: () => host.now(),
  readFile: async (path) => Buffer.from(await host.readFile(path)).toString("utf8"),
  readGiven: async ({ text, source, fromFlag }) => {
    const literal = !fromFlag && !text.startsWith("@");
    const value = literal ? text : await (fromFlag ? readSecret : readValue)(text, source, sources);
    redactor.add(value);
    return value;
  },
  learnSecret: redactor.add,
  redact: redactor.redact,
  warn: (message) => sources.warn(message),
  forward: (text) => void host.stderr.writeColored(text),
  endGroup: (pid) => host.endGroup(pid),
});
