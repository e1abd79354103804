import * as z from "zod/mini";
import { errorBody } from "./parts.ts";
import { count, read, settled, text, updated, vault } from "./parts.ts";

// What commands with many vaults print: a line per event, or with --dry-run a plan.

/** Before a vault's end call. `settled` is there if there is something in it. */
const contents = z.object({ event: z.literal("contents"), ...read, settled: z.optional(settled) });

/** After the acknowledgement of an update. */
const receipt = z.object({ event: z.literal("receipt"), ...updated, settled: z.optional(settled) });

const skipReason = z.enum(["held", "locked", "guard", "limited"]);

const ofVault = { event: z.literal("outcome"), ...vault };

/** The last line about a vault. `earlier`: acknowledged by an earlier command of the same run. */
const outcome = z.union([
  z.object({ ...ofVault, ok: z.literal(true), earlier: z.optional(z.literal(true)) }),
  z.object({ ...ofVault, ok: z.literal(false), error: errorBody }),
  z.object({
    ...ofVault,
    ok: z.literal(false),
    skipped: z.union([skipReason, z.literal("stopped")]),
  }),
]);

const seconds = z.number().check(z.nonnegative());

/** `done` includes what was done earlier, `skipped` what was not begun. */
const summary = z.object({
  event: z.literal("summary"),
  run: text,
  done: count,
  earlier: count,
  failed: count,
  skipped: count,
  seconds,
  calls: count,
});

export const manyEvent = z.union([contents, receipt, outcome, summary]);

/** What --dry-run prints. */
export const plan = z.object({
  plan: z.object({
    vaults: count,
    calls: count,
    seconds,
    skipped: z.array(z.object({ uuid: vault.uuid, reason: skipReason })),
  }),
});

export type ManyEvent = z.infer<typeof manyEvent>;
export type PlanDocument = z.infer<typeof plan>;
