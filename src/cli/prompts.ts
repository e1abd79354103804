import { VaultError } from "../errors.ts";
import { printableLine } from "../terminal/redactor.ts";
import { wrapMessage } from "../terminal/streams.ts";
import { defined } from "../defined.ts";
import { unlikeWay } from "../way.ts";

interface PromptPlace {
  terminal(): { input: NodeJS.ReadStream; output: NodeJS.WriteStream };
  interrupted: AbortSignal;
}

/** Checks an answer: null, or the rule that it breaks. The question is repeated until it is null. */
export type Rule = (answer: string) => string | null | Promise<string | null>;

interface Question {
  message: string;
  rule?: Rule;
  /** Taken if only Enter is pressed. */
  initial?: string | undefined;
  /** How the answer is shown while it is typed, and once it is taken (`isFinal`). */
  shown?: (typed: string, state: { isFinal: boolean }) => string;
}

/** Questions on the terminal. Each rejects with `interrupted` on Ctrl-C, and may be asked only if `isPossible`. */
export interface Prompts {
  /** False without a terminal, a person or permission to ask. */
  readonly isPossible: boolean;
  text(question: Question): Promise<string>;
  secret(question: Pick<Question, "message" | "rule">): Promise<string>;
  choose<T>(message: string, choices: readonly { value: T; name: string }[]): Promise<T>;
  /** A yes-or-no question; no is the default, unless another is given. */
  confirm(question: string, initial?: boolean): Promise<boolean>;
}

export function createPrompts(place: PromptPlace, isPossible: () => boolean): Prompts {
  const inquirer = async () => await import("@inquirer/prompts");
  const text: Prompts["text"] = async ({ message, rule, initial, shown }) => {
    const { input } = await inquirer();
    const more = defined({ default: initial, transformer: shown });
    return await answered(place, async (context) => {
      const validate = async (answer: string): Promise<true | string> => {
        const broken = (await rule?.(answer)) ?? null;
        return broken === null || wrapped(broken, context, 2);
      };
      // The next answer must not be typed behind a wrong one, which may be hidden.
      const theme = { validationFailureMode: "clear" } as const;
      const told = wrapped(message, context, "?  Yes".length);
      return await input({ message: told, validate, theme, ...more }, context);
    });
  };
  return {
    get isPossible() {
      return isPossible();
    },
    text,
    secret: async (question) => await text({ ...question, shown: hidden }),
    choose: async (message, choices) => {
      const { select } = await inquirer();
      const shown = choices.map((choice) => ({
        ...choice,
        name: unlikeWay(printableLine(choice.name)),
      }));
      return await answered(place, (context) =>
        select({ message, choices: shown, pageSize: 10 }, context),
      );
    },
    confirm: async (question, initial = false) => {
      const isAgreed = (answer: string): boolean =>
        answer.trim() === "" ? initial : /^y/i.test(answer.trim());
      return isAgreed(
        await text({
          message: `${question} (${initial ? "Y/n" : "y/N"})`,
          rule: (answer) => (/^(?:y|yes|n|no|)$/i.test(answer.trim()) ? null : "must be y or n"),
          shown: (typed, { isFinal }) => (isFinal ? (isAgreed(typed) ? "Yes" : "No") : typed),
        }),
      );
    },
  };
}

/** A text as inquirer shows it beside what has this width, which would break it within words. */
const wrapped = (text: string, { output }: Context, beside: number): string =>
  wrapMessage(printableLine(text), (output.columns || 80) - beside);

/**
 * Asks before something that cannot be taken back.
 * @throws `usage` if nobody can be asked, `canceled` on a No.
 */
export async function confirmOrFail(
  ask: Prompts,
  yes: boolean,
  question: string,
  flag = "--yes",
): Promise<void> {
  if (yes) return;
  if (!ask.isPossible)
    throw new VaultError("usage", `confirmation required: ${question}`, {
      hint: `use ${flag} to confirm`,
    });
  if (!(await ask.confirm(question)))
    throw new VaultError("canceled", "canceled; nothing was sent or changed");
}

/** Turns a check that throws into a rule. */
export const ruleFrom =
  (check: (answer: string) => unknown): Rule =>
  async (answer) => {
    try {
      await check(answer);
      return null;
    } catch (error) {
      return (error as Error).message;
    }
  };

export const notEmpty: Rule = (answer) => (answer === "" ? "must not be empty" : null);

/** Of a secret: nothing, and no cursor, which would move with each key. */
const hidden: Required<Question>["shown"] = (_, { isFinal }) =>
  isFinal ? "" : "[hidden]\u001b[?25l";

type Context = ReturnType<PromptPlace["terminal"]> & { signal: AbortSignal };

async function answered<T>(place: PromptPlace, ask: (context: Context) => Promise<T>): Promise<T> {
  const { input, output } = place.terminal();
  const left = new AbortController();
  const leave = (): void => left.abort();
  // At Ctrl-D readline closes, which nobody would hear of; after Ctrl-Z, for which it ends raw mode too, it pauses the input.
  let isSuspended = false;
  const check = (): void => void (input.isRaw || isSuspended || leave());
  const onKey = (_: string, { ctrl, name }: { ctrl: boolean; name: string }): void => {
    if (input.isRaw) isSuspended = ctrl && name === "z";
    queueMicrotask(check);
  };
  const onPause = (): void => queueMicrotask(() => (input.isRaw ? void input.resume() : check()));
  input.on("keypress", onKey).on("pause", onPause).on("end", leave).on("error", leave);
  try {
    const signal = AbortSignal.any([place.interrupted, left.signal]);
    return await ask({ input, output, signal });
  } catch (error) {
    // Ctrl-C, Ctrl-D or a signal; anything else is a failure of its own.
    const names = ["ExitPromptError", "AbortPromptError", "CancelPromptError"];
    if (!place.interrupted.aborted && !(error instanceof Error && names.includes(error.name)))
      throw error;
    throw new VaultError("interrupted", "canceled; nothing was changed", {
      retry: "safe",
      cause: error,
    });
  } finally {
    input.off("keypress", onKey).off("pause", onPause).off("end", leave).off("error", leave);
    input.pause();
  }
}
