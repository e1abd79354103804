import type { FaultAction } from "./faults.ts";
import type { Outcome, SandboxResponse } from "../model/outcome.ts";
import { refusal, refuseRate, write } from "../model/outcome.ts";
import type { Random } from "../seeds/random.ts";

/** Returns the response that a fault sends instead of processing the request; undefined if the request is processed. */
export function before(
  fault: FaultAction | undefined,
  random: Random,
): SandboxResponse | undefined {
  if (fault === "drop-before") return { status: 0, headers: {}, body: "", transport: "drop" };
  if (typeof fault !== "object" || !("status" in fault)) return undefined;
  if (fault.status === 429) return write(refuseRate({ random }, fault.retryAfter ?? 1));
  const failure = serverError(fault.status, random);
  const headers: Record<string, string> =
    fault.retryAfter === undefined ? {} : { "retry-after": String(fault.retryAfter) };
  return write({ ...failure, headers });
}

/** Returns the response to a processed request, as a fault changes it. */
export function after(
  fault: FaultAction | undefined,
  outcome: Outcome,
  random: Random,
): SandboxResponse {
  const answer = write(outcome);
  if (fault === "drop-after") return { ...answer, transport: "drop" };
  if (fault === "cut" || fault === "hang") return { ...answer, transport: fault };
  if (fault === "garbage")
    return {
      status: 200,
      headers: { "content-type": "text/html" },
      body: "<html><body>It works!</body></html>\n",
    };
  if (fault === "wrong-types") return write(withWrongTypes(outcome));
  if (fault === "no-credentials") return write(withoutCredentials(outcome));
  if (typeof fault !== "object") return answer;
  if ("delayMs" in fault) return { ...answer, delayMs: fault.delayMs };
  return "errorAfter" in fault ? write(serverError(fault.errorAfter, random)) : answer;
}

/** Returns an error that does not say whether the request was processed. */
export const serverError = (status: number, random: Random): Outcome =>
  refusal({ random }, status, `HTTP-${status}`, [{ message: "the service could not answer" }]);

type Json = Record<string, unknown>;

/** Changes the types of all fields except those that an exchange needs: credentials, token, uuid and status. */
function withWrongTypes(outcome: Outcome): Outcome {
  const { responseStatus, transactionToken, vault } = outcome.body as {
    responseStatus: Json;
    transactionToken?: Json;
    vault?: Json;
  };
  if (transactionToken === undefined || vault === undefined) return outcome;
  const body = {
    responseStatus: { ...responseStatus, detailedErrors: "none" },
    transactionToken: { ...transactionToken, expiry: 12, timeToExpire: "soon" },
    vault: {
      ...vault,
      usesRemaining: "three",
      expiryDate: false,
      autoLockDate: "next year",
      dateCreated: 0,
      lastModified: null,
    },
  };
  return { ...outcome, body };
}

function withoutCredentials(outcome: Outcome): Outcome {
  const { vault } = outcome.body as { vault?: Json };
  if (vault === undefined) return outcome;
  const { credentials: _dropped, ...rest } = vault;
  return { ...outcome, body: { ...outcome.body, vault: rest } };
}
