import type { App } from "../../app.ts";
import { command, vaultArgument, type OptionValues } from "../../cli/command.ts";
import type { View } from "../../cli/vault-view.ts";
import type { AuditDocument, AuditItem } from "../../documents/sandbox.ts";
import type { Document } from "../../documents/schemas.ts";
import { asVaultError, VaultError } from "../../errors.ts";
import { replaceFile } from "../../files/durable-file.ts";
import type { SettingsPart } from "../../parts/basics.ts";
import { auditExport, callSandbox, type RunningDocument } from "../../sandbox/control.ts";
import { trying } from "../../sandbox/outcome.ts";
import { count } from "../../terminal/count.ts";
import { command as wayTo } from "../../way.ts";

export const control = {
  "--ready-file <file>": "ready file of the running sandbox (default: STATE-sandbox.json)",
} as const;

type Options = OptionValues<typeof control>;

/** Where the ready file is, unless the command line says otherwise: one sandbox a user is the ordinary case. */
export const readyFileOf = (settings: SettingsPart, { readyFile }: Options): string =>
  readyFile ?? settings.sandboxFile();

export const asGiven = ({ readyFile }: Options): string[] =>
  readyFile === undefined ? [] : ["--ready-file", readyFile];

/** @throws `network` if no sandbox runs, and what `callSandbox` throws */
export async function call<T>(
  { settings }: App,
  options: Options,
  route: Parameters<typeof callSandbox>[1],
  given?: object,
): Promise<T> {
  const readyFile = readyFileOf(settings, options);
  const document = await callSandbox<T>(readyFile, route, given);
  if (document !== null) return document;
  throw new VaultError("network", `no sandbox is running (ready file: ${readyFile})`, {
    next: [wayTo`vault sandbox start ${asGiven(options)}`],
  });
}

type Steered = "stop" | "reset" | "lock" | "unlock" | "fault";

/** Asks the sandbox for one thing, and says what it has done. */
async function steer<Name extends Steered>(
  app: App,
  options: Options & { vault?: string },
  name: Name,
  told: (document: Document<`sandbox ${Name}`>) => string,
  given?: object,
): Promise<void> {
  const { vault } = options;
  const route = vault === undefined ? name : `${name}/${encodeURIComponent(vault)}`;
  const document = await call<Document<`sandbox ${Name}`>>(app, options, `POST ${route}`, given);
  await app.io.output.printDone(document, told(document));
}

export const stop = command({
  options: control,
  examples: ["vault sandbox stop", "vault sandbox stop --ready-file ./sandbox.json"],
  run: async (app, options) =>
    await steer(app, options, "stop", ({ stopped }) => `Stopped the sandbox at ${stopped}.`),
});

const renewed = "and removed all faults. The new credentials are in the ready file.";

export const reset = command({
  options: control,
  examples: ["vault sandbox reset", "vault sandbox reset --ready-file ./sandbox.json"],
  run: async (app, options) =>
    await steer(app, options, "reset", ({ vaults }) => `Reset ${vaults} vaults ${renewed}`),
});

const changing = (name: "lock" | "unlock") =>
  command({
    // Of the sandbox: the state may not know it.
    arguments: {
      vault: { term: "<vault>", help: "UUID or label of the vault", values: vaultArgument.values },
    },
    options: control,
    examples: [`vault sandbox ${name} $VAULT`, `vault sandbox ${name} $VAULT --json`],
    async run(app, options) {
      const told = ({ uuid, status }: Document<"sandbox lock">): string => `${uuid} is ${status}`;
      await steer(app, options, name, told).catch((cause: unknown) => {
        const error = asVaultError(cause);
        const next = [wayTo`vault sandbox status ${asGiven(options)}`];
        throw error.code === "invalid-input" ? error.with({ next }) : cause;
      });
    },
  });
export const lock = changing("lock");
export const unlock = changing("unlock");

