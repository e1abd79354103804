import type { Basics } from "../parts/settings.ts";
import { defined } from "../defined.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import type { VaultRecord } from "../exchange/records.ts";
import type { Preview } from "../exchange/start/decide.ts";
import { previewStart } from "../exchange/start/decide.ts";
import type { Start } from "../exchange/start/start.ts";
import type { Endpoint, Kind } from "../protocol/endpoints.ts";
import { findEndpoint, isOnline } from "../protocol/endpoints.ts";
import type { Device } from "../protocol/fields.ts";
import { jsonText } from "../terminal/redactor.ts";
import type { DryRunDocument, PlanDocument } from "../documents/exchange.ts";
import type { View } from "../cli/vault-view.ts";
import { grouped } from "../terminal/count.ts";
import { createPalette } from "../terminal/palette.ts";
import type { Named } from "../cli/vault-name.ts";
import type { SkipReason } from "./outcome.ts";
import { skipWords } from "./outcome.ts";

/**
 * --dry-run: prints what would be sent, and what it would count toward lockout; sends and records nothing.
 * @throws what `previewStart` throws
 */
export async function dryRun(
  { io, settings }: Basics,
  context: ExchangeContext,
  start: Start,
): Promise<void> {
  const { session, policy } = context;
  const decision = await previewStart(context, start);
  const { record, kind, refusal, pair } = decision;
  // The decision has checked that there is one.
  const endpoint = findEndpoint(kind, start.operation, "start") as Endpoint;
  const given =
    start.given?.type === "recovery"
      ? "the new credentials of the recovery document"
      : "the given credentials";
  const sent = pair ?? besideGiven(kind, record, start);
  const { unackedStarts = 0, failedAttempts = 0 } = record ?? {};
  const oneMore = { unackedStarts: unackedStarts + 1, failedAttempts: failedAttempts + 1 };
  const document: DryRunDocument = {
    dryRun: true,
    uuid: session.uuid,
    label: record?.label ?? null,
    kind,
    operation: start.operation,
    settlesFirst: settlesFirst(decision, start),
    request: {
      method: endpoint.method,
      url: `${session.service}${endpoint.path(session.uuid)}`,
      body: defined({
        application: { apiKey: "«secret»", uuid: settings.appUuid ?? "«missing»" },
        device: sent.device,
        newVault: start.newVault && maskedContents(start.newVault),
        externalRef: start.externalRef ?? "vault-«exchange id»",
        vault: {
          credentials: {
            encryptedData: "«secret»",
            payload: "«secret»",
            ...(sent.credentials.hashedPin === undefined ? {} : { hashedPin: "«secret»" }),
          },
        },
      }),
      generation: pair?.generation ?? given,
    },
    counts: {
      before: { unackedStarts, failedAttempts },
      afterAnUnansweredStart: oneMore,
      afterARefusal: oneMore,
      limits: policy,
    },
    guard: refusal?.message ?? "allows it",
  };
  await io.output.print(document, async (view) => await describe(document, view));
}

/** What goes with given credentials that are not recorded yet. */
function besideGiven(
  kind: Kind,
  record: VaultRecord | null,
  { hashedPin, device }: Start,
): { credentials: { hashedPin?: string | undefined }; device: Device | undefined } {
  if (!isOnline(kind)) return { credentials: {}, device: undefined };
  const accepted = record?.generations.find((g) => g.device !== null)?.device;
  return { credentials: { hashedPin }, device: device ?? accepted ?? undefined };
}

/** The parts of a card are named: what is missing or too much would be seen. */
function maskedContents(newVault: Record<string, unknown>): Record<string, unknown> {
  const mask = (value: unknown): unknown =>
    typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, mask(part)]))
      : "«secret»";
  return mask(newVault) as Record<string, unknown>;
}

function settlesFirst(
  { acknowledges, open, recordedAs }: Preview,
  { given }: Start,
): string | null {
  if (given?.type === "recovery" && recordedAs === null) {
    return `acknowledge exchange ${given.document.exchangeId} of the recovery document`;
  }
  if (open === null) return null;
  const what = `exchange ${open.id} (${open.operation}), which is ${open.state}`;
  if (acknowledges !== null) return `acknowledge ${what}`;
  return `nothing: the start ${open.state === "in-doubt" ? "settles" : "drops"} ${what}`;
}

