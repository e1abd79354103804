import * as z from "zod/mini";
import { device } from "../protocol/fields.ts";
import { count, credentials, kind, maybeText, text, time, vault } from "./exchange.ts";

const listed = { ...vault, label: text, kind };
const known = { ...listed, credentials, device: z.optional(z.looseObject(device.shape)) };

const item = z.object({
  id: text,
  time,
  action: text,
  outcome: text,
  description: text,
  vaultUuid: maybeText,
  applicationUuid: maybeText,
  externalRef: maybeText,
  ipAddress: maybeText,
  endpoint: maybeText,
});

/** What happens to a call: it never arrives or its response is lost; or the program is killed, before or after it is processed. */
export const failures = ["lost-before", "lost-after", "killed-before", "killed-after"] as const;

const scenario = z.object({
  call: z.object({ n: count, method: text, endpoint: text }),
  failure: z.enum(failures),
  outcome: z.enum(["fine", "locked", "lost"]),
  /** Exit code of --check. */
  check: count,
});

const lock = z.object({ ...vault, kind, status: z.enum(["active", "locked", "deleted"]) });

export const sandbox = {
  "sandbox rehearse": z.object({ scenarios: z.array(scenario), warnings: z.array(text) }),
  "sandbox start": z.object({
    baseUrl: text,
    application: z.object({ uuid: text, apiKey: text }),
    vaults: z.array(z.object(known)),
  }),
  "sandbox env": z.object({ env: z.record(text, text) }),
  "sandbox status": z.union([
    z.object({ running: z.literal(false) }),
    z.object({
      running: z.literal(true),
      baseUrl: text,
      application: z.object({ uuid: text }),
      readyFile: text,
      vaults: z.array(z.object(listed)),
    }),
  ]),
  "sandbox stop": z.object({ stopped: text }),
  "sandbox reset": z.object({ vaults: count }),
  /** With --export, the number of items; with -o ndjson, an item a line. */
  "sandbox audit": z.union([
    z.object({ items: z.array(item) }),
    z.object({ items: count, file: text }),
    item,
  ]),
  "sandbox lock": lock,
  "sandbox unlock": lock,
  "sandbox fault": z.object({ armed: count }),
};

export type SandboxDocument<Name extends keyof typeof sandbox> = z.infer<(typeof sandbox)[Name]>;
export type AuditItem = z.infer<typeof item>;
export type StartDocument = SandboxDocument<"sandbox start">;
export type AuditDocument = { items: AuditItem[] };
export type Scenario = z.infer<typeof scenario>;
