import * as z from "zod/mini";
import { count, maybeText, text } from "./parts.ts";

/** A command, a topic, the exit codes, or a schema. */
export const help = z.union([
  z.object({ command: text, summary: text, text }),
  z.object({ topic: text, summary: text, text }),
  z.object({
    exitCodes: z.array(z.object({ exit: count, code: maybeText, meaning: text, retry: maybeText })),
  }),
  z.looseObject({ $schema: text }),
]);
