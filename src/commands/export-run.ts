import * as z from "zod/mini";
import type { Deps } from "../deps.ts";
import { VaultError } from "../errors.ts";
import { liveGenerations } from "../exchange/candidates.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { noCredentials } from "../exchange/prepare.ts";
import { pairOnly, recoveryDocument } from "../exchange/recovery-of.ts";
import type { RawInput } from "./act.ts";
import { fieldOf } from "./document.ts";
import { flag, parseInput, uuid } from "./options.ts";

const schema = z.object({ uuid: z.optional(uuid), all: flag });
export type ExportOptions = z.infer<typeof schema>;

export const parseExport = (input: RawInput): ExportOptions => parseInput(schema, input, ["uuid"]);

/** Prints credentials in clear: that is what it is for. Raises `no-credentials` for a vault that has none. */
export async function runExport(deps: Deps, input: RawInput): Promise<number> {
  const options = parseExport(input);
  if ((options.uuid === undefined) === (options.all !== true)) {
    throw new VaultError("usage", "export needs either a vault's uuid or --all", { hint: "vault export <uuid>, or vault export --all" });
  }
  if (options.uuid !== undefined) {
    const { credentials } = await exportOne(deps, options.uuid);
    const { field } = deps.output;
    const value =
      field === undefined
        ? `${JSON.stringify(credentials, null, deps.output.format === "ndjson" ? 0 : 2)}\n`
        : asText(fieldOf(credentials, field));
    await deps.host.stdout.write(value);
    return 0;
  }
  const service = deps.serviceName();
  const records = await (await deps.store()).list();
  for (const record of records.filter((r) => r.service === service && r.generations.length > 0)) {
    await deps.host.stdout.write(`${JSON.stringify(await exportOne(deps, record.uuid))}\n`);
  }
  return 0;
}

const asText = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

async function exportOne(deps: Deps, target: string) {
  const context = await deps.hold(target, { local: true });
  try {
    const record = await context.session.read();
    if (record === null || record.generations.length === 0) throw noCredentials(target);
    const device = record.generations.find((g) => g.device !== null)?.device;
    return {
      uuid: record.uuid,
      kind: record.kind,
      credentials: await credentialsOf(context, record),
      ...(device === null || device === undefined ? {} : { device }),
      ...(record.label === null ? {} : { label: record.label }),
    };
  } finally {
    await context.session.release();
  }
}

async function credentialsOf(context: ExchangeContext, record: VaultRecord) {
  if (record.open !== null) return await recoveryDocument(context, record, record.open);
  const [newest] = liveGenerations(record);
  if (newest === undefined) throw noCredentials(record.uuid);
  const current = liveGenerations(record).find((g) => g.standing === "current") ?? newest;
  return pairOnly(await context.session.credentials(current.generation));
}
