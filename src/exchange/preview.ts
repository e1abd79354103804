import { defined } from "../defined.ts";
import { VaultError } from "../errors.ts";
import { isOnline } from "../protocol/endpoints.ts";
import type { Device } from "../protocol/fields.ts";
import type { ExchangeContext } from "./context.ts";
import { circumstances } from "./context.ts";
import { guardStart } from "./guard.ts";
import type { OpenExchange, VaultRecord } from "./records.ts";
import type { ExchangePlan, ExchangeRequest } from "./run.ts";
import { generationOf, planExchange } from "./run.ts";
import type { ChosenPair } from "./start/choose-pair.ts";
import { choosePairs } from "./start/choose-pair.ts";

/** What goes beside the credentials. */
interface Beside {
  hashedPin: boolean;
  device: Device | undefined;
}

/** The start that `runExchange` would send first, were it called now. */
export interface ExchangePreview extends Beside {
  label: string | null;
  plan: ExchangePlan;
  /** What an earlier run left. */
  open: OpenExchange | null;
  /** Null for given credentials that are not recorded yet. */
  generation: number | null;
  /** Before the start. */
  counts: { unackedStarts: number; failedAttempts: number };
  /** What the guard says against it; null where it allows it. */
  refusal: string | null;
}

/**
 * Finds out what an exchange would send, from what the state knows; writes and sends nothing.
 * @throws what `runExchange` throws before it first writes, but for the guard's errors
 */
export async function previewExchange(
  context: ExchangeContext,
  request: ExchangeRequest,
): Promise<ExchangePreview> {
  const known = await context.session.read();
  const choice = afterAdoption(request);
  const plan = await planExchange(context, known, request, choice);
  const record = known !== null && plan.left === "acknowledge" ? acknowledged(known) : known;
  const isStored = record !== null && (choice.given === undefined || plan.recordedAs !== undefined);
  const choose = async (force: boolean): Promise<ChosenPair | undefined> => {
    if (!isStored) return undefined;
    const generation = generationOf(choice, record, plan.recordedAs);
    return (await choosePairs(context, record, plan.kind, { ...choice, generation, force }))[0];
  };
  const guarded = async (): Promise<void> => {
    if (record === null || request.force) return;
    guardStart(record, circumstances(context));
    await choose(choice.force);
  };
  const pair = await choose(true);
  return {
    plan,
    label: record?.label ?? null,
    open: known?.open ?? null,
    generation: pair?.generation ?? null,
    ...(pair === undefined ? besideGiven(plan, record, choice) : besideStored(pair)),
    counts: {
      unackedStarts: record?.unackedStarts ?? 0,
      failedAttempts: record?.failedAttempts ?? 0,
    },
    refusal: await refusalOf(guarded),
  };
}

const besideStored = ({ credentials, device }: ChosenPair): Beside => ({
  hashedPin: credentials.hashedPin !== undefined,
  device,
});

function besideGiven(
  { kind }: ExchangePlan,
  record: VaultRecord | null,
  { hashedPin, device }: ExchangeRequest,
): Beside {
  if (!isOnline(kind)) return { hashedPin: false, device: undefined };
  const accepted = record?.generations.find((g) => g.device !== null)?.device;
  return { hashedPin: hashedPin !== undefined, device: device ?? accepted ?? undefined };
}

/** Once a recovery document is taken over, its new pair is the one to send. */
function afterAdoption(request: ExchangeRequest): ExchangeRequest {
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

/** The vault as it would be once its open exchange is acknowledged. */
function acknowledged(record: VaultRecord): VaultRecord {
  const generations = record.generations.map((g) =>
    g.generation === record.open?.newGeneration
      ? { ...g, standing: "current" as const, proven: true }
      : { ...g, standing: "superseded" as const },
  );
  return { ...record, generations, unackedStarts: 0, open: null };
}

async function refusalOf(guarded: () => Promise<void>): Promise<string | null> {
  try {
    await guarded();
    return null;
  } catch (error) {
    if (error instanceof VaultError && error.code === "guard") return error.message;
    throw error;
  }
}
