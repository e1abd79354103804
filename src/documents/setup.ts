import * as z from "zod/mini";
import { count, maybeText, next, text } from "./parts.ts";

const value = z.union([text, z.number(), z.boolean(), z.record(text, z.unknown())]);

/** `value` is null if the setting is not set; a secret is masked. */
const setting = z.object({ key: text, value: z.nullable(value), origin: maybeText });

export const configList = z.object({
  settings: z.array(setting),
  profile: text,
  profiles: z.array(text),
  path: text,
});
export const configGet = z.object({ key: text, value, origin: maybeText });
export const configSet = z.object({ profile: text, key: text, value });
export const configUnset = z.object({ profile: text, key: text, value: z.null() });
export const configPath = z.object({ config: text, keys: text, state: text });
export const configUse = z.object({ profile: text });

export const init = z.object({ profile: text, path: text, current: z.boolean() });

/** `info`: no problem is known, but it could not be verified. */
const finding = z.object({
  check: text,
  level: z.enum(["ok", "info", "warn", "error"]),
  message: text,
  hint: z.optional(text),
  next,
});

export const doctor = z.object({ checks: z.array(finding) });

/** A command, a topic, the exit codes, or a schema. */
export const help = z.union([
  z.object({ command: text, summary: text, text }),
  z.object({ topic: text, summary: text, text }),
  z.object({
    exitCodes: z.array(z.object({ exit: count, code: maybeText, meaning: text, retry: maybeText })),
  }),
  z.looseObject({ $schema: text }),
]);

export type Finding = z.infer<typeof finding>;
