import type { Deps } from "../deps.ts";
import { VaultError } from "../errors.ts";

/** Asks before something that cannot be taken back. Raises `usage` where nobody can be asked, `interrupted` on a no. */
export async function confirmOrFail(deps: Deps, yes: boolean, question: string): Promise<void> {
  if (yes) return;
  if (!deps.mayAsk) {
    throw new VaultError("usage", `${question} Nobody can be asked here`, { hint: "give --yes to confirm" });
  }
  const { confirm } = await import("../terminal/prompts.ts");
  if (!(await confirm(deps.host, question))) throw new VaultError("interrupted", "not confirmed: nothing was changed", { retry: "safe" });
}
