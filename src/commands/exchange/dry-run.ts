import type { Basics } from "../../parts/settings.ts";
import { defined } from "../../defined.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import type { OpenExchange, VaultRecord } from "../../exchange/records.ts";
import type { Decision } from "../../exchange/start/decide.ts";
import { previewStart } from "../../exchange/start/preview.ts";
import type { Start } from "../../exchange/start/start.ts";
import type { Endpoint, Kind } from "../../protocol/endpoints.ts";
import { findEndpoint, isOnline } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { jsonText } from "../../terminal/redactor.ts";
import type { DryRunDocument } from "../documents/exchange.ts";

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
  const { record, kind, refusal, pairs } = decision;
  // The decision has checked that there is one.
  const endpoint = findEndpoint(kind, start.operation, "start") as Endpoint;
  const given =
    start.given?.type === "recovery"
      ? "the new credentials of the recovery document"
      : "the given credentials";
  const [pair] = pairs;
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
  await io.output.print(document, () => `${describe(document)}\n`);
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
  { first, open, recordedAs }: Decision & { open: OpenExchange | null },
  { given }: Start,
): string | null {
  if (given?.type === "recovery" && recordedAs === null) {
    return `acknowledge exchange ${given.document.exchangeId} of the recovery document`;
  }
  if (open === null) return null;
  const what = `exchange ${open.id} (${open.operation}), which is ${open.state}`;
  if (first === "acknowledge") return `acknowledge ${what}`;
  return `nothing: the start ${open.state === "in-doubt" ? "settles" : "drops"} ${what}`;
}

function describe({ settlesFirst: first, request, counts, guard }: DryRunDocument): string {
  const { before, limits } = counts;
  return [
    "Nothing was sent. This would be sent:",
    ...(first === null ? [] : [`  first        ${first}`]),
    `  request      ${request.method} ${request.url}`,
    `  body         ${jsonText(request.body)}`,
    `  credentials  ${typeof request.generation === "number" ? `generation ${request.generation}` : request.generation}`,
    `  counts       +1 unacknowledged start until it is acknowledged: ${before.unackedStarts + 1} of ${limits.unackedStarts}`,
    `               +1 failed attempt if it is refused or gets no response: ${before.failedAttempts + 1} of ${limits.failedAttempts}`,
    `  guard        ${guard}`,
  ].join("\n");
}
