import { createOutput, type Output } from "../cli/output.ts";
import { createPrompts, type Prompts } from "../cli/prompts.ts";
import type { Waiting } from "../exchange/ports.ts";
import type { Host } from "../host.ts";
import { once } from "../at-a-time.ts";
import type { GivenFlags, Settings } from "../settings/settings.ts";
import { readSecret, valueSources, type ValueSources } from "../settings/given.ts";
import { createNarrator, type Narrator } from "../terminal/narrator.ts";
import type { Way } from "../way.ts";
import { createRedactor, type Redactor } from "../terminal/redactor.ts";

/** What a command reads, and where it speaks: the machine, its streams, and the person before it. */
export interface Io {
  host: Host;
  /** The command line, for a way that repeats it. */
  line: Way;
  /** The result, on stdout. */
  output: Output;
  /** Prints a text for a person, never contents of a vault: through the pager where it is longer than the screen. */
  show: (text: string) => Promise<void>;
  /** What happens meanwhile, on stderr. */
  narrator: Narrator;
  /** The secrets that no output but a revealed result may show. */
  redactor: Redactor;
  ask: Prompts;
  /** Where the values of options come from: files, variables, standard input. */
  sources: ValueSources;
  /** A secret from where an option has it, which the redactor knows from then on. */
  secretOption: (spec: string, flag: string, how?: "exactly") => Promise<string>;
  /** When all waiting and retrying of this command ends; the time starts at the first wait. */
  waiting: Waiting;
}

/** Makes the part. The redactor stands between the program and stderr from then on. */
export function createIo(
  host: Host,
  flags: GivenFlags & Readonly<Record<string, unknown>>,
  settings: Settings,
  words: readonly string[] = [],
): Io {
  const redactor = createRedactor();
  host.stderr.redactWith(redactor);
  const narrator = createNarrator({
    stderr: host.stderr,
    quiet: flags["quiet"] === true,
    verbose: flags["verbose"] === true,
    json: settings.output !== "table",
    reader: () => ({ self: host.actor, now: host.now() }),
  });
  const { sources, isStdinTaken } = valueSources(host, narrator.warn);
  const isAttended = flags["input"] !== false && (host.env["CI"] ?? "") === "";
  const mayAsk = (): boolean =>
    host.stdin.isTTY && host.stderr.isTTY && !isStdinTaken() && isAttended;
  const show = async (text: string): Promise<void> => {
    if (!host.stdout.isTTY) return await host.stdout.write(text);
    const [{ showText }, { environmentWithoutSecrets }] = await Promise.all([
      import("../terminal/foreground.ts"),
      import("../settings/child-command.ts"),
    ]);
    await showText(host, text, {
      isAllowed: isAttended && flags["pager"] !== false,
      setting: settings.pagerCommand,
      env: environmentWithoutSecrets(host.env, redactor),
    });
  };
  const choice = {
    format: settings.output,
    field: flags["field"] as string | undefined,
    reveal: flags["reveal"] === true,
  };
  // The time that a person takes to answer questions is not waiting.
  const deadline = once(() => host.elapsed() + settings.maxWait);
  return {
    host,
    line: { argv: ["vault", ...words] },
    output: createOutput(host, choice, narrator.warn, show),
    show,
    narrator,
    redactor,
    ask: createPrompts(host, mayAsk),
    sources,
    secretOption: async (spec, flag, how) =>
      await readSecret({ sources, redactor }, { text: spec, source: flag, fromFlag: true }, how),
    waiting: {
      get deadline() {
        return deadline();
      },
      signal: host.interrupted,
    },
  };
}
