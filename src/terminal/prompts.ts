import { VaultError } from "../errors.ts";

/** Where a question is asked, and what ends it. */
export interface PromptPlace {
  terminal(): { input: NodeJS.ReadStream; output: NodeJS.WriteStream };
  interrupted: AbortSignal;
}

/** A yes-or-no question on the terminal; no is the default. Ctrl-C raises `interrupted`. */
export async function confirm(place: PromptPlace, question: string): Promise<boolean> {
  const { confirm: ask } = await import("@inquirer/prompts");
  try {
    return await ask({ message: question, default: false }, { ...place.terminal(), signal: place.interrupted, clearPromptOnDone: false });
  } catch (error) {
    throw new VaultError("interrupted", "interrupted at a question: nothing was changed", { retry: "safe", cause: error });
  }
}
