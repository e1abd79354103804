import type { VaultError } from "../../errors.ts";
import type { Finding } from "../../documents/schemas.ts";
import type { Way } from "../../way.ts";
import type { Reach } from "../../parts/service.ts";
import { wording } from "../../exchange/dispositions.ts";
import type { Reply } from "../../exchange/ports.ts";
import { formatDuration } from "../../duration.ts";
import { classify } from "../../protocol/classify.ts";
import { durationInWords } from "../../terminal/time.ts";
import { isLoopback } from "../../protocol/address.ts";

/** What to do about a finding: a sentence, or commands. */
type Advice = string | readonly Way[];

const of =
  (level: Finding["level"]) =>
  (check: string, message: string, advice: Advice = []): Finding =>
    typeof advice === "string"
      ? { check, level, message, hint: advice, next: [] }
      : { check, level, message, next: [...advice] };

export const ok = of("ok");
export const unverified = of("info");
export const warning = of("warn");
export const bad = of("error");

/** What another command would fail with. */
export const failed = (check: string, { message, facts }: VaultError): Finding => ({
  ...bad(check, message, facts.hint),
  next: facts.next ?? [],
});

type Reached = Extract<Reach, { reached: true }>;

/** A clock that is further off draws a warning, in seconds. */
const clockSeconds = 30;
/** One that is further off than a token is likely to live is an error: the interface does not say how long that is. */
const tokenSeconds = 300;

/** What one request without credentials has shown. `service` is the service's name. */
export function reachFindings(service: string, reach: Reach): Finding[] {
  if (!reach.reached) {
    const { cause, hint, untrusted } = reach;
    return [bad(untrusted ? "tls" : "service", cause, hint ?? "check the network and --base-url")];
  }
  return [serviceFinding(service, reach), tlsFinding(new URL(service)), clockFinding(reach)];
}

/** What the reply to a probe says of the application that has sent it; null if nothing. */
export function probeFinding(application: string, reply: Reply): Finding | null {
  if (reply.type !== "answer") return null;
  const is = classify(reply.answer);
  const said = `(${wording(reply.answer)})`;
  if (is === "application")
    return bad(
      "application",
      `${application}: refused by the service ${said}`,
      "check --app-uuid, --api-key and --jwt, and that this address is allowed",
    );
  if (is === "missing")
    return bad(
      "application",
      `${application}: the service has no such endpoint ${said}`,
      "check --base-url and --api-prefix",
    );
  if (["rate", "server", "service"].includes(is)) return null;
  return ok("application", `${application}: not refused by the service`);
}

function serviceFinding(service: string, { httpStatus, sentAt, receivedAt }: Reached): Finding {
  if (httpStatus >= 500)
    return warning(
      "service",
      `${service} responds with HTTP ${httpStatus}`,
      "try again later, or ask the operator of the service",
    );
  return ok(
    "service",
    `${service} responds (in ${formatDuration(Math.max(1, receivedAt - sentAt))})`,
  );
}

function tlsFinding(url: URL): Finding {
  if (url.protocol === "https:") return ok("tls", "the service's certificate is trusted");
  if (isLoopback(url.hostname)) return ok("tls", "none: the service is on this machine");
  return warning(
    "tls",
    `none: everything sent to ${url.host}, secrets included, can be read on the way`,
    `use --base-url https://${url.host}`,
  );
}

/** The `Date` header is in whole seconds, and was written between sending and receiving: what that leaves open counts as right. */
function clockFinding({ date, sentAt, receivedAt }: Reached): Finding {
  if (date === null)
    return warning(
      "clock",
      "the service's response has no Date header to compare with",
      "check this machine's clock: date -u",
    );
  const behind = date - receivedAt;
  const ahead = sentAt - (date + 1000);
  const seconds = Math.max(0, behind, ahead) / 1000;
  const message = `this machine's clock is ${durationInWords(seconds * 1000)} ${behind > 0 ? "behind" : "ahead of"} the service's`;
  const hint = "set this machine's clock (NTP); the time left on tokens depends on it";
  if (seconds > tokenSeconds)
    return bad("clock", `${message}, more than the lifetime of a token`, hint);
  return seconds > clockSeconds
    ? warning("clock", message, hint)
    : ok("clock", seconds < 1 ? "in sync" : message);
}
