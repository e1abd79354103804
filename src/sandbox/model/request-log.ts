import type { AnyEndpoint } from "../../protocol/endpoints.ts";
import type { Call, StartBody } from "./call.ts";
import { samePair } from "./exchange.ts";
import type { Pair } from "../../protocol/answers.ts";
import type { VaultState } from "./state.ts";

/** A request that arrived, for tests that check what a client sends. */
export interface LoggedRequest {
  /** Like `credit-card/online get-start`, or `generic/offline info`. */
  endpoint: string;
  method: AnyEndpoint["method"];
  operation: AnyEndpoint["operation"];
  step: AnyEndpoint["step"];
  uuid: string;
  time: number;
  /** Which credentials of the vault, when it arrived, a start or a delete had; null for other calls. */
  credentials: "current" | "offered" | "neither" | null;
  /** False if a fault prevented processing. */
  processed: boolean;
  /** HTTP status of the processed request, even if the response was lost. */
  status: number | null;
}

/** Describes a request on its arrival. The caller completes what is returned when the request is processed. */
export function arrived(call: Call, vault: VaultState | undefined, time: number): LoggedRequest {
  const { kind, method, operation, step } = call.endpoint;
  return {
    endpoint: `${kind} ${operation}${step === "single" ? "" : `-${step}`}`,
    method,
    operation,
    step,
    uuid: call.uuid,
    time,
    credentials: step === "start" || operation === "delete" ? whichPair(vault, call.body) : null,
    processed: false,
    status: null,
  };
}

function whichPair(
  vault: VaultState | undefined,
  body: unknown,
): "current" | "offered" | "neither" {
  const given = (body as Partial<StartBody> | null | undefined)?.vault?.credentials as
    Partial<Pair> | undefined;
  if (
    vault === undefined ||
    typeof given?.encryptedData !== "string" ||
    typeof given.payload !== "string"
  )
    return "neither";
  const pair = { encryptedData: given.encryptedData, payload: given.payload };
  if (samePair(vault.pair, pair)) return "current";
  return vault.pending !== null && samePair(vault.pending.offered, pair) ? "offered" : "neither";
}
