import * as z from "zod/mini";
import type { Deps } from "../deps.ts";
import { VaultError } from "../errors.ts";
import { currentGeneration, liveGenerations } from "../exchange/candidates.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { noCredentials } from "../exchange/prepare.ts";
import { pairOnly, recoveryDocument } from "../exchange/recovery-of.ts";
import { jsonText } from "../terminal/redactor.ts";
import type { RawInput } from "./act.ts";
import { askVault } from "./ask.ts";
import { serialise } from "./document.ts";
import { flag, parseInput, uuid } from "./options.ts";

const schema = z.object({ uuid: z.optional(uuid), all: flag });
export type ExportOptions = z.infer<typeof schema>;

export const parseExport = (input: RawInput): ExportOptions => parseInput(schema, input, ["uuid"]);

/** Prints credentials in clear: that is what it is for. Raises `no-credentials` for a vault that has none. */
export async function runExport(deps: Deps, input: RawInput): Promise<number> {
  const options = parseExport(input);
  if (options.uuid !== undefined && options.all === true) {
    throw new VaultError("usage", "--all is for every vault: leave the uuid out", { hint: "vault export <uuid>, or vault export --all" });
  }
  const uuid = options.all === true ? undefined : await askVault(deps, options.uuid, "export");
  try {
    await deps.host.stdout.write(uuid === undefined ? await exportAll(deps) : await exportPair(deps, uuid));
  } catch (error) {
    // Not as with a report: whoever removes the vault afterwards must know that there is no copy.
    if ((error as NodeJS.ErrnoException).code !== "EPIPE") throw error;
    throw new VaultError("state", "the credentials were not exported: the reader of the output has gone", { cause: error });
  }
  return 0;
}

async function exportPair(deps: Deps, uuid: string): Promise<string> {
  const { credentials } = await exportOne(deps, uuid);
  const { field, format } = deps.output;
  const asJson = { field, format: format === "table" ? "json" : format } as const;
  return serialise(credentials, asJson, deps.host.stdout.isTTY) ?? "";
}

/** The form that `import --file` reads: a line a vault, or with --json one document. Vaults of one service only. */
async function exportAll(deps: Deps): Promise<string> {
  const records = (await (await deps.store()).list()).filter((record) => record.generations.length > 0);
  const services = [...new Set(records.map((record) => record.service))];
  const here = deps.settings.baseUrl === undefined && services.length === 1 ? services[0] : deps.serviceName();
  const others = services.filter((service) => service !== here);
  if (others.length > 0) deps.narrator.warn(`vaults of other services are not in it (${others.join(", ")}): --base-url chooses one`);
  const exported: Exported[] = [];
  for (const record of records.filter((r) => r.service === here)) exported.push(await exportOne(deps, record.uuid));
  const { field, format } = deps.output;
  if (field !== undefined || format === "json") return serialise(exported, deps.output, deps.host.stdout.isTTY) ?? "";
  return exported.map((one) => `${jsonText(one)}\n`).join("");
}

type Exported = Awaited<ReturnType<typeof exportOne>>;

async function exportOne(deps: Deps, target: string) {
  const context = await deps.hold(target, { local: true });
  try {
    const record = await context.session.read();
    if (record === null || record.generations.length === 0) throw noCredentials(target);
    const device = record.generations.find((g) => g.device !== null)?.device;
    return {
      uuid: record.uuid,
      kind: record.kind,
      credentials: await credentialsOf(deps, context, record),
      ...(device === null || device === undefined ? {} : { device }),
      ...(record.label === null ? {} : { label: record.label }),
    };
  } finally {
    await context.session.release();
  }
}

/** The current pair cannot be had from anywhere else; an imported one came from somewhere. */
async function credentialsOf(deps: Deps, context: ExchangeContext, record: VaultRecord) {
  if (record.open !== null) return await recoveryDocument(context, record, record.open);
  const live = liveGenerations(record);
  const chosen = currentGeneration(record) ?? live[0];
  if (chosen === undefined) throw noCredentials(record.uuid);
  const others = live.filter((g) => g !== chosen).map((g) => g.generation);
  if (others.length > 0) {
    deps.narrator.warn(
      `vault ${record.uuid}: generation ${chosen.generation} is exported, not ${others.join(", ")}, which was imported and is not proven: ` +
        `vault get ${record.uuid} finds out which one is valid`,
    );
  }
  return pairOnly(await context.session.credentials(chosen.generation));
}
