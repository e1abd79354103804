import * as z from "zod/mini";
import { operations } from "../../protocol/endpoints.ts";
import type { RawInput } from "../../cli/act.ts";
import { flag, kind, parseInput, text, uuid } from "../../cli/options.ts";

const schema = z.object({
  uuid: z.optional(uuid),
  all: flag,
  unread: flag,
  saveCmd: z.optional(text),
  saved: flag,
  token: z.optional(text),
  kind: z.optional(kind),
  operation: z.optional(z.enum(operations, { error: `must be ${operations.join(" or ")}` })),
});
export type AckOptions = z.infer<typeof schema>;

export const parseAck = (input: RawInput): AckOptions => parseInput(schema, input, ["uuid"]);

export interface Acknowledged {
  uuid: string;
  operation: string;
  exchange: {
    id?: string;
    state: string;
    externalRef?: string;
    startedAt?: string;
    acknowledgedAt: string | null;
    generation?: number | null;
  };
}
