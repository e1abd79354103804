import { VaultError } from "../../errors.ts";
import type { Answer } from "../../protocol/answers.ts";
import { isSuccess } from "../../protocol/answers.ts";
import type { AnyEndpoint } from "../../protocol/endpoints.ts";
import type { ErrorClass } from "../../protocol/classify.ts";
import type { ExchangeContext } from "../context.ts";
import { note } from "../context.ts";
import { dispositionOf } from "../dispositions.ts";
import { nextTry } from "../next-try.ts";
import { serviceDetails, unsupported, wording } from "../service-errors.ts";

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
  const service = serviceDetails(answer);
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
        service,
        hint: `the stored credentials are still valid, and it counts as a start; vault status ${uuid}`,
      },
    );
  }
  const { is, code, what, start } = dispositionOf(answer, planned.endpoint);
  const noted = note(context, is === "gone" ? is : code, said);
  if (start === "not-counted") await session.revertIntent(exchangeId, noted);
  else if (start === "unknown") await session.noteUnanswered(exchangeId, noted);
  else
    await session.reject(
      exchangeId,
      start === "failed-attempt" ? planned.combination : null,
      noted,
    );
  const facts = { uuid, service };
  if (is === "rate") {
    const { waitMs, inTime } = nextTry(context, attempt, { type: "answer", answer });
    if (inTime) return { waitMs, cause: "rate limited" };
    throw new VaultError(
      code,
      `${what}, and waiting ${Math.ceil(waitMs / 1000)}s more would exceed --max-wait`,
      {
        ...facts,
        hint: "run it again later (it was not counted), lower --rate, or raise --max-wait",
      },
    );
  }
  const whose = is === "credentials" ? ` of generation ${planned.generation}` : "";
  throw new VaultError(code, `${what}${whose} (${said})${meaningOf(is)}`, {
    ...facts,
    ...(is === "validation" || is === "missing" ? { retry: "after-fix" as const } : {}),
    hint: hintFor(is, uuid, planned),
  });
}

function meaningOf(is: ErrorClass): string {
  if (is === "credentials") return "; they will not be sent again";
  if (is === "missing") return "; nothing was counted";
  return is === "locked" ? "; an administrator can unlock it in the console" : "";
}

function hintFor(
  is: Exclude<ErrorClass, "rate">,
  uuid: string,
  { what: name = "start", endpoint }: RefusedStart,
): string {
  switch (is) {
    case "application":
      return `check --app-uuid, --api-key and --jwt, and that this address is allowed, then run it again (this ${name} was not counted)`;
    case "validation":
      return `fix what it names and run it again (this ${name} was not counted)`;
    case "credentials":
      return `vault import ${uuid} --credentials @FILE (adds the right ones); vault status ${uuid} --history`;
    case "locked":
      return `vault guard ${uuid} --reset (after the vault was unlocked)`;
    case "gone":
      return `check the UUID, --kind and --base-url; vault status ${uuid}`;
    case "missing":
      return `check --base-url and --api-prefix${endpoint.extended ? `; ${unsupported}` : ""}; vault doctor`;
    case "token":
    case "server":
    case "service":
      return `it may count toward lockout, and is counted; vault status ${uuid}`;
  }
}