/** Not wrapped on a terminal, because it is copied. */
async function describe(
  { settlesFirst: first, request, counts, guard }: DryRunDocument,
  { facts: { isTTY } }: View,
): Promise<string> {
  const { before, limits } = counts;
  const rows = [
    ...(first === null ? [] : [["first", first]]),
    ["request", `${request.method} ${request.url}`],
    ["body", jsonText(request.body)],
    [
      "credentials",
      typeof request.generation === "number"
        ? `generation ${request.generation}`
        : request.generation,
    ],
    [
      "counts",
      `+1 unacknowledged start until it is acknowledged: ${before.unackedStarts + 1} of ${limits.unackedStarts}`,
    ],
    [
      isTTY ? "" : "counts",
      `+1 failed attempt if it is refused or gets no response: ${before.failedAttempts + 1} of ${limits.failedAttempts}`,
    ],
    ["guard", guard],
  ];
  if (!isTTY) return (await import("../terminal/tables.ts")).tabbedLines(rows);
  const lines = rows.map(([name = "", text = ""]) => `  ${name.padEnd(11)}  ${text}\n`);
  return ["Nothing was sent. This would be sent:\n", ...lines].join("");
}

interface Skipped {
  start: Named;
  reason: SkipReason;
}

/** Maximum number of skipped vaults in a table. */
const mostRows = 100;

/** --dry-run: prints what would be done with many vaults. `form`: what the command prints if --output does not say. */
export async function dryRunOfMany(
  { io, settings }: Basics,
  todo: readonly Pick<Start, "noAck">[],
  skipped: readonly Skipped[],
  form: "ndjson" | "rows",
): Promise<void> {
  const { rate } = settings;
  const calls = todo.reduce((sum, { noAck }) => sum + (noAck ? 1 : 2), 0);
  const document: PlanDocument = {
    plan: {
      vaults: todo.length,
      calls,
      seconds: rate === 0 ? 0 : Math.ceil(calls / rate),
      skipped: skipped.map(({ start: { uuid }, reason }) => ({ uuid, reason })),
    },
  };
  const { format, field } = io.output;
  if (form === "ndjson" && format === "table" && field === undefined)
    await io.host.stdout.write(`${jsonText(document)}\n`);
  else
    await io.output.print(document, async (view) => await planTable(document, skipped, rate, view));
}

async function planTable(
  { plan: { vaults, calls, seconds } }: PlanDocument,
  skipped: readonly Skipped[],
  rate: number,
  { facts }: View,
): Promise<string> {
  const palette = await createPalette(facts.color);
  const options = { palette, ...facts };
  const { factsTable, listTable } = await import("../terminal/tables.ts");
  const atRate = rate === 0 ? "without a rate limit" : `at ${grouped(rate)} calls a second`;
  const table = factsTable(
    [
      ["Vaults", grouped(vaults)],
      ["Calls", grouped(calls)],
      ["Time", `about ${grouped(Math.ceil(seconds))} s ${atRate}`],
      [
        "Skipped",
        { text: grouped(skipped.length), paint: skipped.length === 0 ? palette.dim : palette.warn },
      ],
    ],
    options,
  );
  if (skipped.length === 0) return `${facts.isTTY ? planHeading : ""}${table}`;
  const rows = skipped
    .slice(0, facts.isTTY ? mostRows : undefined)
    .map(({ start: { uuid, label }, reason }) => [
      uuid,
      label ?? "",
      { text: reason, paint: palette.warn },
    ]);
  if (!facts.isTTY) return table + listTable([], rows, options);
  const more = skipped.length - rows.length;
  const reasons = [...new Set(skipped.map(({ reason }) => reason))];
  return [
    `${planHeading}${table}`,
    `${listTable(["Vault", "Label", "Skipped"], rows, options)}${more > 0 ? `  and ${grouped(more)} more; --json lists them all\n` : ""}`,
    factsTable(
      reasons.map((reason) => [reason, `${skipWords[reason].why}; ${skipWords[reason].help}`]),
      options,
    ),
  ].join("\n");
}

const planHeading = "Nothing was sent. This would be done:\n";
