import type { Deps } from "../deps.ts";
import { confirmOrFail } from "./confirm.ts";

/** What a question of a profile that is marked `live: true` begins with. */
export const liveMark = ({ profile, settings }: Deps): string =>
  settings.live ? `Live profile ${profile.name} (${settings.baseUrl ?? "no base URL"}): ` : "";

/** A change by way of a live profile is confirmed also where nobody can be asked: raises `usage` there without `yes`. */
export async function confirmLive(deps: Deps, question: string, yes: boolean): Promise<void> {
  if (deps.settings.live) await confirmOrFail(deps, yes, `${liveMark(deps)}${question}`);
}
