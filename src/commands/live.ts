import type { Deps } from "../deps.ts";
import { confirmOrFail } from "./confirm.ts";

/** `prod (https://vaults.example.com)`. */
const named = ({ profile, settings }: Deps): string => `${profile.name} (${settings.baseUrl ?? "no base URL"})`;

/**
 * Asks before something is changed by way of a profile that is marked `live: true`; any other profile is not asked about.
 * Raises `usage` where nobody can be asked, `interrupted` on a no.
 */
export async function confirmLive(deps: Deps, question: string, yes = false): Promise<void> {
  if (deps.settings.live) await confirmOrFail(deps, yes, `Live profile ${named(deps)}: ${question}`);
}