export const fault = command({
  description:
    "Make the next requests fail. SKIP matching requests pass first (0), then the fault happens TIMES times (1; all: always).\n\n" +
    "TARGET is any, get, update, start, end, get-start, get-end, update-start, update-end, info, create or delete; TARGET/UUID " +
    "matches requests about one vault.\n\n" +
    "ACTION is drop-before or status=HTTP (with ,retry-after=SECONDS) for a request that is not processed. For one that is processed: " +
    "drop-after (no response), cut (half of one), hang, garbage (not JSON), no-credentials, error-after=HTTP, or delay=DURATION.",
  arguments: {
    faults: {
      term: "[faults...]",
      help: "TARGET:ACTION[@SKIP][*TIMES], such as get-start:drop-after, end:delay=2s*3, start:status=429,retry-after=1",
    },
  },
  options: { ...control, "--clear": "remove all faults" },
  examples: [
    "vault sandbox fault get-end:drop-after",
    "vault sandbox fault 'get-start:status=503*2' end:delay=2s",
    "vault sandbox fault --clear",
  ],
  async run(app, options) {
    const { faults, clear = false } = options;
    const told = ({ armed }: Document<"sandbox fault">): string =>
      armed === 0 ? "No faults." : `${count(armed, "fault")} set.`;
    await steer(app, options, "fault", told, { faults, clear });
  },
});

export const status = command({
  options: control,
  examples: ["vault sandbox status", "vault sandbox status --json"],
  async run({ io, settings }, options) {
    const readyFile = readyFileOf(settings, options);
    const running = await callSandbox<RunningDocument>(readyFile, "GET ready");
    if (running === null) {
      const none: Document<"sandbox status"> = { running: false };
      return await io.output.printDone(none, `No sandbox is running (ready file: ${readyFile}).`);
    }
    const { baseUrl, application } = running;
    const vaults = running.vaults.map(({ uuid, label, kind }) => ({ uuid, label, kind }));
    const facts = { baseUrl, application: { uuid: application.uuid }, readyFile, vaults };
    const document: Document<"sandbox status"> = { running: true, ...facts };
    const { tabbedLines } = await import("../../terminal/tables.ts");
    await io.output.printDone(document, ({ isTTY }) =>
      isTTY
        ? [`The sandbox listens at ${baseUrl}`, "", ...describeVaults(vaults), ""].join("\n")
        : tabbedLines(vaults.map(({ uuid, kind, label }) => [uuid, kind, label])),
    );
  },
});

export const describeVaults = (
  vaults: readonly { uuid: string; kind: string; label: string }[],
): string[] => vaults.map(({ uuid, kind, label }) => `  ${uuid}  ${kind.padEnd(19)}  ${label}`);

export const audit = command({
  options: {
    ...control,
    "--export <file>":
      "write to a file instead; its name chooses the format: .ndjson or .csv, optionally .gz",
  },
  examples: ["vault sandbox audit", "vault sandbox audit --export items.ndjson.gz"],
  async run(app, options) {
    const { export: file } = options;
    const format = file === undefined ? undefined : auditExport(file);
    if (file !== undefined && format === undefined)
      throw new VaultError(
        "usage",
        "--export: the file name must end in .ndjson or .csv, with or without .gz",
        { hint: "use a name such as items.csv or items.ndjson.gz" },
      );
    const { items } = await call<AuditDocument>(app, options, "GET audit");
    const { output } = app.io;
    if (file === undefined || format === undefined)
      return await output.print({ items }, async (view) => await asTable(items, view));
    const refused = `--export: ${file} cannot be written`;
    trying(() => replaceFile(file, format(items)), refused, "invalid-input");
    await output.printDone({ items: items.length, file }, `Wrote ${items.length} items to ${file}`);
  },
});

async function asTable(items: readonly AuditItem[], view: View): Promise<string> {
  const { listTable, tabbedLines } = await import("../../terminal/tables.ts");
  // Whole items, which audit-replay reads.
  if (!view.isTTY)
    return tabbedLines(
      items.map(({ time, vaultUuid, action, outcome, externalRef, description }) =>
        [time, vaultUuid, action, outcome, externalRef, description].map((field) => field ?? ""),
      ),
    );
  if (items.length === 0) return "No audit items yet.\n";
  const { good, bad } = view.palette;
  const rows = items.map((item) => [
    item.time.slice(11, 19),
    (item.vaultUuid ?? "").slice(0, 8),
    { text: item.action, paint: item.outcome === "SUCCESS" ? good : bad },
    item.outcome === "SUCCESS" ? (item.externalRef ?? "") : item.description,
  ]);
  return listTable(["UTC", "Vault", "Action", "Reference or error"], rows, view);
}
