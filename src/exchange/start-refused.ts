import { VaultError } from "../errors.ts";
import type { Answer } from "../protocol/answers.ts";
import { isSuccess } from "../protocol/answers.ts";
import { classify } from "../protocol/classify.ts";
import type { ExchangeContext } from "./context.ts";
import { backoff, note } from "./context.ts";
import { serviceDetails, wording } from "./service-errors.ts";

/** What of a start matters once it was refused. */
export interface RefusedStart {
  generation: number;
  combination: string;
  /** What it was, in words. */
  what?: "start" | "delete";
}

/** A start that may be sent again, after a wait. */
export interface Repeat {
  waitMs: number;
  cause: string;
}

/** A whole answer that is not an accepted SUCCESS: it settles what ① counted, and ends the command but for a 429. */
export async function refusedBy(
  context: ExchangeContext,
  exchangeId: string,
  planned: RefusedStart,
  answer: Answer,
  attempt: number,
): Promise<Repeat> {
  const { session } = context;
  const { uuid } = session;
  const service = serviceDetails(answer);
  const said = wording(answer);
  const what = planned.what ?? "start";
  if (isSuccess(answer)) {
    await session.unanswered(exchangeId, note(context, "service", "SUCCESS without usable credentials"));
    throw new VaultError("service", "the service answered SUCCESS without a credential pair, a token and the uuid of this vault", {
      vault: uuid,
      service,
      hint: `nothing was stored, the stored pair is still the current one; it counts as a start: vault status ${uuid}`,
    });
  }
  const is = classify(answer, context.rules);
  switch (is) {
    case "rate": {
      await session.takeBack(exchangeId, note(context, "rate-limited", said));
      const waitMs = answer.retryAfter === undefined ? backoff(attempt) : Math.max(answer.retryAfter * 1000, 50);
      if (context.clock.elapsed() + waitMs < context.deadline) return { waitMs, cause: "rate limited" };
      throw new VaultError(
        "rate-limited",
        `still rate limited by the service, and waiting ${Math.ceil(waitMs / 1000)}s more is over --max-wait`,
        {
          vault: uuid,
          service,
          hint: "it was not counted: run it again later, lower --rate, or raise --max-wait",
        },
      );
    }
    case "application":
      await session.takeBack(exchangeId, note(context, "unauthorised", said));
      throw new VaultError("unauthorised", `the service refused the application: ${said}`, {
        vault: uuid,
        service,
        hint: `check --app-uuid, --api-key and --jwt, and that this address is allowed; then run it again: this ${what} was not counted`,
      });
    case "validation":
      await session.takeBack(exchangeId, note(context, "service", said));
      throw new VaultError("service", `the service found the request not valid: ${said}`, {
        vault: uuid,
        service,
        retry: "after-fix" as const,
        hint: `mend what it names and run it again: this ${what} was not counted`,
      });
    case "credentials":
      await session.reject(exchangeId, planned.combination, note(context, "rejected", said));
      throw new VaultError("rejected", `the service refused the credentials of generation ${planned.generation}: ${said}`, {
        vault: uuid,
        service,
        hint: `this combination is not sent again; vault status ${uuid} --history shows the pairs, vault import ${uuid} adds the right one`,
      });
    case "locked":
    case "gone":
      await session.reject(exchangeId, null, note(context, is, said));
      throw new VaultError("locked", is === "locked" ? `the vault is locked: ${said}` : `the vault is gone: ${said}`, {
        vault: uuid,
        service,
        hint:
          is === "locked"
            ? `only an administrator unlocks it; afterwards: vault guard ${uuid} --reset, and run it again`
            : `check the uuid, --kind and --base-url; if it was deleted: vault forget ${uuid}`,
      });
    case "token":
    case "server":
    case "service":
      await session.unanswered(exchangeId, note(context, "service", said));
      throw new VaultError("service", `the service answered with an error that is not known: ${said}`, {
        vault: uuid,
        service,
        hint: `it is not known whether it counts: it is counted; vault status ${uuid}`,
      });
  }
}
