import type { OptionSpec, OptionValues } from "../../cli/command.ts";
import { text } from "../../cli/command.ts";

type Flags = Readonly<Record<string, OptionSpec>>;

/** Flags of every command that takes many vaults. */
export const manyFlags = {
  from: {
    flag: "--from <file>",
    help: "take the vaults of a list, one a line or NDJSON (- is standard input)",
    value: text,
  },
  all: { flag: "--all", help: "take every vault that the state knows at this service" },
  concurrency: {
    flag: "--concurrency <n>",
    help: "take at most N at a time (as many as the rate limit feeds)",
    value: (is) => is.wholeNumber,
  },
  maxFailures: {
    flag: "--max-failures <n>",
    help: "begin no other vault after N failures",
    value: (is) => is.wholeNumber,
  },
} as const satisfies Flags;

/** Flag of what can be continued. */
export const runFlag = {
  run: {
    flag: "--run <name>",
    help: "name a run of many vaults; the same command line again continues it",
    value: (is) => is.runName,
  },
} as const satisfies Flags;

/** Where the contents of many vaults go, in place of stdout. */
export const deliveryFlags = {
  outDir: {
    flag: "--out-dir <directory>",
    help: "write the contents of each vault to UUID.json there (0600)",
    value: text,
  },
  exec: {
    flag: "--exec <command>",
    help: "pass each vault's document to a shell command; acknowledge if it ends with 0",
    value: text,
  },
} as const satisfies Flags;

export type ManyOptions = OptionValues<typeof manyFlags & typeof runFlag & typeof deliveryFlags> & {
  vaults: readonly string[];
};

/** Whether a command line is about many vaults: what is done with one alone has its own output. */
export const isMany = ({ vaults, ...options }: Partial<ManyOptions>): boolean =>
  (vaults ?? []).length > 1 ||
  (["from", "all", "concurrency", "maxFailures", "run", "outDir", "exec"] as const).some(
    (name) => options[name] !== undefined,
  );
