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
