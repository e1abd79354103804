import { VaultError } from "../errors.ts";
import type { Host } from "../host.ts";

/** A yes-or-no question on the terminal; no is the default. Ctrl-C raises `interrupted`. */
export async function confirm(host: Pick<Host, "terminal" | "interrupted">, question: string): Promise<boolean> {
  const { confirm: ask } = await import("@inquirer/prompts");
  try {
    return await ask({ message: question, default: false }, { ...host.terminal(), signal: host.interrupted, clearPromptOnDone: false });
  } catch (error) {
    throw new VaultError("interrupted", "interrupted at a question: nothing was changed", { retry: "safe", cause: error });
  }
}
