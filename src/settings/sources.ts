import type { ValueSources } from "../secrets/secret-value.ts";
import { readSecret, readValue } from "../secrets/secret-value.ts";
import type { Sourced } from "./settings.ts";

/** What reading a setting may need of the world, besides its text. */
export interface SettingWorld {
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
  /** The text of a file, whatever else is in it: certificates stand among comments. Rejects with Node's error. */
  readFile: (path: string) => Promise<string>;
  /** A secret from a flag (all forms), or from environment or profile (`@FILE` or the value itself); it is learned. */
  readGiven: (spec: Sourced) => Promise<string>;
  /** Called with a secret before anything else sees it. */
  learnSecret: (secret: string) => void;
  /** A text without the secrets that are known so far. */
  redact: (text: string) => string;
  warn: (message: string) => void;
  /** What a command of the user prints beside its result. */
  say: (text: string) => void;
  /** Kills a process and all that it started. */
  endGroup: (pid: number) => void;
}

/** The parts of a run that a world is made of. */
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
  say: (text) => void host.stderr.writeColored(text),
  endGroup: (pid) => host.endGroup(pid),
});
