import * as z from "zod/mini";
import { errorKinds } from "../errors.ts";
import type { ErrorKind } from "../errors.ts";
import { count, limits, maybeText, settled, storedExchange, text, vault } from "./parts.ts";

const codes = Object.keys(errorKinds) as ErrorKind[];

export const errorBody = z.object({
  code: z.enum(codes),
  message: text,
  hint: maybeText,
  exitCode: count,
  retry: z.enum(["safe", "after-fix", "after-status", "never"]),
  uuid: z.optional(vault.uuid),
  label: z.optional(vault.label),
  exchange: z.optional(z.object(storedExchange)),
  spent: z.optional(z.object({ unackedStarts: count, failedAttempts: count, limits })),
  settled: z.optional(settled),
  /** `responseStatus` is as it was received. */
  service: z.optional(
    z.object({
      httpStatus: count,
      responseStatus: z.optional(z.unknown()),
      errorUuid: z.optional(text),
    }),
  ),
});

/** The last line of stderr where a command fails. */
export const error = z.object({ error: errorBody });
