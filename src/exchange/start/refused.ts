import { VaultError } from "../../errors.ts";
import type { Answer } from "../../protocol/answers.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { AnyEndpoint } from "../../protocol/endpoints.ts";
import type { ExchangeContext } from "../context.ts";
import { note } from "../context.ts";
import { dispositionOf, refusal } from "../dispositions.ts";
import { nextTry } from "../next-try.ts";
import { serviceDetails, wording } from "../service-errors.ts";

/** The facts of a start that matter once it is refused. */
interface RefusedStart {
  endpoint: AnyEndpoint;
  generation: number;
  combination: string;
  /** The name of the call, for messages. */
  what?: "start" | "delete";
}

/** A start that may be sent again, after a wait. */
export interface Repeat {
  waitMs: number;
  cause: string;
}

/**
 * Settles what ① counted by a whole answer that is not an accepted SUCCESS. Returns the wait after a 429.
 * @throws the error of every other answer, and of a 429 whose wait would pass the deadline
 */
export async function refusedBy(
  context: ExchangeContext,
  exchangeId: string,
  planned: RefusedStart,
  answer: Answer,
  attempt: number,
): Promise<Repeat> {
  const { session } = context;
  const { uuid } = session;
  const said = wording(answer);
  if (isSuccess(answer)) {
    await session.noteUnanswered(
      exchangeId,
      note(context, "service", "SUCCESS without usable credentials"),
    );
    throw new VaultError(
      "service",
      "the service responded SUCCESS without credentials, a token and the UUID of this vault; nothing was stored",
      {
        uuid,
        service: serviceDetails(answer),
        hint: `the stored credentials are still valid, and it counts as a start; vault status ${uuid}`,
      },
    );
  }
  const disposition = dispositionOf(answer, planned.endpoint);
  const { is, code, start } = disposition;
  const noted = note(context, is === "gone" ? is : code, said);
  if (start === "not-counted") await session.revertIntent(exchangeId, noted);
  else if (start === "unknown") await session.noteUnanswered(exchangeId, noted);
  else
    await session.reject(
      exchangeId,
      start === "failed-attempt" ? planned.combination : null,
      noted,
    );
  const { generation, what: counted = "start" } = planned;
  if (is !== "rate") throw refusal(answer, disposition, { uuid, counted, generation });
  const { waitMs, inTime } = nextTry(context, attempt, { type: "answer", answer });
  if (inTime) return { waitMs, cause: "rate limited" };
  throw refusal(answer, disposition, { uuid, counted, waitMs });
}
