import type { App } from "../../app.ts";
import { defined } from "../../defined.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import type { ExchangePreview } from "../../exchange/preview.ts";
import { previewExchange } from "../../exchange/preview.ts";
import type { ExchangeRequest } from "../../exchange/run.ts";
import type { DryRunDocument } from "../documents/exchange.ts";
import { jsonText } from "../../terminal/redactor.ts";

/**
 * --dry-run: prints what would be sent, and what it would count toward lockout; sends and records nothing.
 * @throws what `previewExchange` throws
 */
export async function dryRun(
  app: Pick<App, "output" | "settings">,
  context: ExchangeContext,
  request: ExchangeRequest,
): Promise<void> {
  const preview = await previewExchange(context, request);
  const { plan, counts } = preview;
  const given =
    request.recovery === undefined
      ? "the given credentials"
      : "the new credentials of the recovery document";
  const oneMore = {
    unackedStarts: counts.unackedStarts + 1,
    failedAttempts: counts.failedAttempts + 1,
  };
  const document: DryRunDocument = {
    dryRun: true,
    uuid: context.session.uuid,
    label: preview.label,
    kind: plan.kind,
    operation: request.operation,
    settlesFirst: settlesFirst(preview, request),
    request: {
      method: plan.endpoint.method,
      url: `${context.session.service}${plan.endpoint.path(context.session.uuid)}`,
      body: defined({
        application: { apiKey: "«secret»", uuid: app.settings.appUuid ?? "«missing»" },
        device: preview.device,
        newVault: request.newVault && maskedContents(request.newVault),
        externalRef: request.externalRef ?? "vault-«exchange id»",
        vault: {
          credentials: {
            encryptedData: "«secret»",
            payload: "«secret»",
            ...(preview.hashedPin ? { hashedPin: "«secret»" } : {}),
          },
        },
      }),
      generation: preview.generation ?? given,
    },
    counts: {
      before: counts,
      afterAnUnansweredStart: oneMore,
      afterARefusal: oneMore,
      limits: context.policy,
    },
    guard: preview.refusal ?? "allows it",
  };
  await app.output.print(document, () => `${describe(document)}\n`);
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
  { plan, open }: ExchangePreview,
  { recovery }: ExchangeRequest,
): string | null {
  if (recovery !== undefined && plan.recordedAs === undefined) {
    return `acknowledge exchange ${recovery.exchangeId} of the recovery document`;
  }
  if (open === null) return null;
  const what = `exchange ${open.id} (${open.operation}), which is ${open.state}`;
  if (plan.left === "acknowledge") return `acknowledge ${what}`;
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
