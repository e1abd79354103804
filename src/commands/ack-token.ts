import type { Deps } from "../deps.ts";
import { readSecret } from "../config/secret-value.ts";
import { VaultError } from "../errors.ts";
import { backoff } from "../exchange/context.ts";
import { serviceDetails, wording } from "../exchange/service-errors.ts";
import { isSuccess } from "../interface/answers.ts";
import { classify } from "../interface/classify.ts";
import type { Acknowledged, AckOptions } from "./ack-options.ts";

/**
 * `ack --token`: one acknowledgement for an exchange that this machine did not start. Its credentials are not here, so
 * nothing is recorded; a vault that this machine has an exchange with is held all the same.
 */
export async function acknowledgeToken(deps: Deps, options: AckOptions): Promise<Acknowledged> {
  const { uuid, kind, operation } = options;
  if (uuid === undefined || kind === undefined || operation === undefined) throw new VaultError("internal", "ack --token was not checked");
  const token = await readSecret(options.token ?? "", "--token", deps.sources);
  deps.redactor.add(token);
  const context = await deps.hold(uuid);
  try {
    for (let attempt = 0; ; attempt += 1) {
      await context.service.admit(context.signal);
      const reply = await context.service.end({ uuid, kind, operation, token }, context.signal);
      if (reply.type === "answer" && isSuccess(reply.answer)) {
        return { uuid, operation, exchange: { state: "acknowledged", acknowledgedAt: new Date(deps.host.now()).toISOString() } };
      }
      if (context.signal.aborted)
        throw new VaultError("interrupted", "interrupted: the acknowledgement is outstanding", { vault: uuid, hint: "run it again" });
      const limited = reply.type === "answer" && classify(reply.answer) === "rate";
      if (reply.type === "answer" && !limited) throw refused(uuid, reply.answer);
      const waitMs = reply.type === "answer" && reply.answer.retryAfter !== undefined ? reply.answer.retryAfter * 1000 : backoff(attempt);
      if (deps.host.now() + waitMs >= deps.deadline) {
        const cause = reply.type === "answer" ? "rate limited" : reply.cause;
        throw new VaultError(limited ? "rate-limited" : "network", `the acknowledgement was not answered: ${cause}`, {
          vault: uuid,
          retry: "safe",
          hint: "run it again",
        });
      }
      await deps.host.sleep(waitMs, context.signal);
    }
  } finally {
    await context.session.release();
  }
}

function refused(uuid: string, answer: Parameters<typeof serviceDetails>[0]): VaultError {
  const is = classify(answer);
  const code = is === "application" ? "unauthorised" : is === "locked" ? "locked" : "service";
  return new VaultError(code, `the service did not take the token: ${wording(answer)}`, {
    vault: uuid,
    service: serviceDetails(answer),
    hint: "an expired token leaves the old pair current: start again with it",
  });
}
