import { command, vaultArgument } from "../cli/command.ts";
import { wholeNumber } from "../cli/values.ts";
import type { App } from "../app.ts";
import { VaultError } from "../errors.ts";
import { aRead, candidates, unrefused } from "../exchange/next-action.ts";
import { refusalError } from "../exchange/refusals.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import { bareCredentials, noCredentials, type VaultRecord } from "../exchange/records.ts";
import { recoveryDocument } from "../exchange/recovery.ts";
import type { ExportedVault } from "../documents/state.ts";
import { askVault } from "../input/ask.ts";
import { serialize } from "../cli/output.ts";
import { defined } from "../defined.ts";
import { command as wayTo, noted } from "../way.ts";

/** @throws `no-credentials` for a vault that has none */
const exportVaults = command({
  description:
    "Print the credentials that the next start would send first, as JSON in plain text; while an exchange is open, its recovery document.",
  arguments: { uuid: { ...vaultArgument, help: `${vaultArgument.help} (or --all)` } },
  options: {
    "--all": {
      help: "every vault, one per line, as vault import --file reads them",
      conflicts: ["uuid", "generation"],
    },
    "--generation <n>": {
      help: "these stored credentials, even refused or superseded ones",
      parse: wholeNumber,
    },
  },
  examples: ["vault export $VAULT > copy.json", "vault export --all > copies.ndjson"],
  async run(app, options) {
    const { uuid, all, generation } = options;
    const { output } = app.io;
    const { field } = output;
    if (field !== undefined && /^\d/.test(field) !== (all === true))
      throw new VaultError("usage", `--field ${field}: no such field here`, {
        hint: all === true ? "a path begins with a number, such as 0.uuid" : "only with --all",
      });
    const exported =
      all === true
        ? await exportAll(app)
        : await exportOne(app, await askVault(app, uuid, "export"), generation);
    const format = all === true ? "ndjson" : "json";
    await output.print(exported, () => serialize(exported, { format, field }, false) ?? "");
  },
});
export { exportVaults as export };

/** Vaults of one service only. */
async function exportAll(app: App): Promise<ExportedVault[]> {
  const listed = await (await app.state.store()).list();
  const records = listed.filter((record) => record.generations.length > 0);
  const services = [...new Set(records.map((record) => record.service))];
  const isOne = app.settings.baseUrl === undefined && services.length <= 1;
  const here = isOne ? services[0] : app.settings.serviceName();
  const others = services.filter((service) => service !== here);
  if (others.length > 0)
    app.io.narrator.warn(
      `vaults of other services are not included (${others.join(", ")}); choose one with --base-url`,
    );
  const own = records.filter(({ service }) => service === here);
  return await Array.fromAsync(own, async ({ uuid }) => await exportOne(app, uuid));
}

/** What the next start would send first; of the exchange that this belongs to, if one is open, the recovery document. */
async function exportOne(
  { io, service }: App,
  target: string,
  generation?: number,
): Promise<ExportedVault> {
  const work = async (context: ExchangeContext): Promise<ExportedVault> => {
    const { session } = context;
    const record = await session.read();
    if (record === null || record.generations.length === 0) throw noCredentials(target);
    const { open, uuid, label, kind, generations } = record;
    // --generation reaches every kept pair, and so what was refused or superseded.
    const [first, ...others] =
      generation === undefined
        ? unrefused(record)
        : generations.filter((g) => g.generation === generation);
    if (first === undefined) throw nothingToExport(context, record, generation);
    const chosen = first.generation;
    const isOfOpen =
      open !== null &&
      generation === undefined &&
      [open.baseGeneration, open.newGeneration].includes(chosen);
    const given = isOfOpen ? [open.baseGeneration, open.newGeneration] : [chosen];
    const rest = others.map((pair) => pair.generation).filter((each) => !given.includes(each));
    if (rest.length > 0)
      io.narrator.warn(
        `vault ${uuid}: exported generation ${chosen}, but ${rest.join(", ")} may be valid instead`,
        [
          noted(wayTo`vault get ${uuid}`, "finds out"),
          noted(wayTo`vault export ${uuid} --generation N`, "prints another one"),
        ],
      );
    await session.markElsewhere(given);
    const credentials = isOfOpen
      ? await recoveryDocument(context, record, open)
      : bareCredentials(await session.credentials(chosen));
    const device = generations.find((g) => g.device !== null)?.device ?? undefined;
    return { uuid, label, kind, credentials, ...defined({ device }) };
  };
  return await service.withVault(target, work, { local: true });
}

function nothingToExport(
  context: ExchangeContext,
  record: VaultRecord,
  generation?: number,
): VaultError {
  const { uuid, generations } = record;
  if (generation !== undefined || candidates(record).length === 0) {
    const refused = { do: "refuse", because: "superseded", candidates: [] } as const;
    return refusalError(record, refused, { ...aRead, force: true, generation }, context);
  }
  const note = `one of ${generations.map((g) => g.generation).join(", ")}, anyway`;
  return new VaultError(
    "no-credentials",
    `the service has refused all stored credentials of vault ${uuid}; nothing was exported`,
    { uuid, next: [noted(wayTo`vault export ${uuid} --generation N`, note)] },
  );
}
