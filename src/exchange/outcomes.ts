import { isSuccess, type Answer } from "../protocol/answers.ts";
import type { Called, Refused } from "./dispositions.ts";
import type { Reply } from "./ports.ts";

/** What became of a call that the service may count: a start, a delete or a create. */
export type CallOutcome<Success = unknown> =
  { type: "accepted"; success: Success } | Exclude<Reply, { type: "answer" }> | Refused;

/** Decides what the reply to a call means; `success` is what was read of an accepting one. */
export async function outcomeOf<Success>(
  reply: Reply,
  call: Called,
  success: Success | undefined,
): Promise<CallOutcome<Success>> {
  if (success !== undefined) return { type: "accepted", success };
  const refused = async (answer: Answer): Promise<Refused> =>
    (await import("./dispositions.ts")).dispositionOf(answer, call);
  if (reply.type === "answer") return await refused(reply.answer);
  if (reply.type === "not-sent" || reply.answer === undefined) return reply;
  const said = await refused(reply.answer);
  // A 5xx in which the service's own words refuse the credentials counts as a refusal, whatever else broke.
  return said.is === "credentials" ? said : reply;
}

/** Whether nothing was sent, or the service has counted nothing. */
export const isTakenBack = (outcome: CallOutcome): boolean =>
  outcome.type === "not-sent" ||
  (outcome.type === "refused" && !isSuccess(outcome.answer) && outcome.start === "free");

/** The whole answer that says SUCCESS. */
export const acceptedBy = (reply: Reply): Answer | undefined =>
  reply.type === "answer" && isSuccess(reply.answer) ? reply.answer : undefined;
