import { VaultError } from "../errors.ts";
import { printableLine } from "./redactor.ts";

/** Where a question is asked, and what ends it. */
export interface PromptPlace {
  terminal(): { input: NodeJS.ReadStream; output: NodeJS.WriteStream };
  interrupted: AbortSignal;
}

/** What an answer must fulfil: null, or the rule that it breaks. The question is asked until it is null. */
export type Rule = (answer: string) => string | null;

export interface Question {
  message: string;
  rule?: Rule;
  /** Taken where only Enter is pressed. */
  initial?: string;
  /** How the answer is shown while it is typed, and once it is taken (`isFinal`). */
  shown?: (typed: string, state: { isFinal: boolean }) => string;
}

export interface Choice<T> {
  value: T;
  name: string;
  /** Shown while the choice is the one under the cursor. */
  description?: string;
}

/** A yes-or-no question on the terminal; no is the default. Like all of these, Ctrl-C raises `interrupted`. */
export async function confirm(place: PromptPlace, question: string): Promise<boolean> {
  const { confirm: ask } = await import("@inquirer/prompts");
  return await answered(place, (context) => ask({ message: printableLine(question), default: false }, context));
}

/** A line of text. */
export async function askText(place: PromptPlace, { message, rule, initial, shown }: Question): Promise<string> {
  const { input } = await import("@inquirer/prompts");
  const more = { ...(initial === undefined ? {} : { default: initial }), ...(shown === undefined ? {} : { transformer: shown }) };
  return await answered(place, (context) => input({ message: printableLine(message), validate: validator(rule), ...more }, context));
}

/** A line that is not shown. */
export async function askSecret(place: PromptPlace, { message, rule }: Pick<Question, "message" | "rule">): Promise<string> {
  const { password } = await import("@inquirer/prompts");
  return await answered(place, (context) => password({ message, toggleMask: false, validate: validator(rule) }, context));
}

/** A new passphrase, twice. */
export async function askNewPassphrase(place: PromptPlace): Promise<string> {
  const first = await askSecret(place, {
    message: "New passphrase of the state",
    rule: (answer) => (answer.length < 8 ? "must be at least 8 characters" : null),
  });
  await askSecret(place, { message: "The same once more", rule: (answer) => (answer === first ? null : "is not the same") });
  return first;
}

/** One of a list. */
export async function choose<T>(place: PromptPlace, message: string, choices: readonly Choice<T>[]): Promise<T> {
  const { select } = await import("@inquirer/prompts");
  const shown = choices.map((choice) => ({ ...choice, name: printableLine(choice.name) }));
  return await answered(place, (context) => select({ message, choices: shown, pageSize: 10 }, context));
}

const validator = (rule: Rule | undefined) => (answer: string) => rule?.(answer) ?? true;

type Context = { input: NodeJS.ReadStream; output: NodeJS.WriteStream; signal: AbortSignal; clearPromptOnDone: boolean };

async function answered<T>(place: PromptPlace, ask: (context: Context) => Promise<T>): Promise<T> {
  try {
    return await ask({ ...place.terminal(), signal: place.interrupted, clearPromptOnDone: false });
  } catch (error) {
    // Ctrl-C, or the signal; what else may go wrong is not the user's doing.
    const names = ["ExitPromptError", "AbortPromptError", "CancelPromptError"];
    if (!place.interrupted.aborted && !(error instanceof Error && names.includes(error.name))) throw error;
    throw new VaultError("interrupted", "interrupted at a question: nothing was changed", { retry: "safe", cause: error });
  }
}
