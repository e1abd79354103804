import type { VaultError } from "../../errors.ts";
import type { Finding } from "../../documents/schemas.ts";
import type { Way } from "../../way.ts";

/** What to do about a finding: a sentence, or commands. */
type Advice = string | readonly Way[];

const of =
  (level: Finding["level"]) =>
  (check: string, message: string, advice: Advice = []): Finding =>
    typeof advice === "string"
      ? { check, level, message, hint: advice, next: [] }
      : { check, level, message, next: [...advice] };

export const ok = of("ok");
export const unverified = of("info");
export const warning = of("warn");
export const bad = of("error");

/** What another command would fail with. */
export const failed = (check: string, { message, facts }: VaultError): Finding => ({
  ...bad(check, message, facts.hint),
  next: facts.next ?? [],
});
