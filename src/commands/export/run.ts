import type { Io } from "../../parts/io.ts";
import type { ServicePart } from "../../parts/service.ts";
import type { Narrator } from "../../terminal/narrator.ts";
import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { candidates, unrefused } from "../../exchange/next-action.ts";
import { refusalError } from "../../exchange/refusals.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import type { VaultRecord } from "../../exchange/records.ts";
import { noCredentials } from "../../exchange/start/start.ts";
import { bareCredentials, recoveryJson } from "../../exchange/recovery/document.ts";
import { recoveryDocument } from "../../exchange/recovery/exchange.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { ExportedVault } from "../../documents/state.ts";
import type { ExportOptions } from "../export.ts";
import { askVault } from "../../input/ask.ts";
import { refuseClosedOutput, serialize } from "../../cli/output.ts";
import { defined } from "../../defined.ts";
import { command } from "../../way.ts";

/**
 * Prints credentials in plain text.
 * @throws `no-credentials` for a vault that has none
 */
export async function runExport(app: App, options: ExportOptions): Promise<number> {
  if (options.uuid !== undefined && options.all === true) {
    throw new VaultError("usage", "--all cannot be used with a vault", {
      next: [command`vault export VAULT`, command`vault export --all`],
    });
  }
  if (app.io.output.field !== undefined && options.all === true) {
    throw new VaultError("usage", "--field prints one value, and --all exports many vaults", {
      next: [
        command`vault export VAULT --field PATH`,
        { ...command`vault export --all -o ndjson`, note: "for a tool such as jq" },
      ],
    });
  }
  const uuid = options.all === true ? undefined : await askVault(app, options.uuid, "export");
  refuseClosedOutput(app.io.host.stdout, "credentials");
  await app.io.host.stdout.write(
    uuid === undefined ? await exportAll(app) : await exportPair(app, uuid, options.generation),
  );
  return 0;
}

async function exportPair(
  { io, service }: { io: Io; service: ServicePart },
  uuid: string,
  generation: number | undefined,
): Promise<string> {
  const exported = await exportOne({ io, service }, uuid, generation);
  const { field, format } = io.output;
  const asJson = { field, format: format === "table" ? "json" : format } as const;
  return serialize(exported, asJson, io.host.stdout.isTTY) ?? "";
}

/** The form that `import --file` reads: a line a vault, or with --json one document. Vaults of one service only. */
async function exportAll(app: App): Promise<string> {
  const records = (await (await app.state.store()).list()).filter(
    (record) => record.generations.length > 0,
  );
  const services = [...new Set(records.map((record) => record.service))];
  const here =
    app.settings.baseUrl === undefined && services.length === 1
      ? services[0]
      : app.settings.serviceName();
  const others = services.filter((service) => service !== here);
  if (others.length > 0)
    app.io.narrator.warn(
      `vaults of other services are not included (${others.join(", ")}); choose one with --base-url`,
    );
  const exported: ExportedVault[] = [];
  for (const record of records.filter((r) => r.service === here))
    exported.push(await exportOne(app, record.uuid));
  if (app.io.output.format === "json")
    return serialize(exported, app.io.output, app.io.host.stdout.isTTY) ?? "";
  return exported.map((one) => `${jsonText(one)}\n`).join("");
}

async function exportOne(
  { io, service }: { io: Io; service: ServicePart },
  target: string,
  generation?: number,
): Promise<ExportedVault> {
  const work = async (context: ExchangeContext): Promise<ExportedVault> => {
    const record = await context.session.read();
    if (record === null || record.generations.length === 0) throw noCredentials(target);
    const device = record.generations.find((g) => g.device !== null)?.device;
    const { uuid, label, kind } = record;
    const credentials = await credentialsOf(io.narrator, context, record, generation);
    return { uuid, label, kind, credentials, ...defined({ device: device ?? undefined }) };
  };
  return await service.withVault(target, work, { local: true });
}

/** What the next start would send first; of the exchange that this belongs to, where one is open, the recovery document. */
async function credentialsOf(
  narrator: Narrator,
  context: ExchangeContext,
  record: VaultRecord,
  generation?: number,
) {
  const { session } = context;
  const { open, uuid } = record;
  // --generation reaches every kept pair, and so what was refused or superseded.
  const wanted =
    generation === undefined
      ? unrefused(record)
      : record.generations.filter((g) => g.generation === generation);
  const [first, ...others] = wanted;
  if (first === undefined) {
    if (generation === undefined && candidates(record).length > 0) throw refusedOnly(record);
    const because = generation === undefined ? "superseded" : "generation";
    const wish = { operation: "get", discardPending: false, force: true, generation } as const;
    throw refusalError(record, { do: "refuse", because, candidates: [] }, wish, context);
  }
  const chosen = first.generation;
  const isOfOpen =
    open !== null &&
    generation === undefined &&
    [open.baseGeneration, open.newGeneration].includes(chosen);
  const given = isOfOpen ? [open.baseGeneration, open.newGeneration ?? 0] : [chosen];
  const rest = others.map((pair) => pair.generation).filter((each) => !given.includes(each));
  if (rest.length > 0) {
    narrator.warn(
      `vault ${uuid}: exported generation ${chosen}, but ${rest.join(", ")} may be valid instead`,
      [
        { ...command`vault get ${uuid}`, note: "finds out" },
        { ...command`vault export ${uuid} --generation N`, note: "prints another one" },
      ],
    );
  }
  await session.markElsewhere(given);
  return isOfOpen
    ? recoveryJson(await recoveryDocument(context, record, open))
    : bareCredentials(await session.credentials(chosen));
}

function refusedOnly({ uuid, generations }: VaultRecord): VaultError {
  return new VaultError(
    "no-credentials",
    `the service has refused all stored credentials of vault ${uuid}; nothing was exported`,
    {
      uuid,
      next: [
        {
          ...command`vault export ${uuid} --generation N`,
          note: `one of ${generations.map((g) => g.generation).join(", ")}, anyway`,
        },
      ],
    },
  );
}
