import * as z from "zod/mini";
import { count, maybeText, next, text } from "./parts.ts";

const value = z.union([text, z.number(), z.boolean(), z.record(text, z.unknown())]);

/** `value` is null if the setting is not set; a secret is masked. */
const setting = z.object({ key: text, value: z.nullable(value), origin: maybeText });

/** `info`: no problem is known, but it could not be verified. */
const finding = z.object({
  check: text,
  level: z.enum(["ok", "info", "warn", "error"]),
  message: text,
  hint: z.optional(text),
  next,
});

/** What the commands print that set up a machine, and help. */
export const setup = {
  "config list": z.object({
    settings: z.array(setting),
    profile: text,
    profiles: z.array(text),
    path: text,
  }),
  "config get": z.object({ key: text, value, origin: maybeText }),
  "config set": z.object({ profile: text, key: text, value }),
  "config unset": z.object({ profile: text, key: text, value: z.null() }),
  "config path": z.object({ config: text, keys: text, state: text }),
  "config use": z.object({ profile: text }),
  init: z.object({ profile: text, path: text, current: z.boolean() }),
  doctor: z.object({ checks: z.array(finding) }),
  /** A command, a topic, the exit codes, or a schema. */
  help: z.union([
    z.object({ command: text, summary: text, text }),
    z.object({ topic: text, summary: text, text }),
    z.object({
      exitCodes: z.array(
        z.object({ exit: count, code: maybeText, meaning: text, retry: maybeText }),
      ),
    }),
    z.looseObject({ $schema: text }),
  ]),
};

export type Finding = z.infer<typeof finding>;
