import type { App } from "../../app.ts";
import { VaultError } from "../../errors.ts";
import { choosePairs } from "../../exchange/start/choose-pair.ts";
import type { ExchangeContext } from "../../exchange/context.ts";
import { guardStart } from "../../exchange/guard.ts";
import type { Prepared } from "../../exchange/start/prepare.ts";
import { prepare } from "../../exchange/start/prepare.ts";
import type { ExchangeRecord, VaultRecord } from "../../exchange/records.ts";
import type { ExchangeRequest } from "../../exchange/run.ts";
import { generationOf } from "../../exchange/run.ts";
import { toSettle } from "../../exchange/end/settle.ts";
import { isOnline } from "../../protocol/endpoints.ts";
import type { Device } from "../../protocol/fields.ts";
import { jsonText } from "../../terminal/redactor.ts";
import { defined } from "../../defined.ts";

/** The pair that would be sent, with what goes beside it. */
interface PlannedPair {
  generation: number | string;
  hashedPin: boolean;
  device: Device | undefined;
}

const allowed = "allows it";

/**
 * --dry-run: what would be sent, and what it would count toward lockout. Checks what a run would check before its first
 * write, and throws the same errors but those of the guard, which it tells; sends and records nothing.
 */
export async function dryRun(app: Pick<App, "output" | "settings">, context: ExchangeContext, request: ExchangeRequest): Promise<number> {
  const known = await context.session.read();
  const choice = withRecovery(request);
  const prepared = await prepare(context, known, request.operation, choice);
  const acknowledges = known !== null && acknowledgesFirst(context, known, request);
  const record = acknowledges ? acknowledged(known) : known;
  const pair = await planPair(context, record, prepared, choice);
  const counts = { unackedStarts: record?.unackedStarts ?? 0, failedAttempts: record?.failedAttempts ?? 0 };
  const document = {
    dryRun: true,
    uuid: context.session.uuid,
    kind: prepared.kind,
    operation: request.operation,
    settlesFirst: settlesFirst(known?.open ?? null, acknowledges, prepared.recordedAs === undefined ? request : undefined),
    request: {
      method: prepared.endpoint.method,
      url: `${context.session.service}${prepared.endpoint.path(context.session.uuid)}`,
      body: defined({
        application: { apiKey: "«secret»", uuid: app.settings.appUuid ?? "«missing»" },
        device: pair.device,
        newVault: request.newVault && maskedContents(request.newVault),
        externalRef: request.externalRef ?? "vault-«exchange id»",
        vault: { credentials: { encryptedData: "«secret»", payload: "«secret»", ...(pair.hashedPin ? { hashedPin: "«secret»" } : {}) } },
      }),
      generation: pair.generation,
    },
    counts: {
      before: counts,
      afterAnUnansweredStart: {
        unackedStarts: counts.unackedStarts + 1,
        failedAttempts: counts.failedAttempts + 1,
      },
      afterARefusal: { unackedStarts: counts.unackedStarts + 1, failedAttempts: counts.failedAttempts + 1 },
      limits: context.policy,
    },
    guard: record === null || request.force ? allowed : await guardSays(context, record, prepared, choice),
  };
  await app.output.print(document, () => `${describe(document)}\n`);
  return 0;
}

/** The parts of a card are named: what is missing or too much would be seen. */
function maskedContents(newVault: Record<string, unknown>): Record<string, unknown> {
  const mask = (value: unknown): unknown =>
    typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([key, part]) => [key, mask(part)]))
      : "«secret»";
  return mask(newVault) as Record<string, unknown>;
}

/** After a recovery document was settled, its new pair is the one to send. */
function withRecovery(request: ExchangeRequest): ExchangeRequest {
  const { recovery } = request;
  if (recovery === undefined) return request;
  const { hashedPin } = recovery.old;
  return {
    ...request,
    kind: request.kind ?? recovery.kind,
    device: request.device ?? recovery.device,
    given: { ...recovery.new, ...defined({ hashedPin }) },
    force: true,
  };
}

function acknowledgesFirst(context: ExchangeContext, record: VaultRecord, request: ExchangeRequest): boolean {
  try {
    return toSettle(record, context.policy, request) === "acknowledge";
  } catch (error) {
    if (error instanceof VaultError && error.code === "guard") return false;
    throw error;
  }
}

/** The vault as it would be once its open exchange is acknowledged. */
function acknowledged(record: VaultRecord): VaultRecord {
  const generations = record.generations.map((g) =>
    g.generation === record.open?.newGeneration
      ? { ...g, standing: "current" as const, proven: true }
      : { ...g, standing: "superseded" as const },
  );
  return { ...record, generations, unackedStarts: 0, open: null };
}

async function planPair(
  context: ExchangeContext,
  record: VaultRecord | null,
  prepared: Prepared,
  request: ExchangeRequest,
): Promise<PlannedPair> {
  if (record !== null && !isNew(request, prepared)) {
    const pair = await choose(context, record, prepared, { ...request, force: true });
    return { ...pair, hashedPin: pair.credentials.hashedPin !== undefined };
  }
  const online = isOnline(prepared.kind);
  const accepted = record?.generations.find((g) => g.device !== null)?.device;
  return {
    generation: request.recovery === undefined ? "the given pair" : "the new pair of the recovery document",
    hashedPin: online && request.hashedPin !== undefined,
    device: online ? (request.device ?? accepted ?? undefined) : undefined,
  };
}

const isNew = (request: ExchangeRequest, { recordedAs }: Prepared): boolean => request.given !== undefined && recordedAs === undefined;

async function choose(context: ExchangeContext, record: VaultRecord, { kind, recordedAs }: Prepared, request: ExchangeRequest) {
  const [pair] = await choosePairs(context, record, kind, { ...request, generation: generationOf(request, record, recordedAs) });
  if (pair === undefined) throw new VaultError("internal", "no pair was chosen");
  return pair;
}

async function guardSays(context: ExchangeContext, record: VaultRecord, prepared: Prepared, request: ExchangeRequest): Promise<string> {
  try {
    guardStart(record, context.policy);
    if (!isNew(request, prepared)) await choose(context, record, prepared, request);
    return allowed;
  } catch (error) {
    if (error instanceof VaultError && error.code === "guard") return error.message;
    throw error;
  }
}

/** `request` where a recovery document would be taken over. */
function settlesFirst(open: ExchangeRecord | null, acknowledges: boolean, request: ExchangeRequest | undefined): string | null {
  if (request?.recovery !== undefined) return `acknowledge exchange ${request.recovery.exchangeId} of the recovery document`;
  if (open === null) return null;
  const what = `exchange ${open.id} (${open.operation}), which is ${open.state}`;
  if (acknowledges) return `acknowledge ${what}`;
  return `none: the start ${open.state === "in-doubt" ? "settles" : "drops"} ${what}`;
}

interface DryRunDocument {
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
    ...(first === null ? [] : [`  first     ${first}`]),
    `  request   ${request.method} ${request.url}`,
    `  body      ${jsonText(request.body)}`,
    `  pair      ${typeof request.generation === "number" ? `generation ${request.generation}` : request.generation}`,
    `  counts    one start without acknowledgement more until it is acknowledged: ${before.unackedStarts + 1} of ${limits.unacked}`,
    `            one failed attempt more if it is refused or not answered: ${before.failedAttempts + 1} of ${limits.failed}`,
    `  guard     ${guard}`,
  ].join("\n");
}
