import type { VaultError } from "../../errors.ts";

/** One result of `vault doctor`, as its JSON has it. */
export interface Finding {
  check: string;
  /** `info`: no problem is known, but it could not be verified. */
  level: "ok" | "info" | "warn" | "error";
  message: string;
  /** The next command or change that helps; null where there is nothing to do. */
  hint: string | null;
}

export const ok = (check: string, message: string, hint: string | null = null): Finding => ({ check, level: "ok", message, hint });
export const unverified = (check: string, message: string): Finding => ({ check, level: "info", message, hint: null });
export const warning = (check: string, message: string, hint: string): Finding => ({ check, level: "warn", message, hint });

/** What another command would fail with. */
export const failed = (check: string, error: VaultError, hint: string | null = null): Finding => ({
  check,
  level: "error",
  message: error.message,
  hint: hint ?? error.facts.hint ?? null,
});
