import { VaultError } from "../errors.ts";
import { waysToSet } from "../settings/definitions.ts";
import type { Prompts } from "./prompts.ts";
import { askNewPassphrase, notEmpty } from "./prompts.ts";

/**
 * Asks for the passphrase of a key, once for each id; null is a new key.
 *
 * @throws `usage` where nobody can be asked, `interrupted`.
 */
export function passphraseOnTerminal(ask: Prompts, learnSecret: (secret: string) => void): (id: string | null) => Promise<string> {
  const answers = new Map<string, string>();
  return async (id) => {
    const answered = answers.get(id ?? "");
    if (answered !== undefined) return answered;
    if (!ask.isPossible) {
      throw new VaultError("usage", "the passphrase of the state is missing", {
        hint: `give it by ${waysToSet("statePassphrase")}, or run it on a terminal, where it is asked for`,
      });
    }
    const answer =
      id === null ? await askNewPassphrase(ask) : await ask.secret({ message: `Passphrase of the state (key ${id})`, rule: notEmpty });
    learnSecret(answer);
    answers.set(id ?? "", answer);
    return answer;
  };
}
