import type { Deps } from "../deps.ts";
import { VaultError } from "../errors.ts";
import { candidates } from "../exchange/candidates.ts";
import type { ExchangeContext } from "../exchange/context.ts";
import { guardDevice, guardStart } from "../exchange/guard.ts";
import type { VaultRecord } from "../exchange/records.ts";
import { prepare } from "../exchange/prepare.ts";
import type { ExchangeRequest } from "../exchange/run.ts";
import { isOnline } from "../interface/endpoints.ts";
import { serialise } from "./document.ts";

/**
 * --dry-run: what would be sent, and what it would count towards a lock. Checks what a run would check before its first
 * write, and raises the same errors; sends and records nothing.
 */
export async function dryRun(deps: Deps, context: ExchangeContext, request: ExchangeRequest): Promise<number> {
  const record = await context.session.read();
  const choice = request.recovery === undefined ? request : { ...request, given: request.recovery.new, force: true };
  const { kind, endpoint, recordedAs } = await prepare(context, record, request.operation, choice);
  const generation = request.generation ?? recordedAs ?? generationToUse(record);
  const device = isOnline(kind) ? (request.device ?? record?.generations[0]?.device ?? undefined) : undefined;
  const counts = { unackedStarts: record?.unackedStarts ?? 0, failedAttempts: record?.failedAttempts ?? 0 };
  const document = {
    dryRun: true,
    uuid: context.session.uuid,
    kind,
    operation: request.operation,
    settlesFirst: settlesFirst(record, request),
    request: {
      method: endpoint.method,
      url: `${context.session.service}${endpoint.path(context.session.uuid)}`,
      body: {
        application: { apiKey: "«secret»", uuid: deps.settings.appUuid ?? "«missing»" },
        ...(device === undefined ? {} : { device }),
        externalRef: request.externalRef ?? "vault-«exchange id»",
        vault: { credentials: { encryptedData: "«secret»", payload: "«secret»" } },
      },
      generation: generation ?? "the given pair",
    },
    counts: {
      before: counts,
      afterAnUnansweredStart: { ...counts, unackedStarts: counts.unackedStarts + 1 },
      afterARefusal: { unackedStarts: counts.unackedStarts + 1, failedAttempts: counts.failedAttempts + 1 },
      limits: context.policy,
    },
    guard: record === null || request.force ? "allows it" : guardSays(record, context, device, request),
  };
  const text = serialise(document, deps.output, deps.host.stdout.isTTY) ?? `${describe(document)}\n`;
  await deps.host.stdout.write(text);
  return 0;
}

const generationToUse = (record: VaultRecord | null): number | undefined =>
  record === null ? undefined : candidates(record, () => false)[0]?.generation;

function settlesFirst(record: VaultRecord | null, request: ExchangeRequest): string | null {
  if (request.recovery !== undefined) return `exchange ${request.recovery.exchangeId} of the recovery document`;
  const open = record?.open ?? null;
  return open === null ? null : `exchange ${open.id} (${open.operation}), which is ${open.state}`;
}

function guardSays(record: VaultRecord, context: ExchangeContext, device: ExchangeRequest["device"], request: ExchangeRequest): string {
  try {
    guardStart(record, context.policy);
    guardDevice(record.uuid, record.generations.find((g) => g.proven)?.device ?? null, request.device ?? device);
    return "allows it";
  } catch (error) {
    if (error instanceof VaultError) return error.message;
    throw error;
  }
}

interface DryRunDocument {
  operation: string;
  settlesFirst: string | null;
  request: { method: string; url: string; body: unknown; generation: number | string };
  counts: {
    before: { unackedStarts: number; failedAttempts: number };
    limits: { unacked: number; failed: number };
  };
  guard: string;
}

function describe({ settlesFirst: first, request, counts, guard }: DryRunDocument): string {
  const { before, limits } = counts;
  return [
    "Nothing was sent. This would be:",
    ...(first === null ? [] : [`  first     settle ${first}`]),
    `  request   ${request.method} ${request.url}`,
    `  body      ${JSON.stringify(request.body)}`,
    `  pair      ${typeof request.generation === "number" ? `generation ${request.generation}` : request.generation}`,
    `  counts    one start without acknowledgement more until it is acknowledged: ${before.unackedStarts + 1} of ${limits.unacked}`,
    `            one failed access more if it is refused: ${before.failedAttempts + 1} of ${limits.failed}`,
    `  guard     ${guard}`,
  ].join("\n");
}
