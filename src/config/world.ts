import type { ValueSources } from "./secret-value.ts";
import type { Sourced } from "./settings.ts";

/** What reading a setting may need of the world, besides its text. */
export interface SettingWorld {
  env: Readonly<Record<string, string | undefined>>;
  now: () => number;
  /** The text of a file; rejects with Node's error. */
  readFile: (path: string) => Promise<string>;
  /** The value of a setting that may name a file, a variable or standard input. */
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
  host: { env: SettingWorld["env"]; now(): number; endGroup(pid: number): void; stderr: { write(text: string): unknown } };
  sources: ValueSources;
  redactor: { add: (secret: string) => void; redact: (text: string) => string };
}

export const settingWorld = ({ host, sources, redactor }: WorldParts, readGiven: SettingWorld["readGiven"]): SettingWorld => ({
  env: host.env,
  now: () => host.now(),
  readFile: async (path) => await sources.readFile(path),
  readGiven,
  learnSecret: redactor.add,
  redact: redactor.redact,
  warn: (message) => sources.warn(message),
  say: (text) => void host.stderr.write(text),
  endGroup: (pid) => host.endGroup(pid),
});
