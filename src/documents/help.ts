import * as z from "zod/mini";
import { count, maybeText, text } from "./parts.ts";

const argument = z.object({
  name: text,
  required: z.boolean(),
  variadic: z.boolean(),
  description: text,
  /** What completion offers. */
  values: z.looseObject({}),
});

const option = z.object({
  flags: text,
  short: z.optional(text),
  long: text,
  description: text,
  value: z.nullable(
    z.object({
      name: text,
      required: z.boolean(),
      variadic: z.boolean(),
      values: z.looseObject({}),
    }),
  ),
});

const command = {
  name: text,
  summary: text,
  description: text,
  arguments: z.readonly(z.array(argument)),
  options: z.readonly(z.array(option)),
  /** In the same form. */
  commands: z.readonly(z.array(z.looseObject({ name: text }))),
  examples: z.readonly(z.array(text)),
};

const named = z.array(z.object({ name: text, summary: text }));
const topic = z.object({ topic: text, summary: text, text });
const exitCodes = z.object({
  exitCodes: z.array(z.object({ exit: count, code: maybeText, meaning: text, retry: maybeText })),
});

/** A command, the program with its topics, a topic, the exit codes, or a schema. */
export const help = z.union([
  z.object({ ...command, topics: z.optional(named) }),
  topic,
  exitCodes,
  z.looseObject({ $schema: text }),
]);

export type TopicDocument = z.infer<typeof topic>;
export type ExitCodesDocument = z.infer<typeof exitCodes>;
