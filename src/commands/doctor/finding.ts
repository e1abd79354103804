import type { VaultError } from "../../errors.ts";
import type { Finding } from "../../documents/setup.ts";

export const ok = (check: string, message: string, hint: string | null = null): Finding => ({
  check,
  level: "ok",
  message,
  hint,
});
export const unverified = (check: string, message: string): Finding => ({
  check,
  level: "info",
  message,
  hint: null,
});
export const warning = (check: string, message: string, hint: string): Finding => ({
  check,
  level: "warn",
  message,
  hint,
});
export const bad = (check: string, message: string, hint: string | null): Finding => ({
  check,
  level: "error",
  message,
  hint,
});

/** What another command would fail with. */
export const failed = (check: string, { message, facts }: VaultError): Finding =>
  bad(check, message, facts.hint ?? null);
