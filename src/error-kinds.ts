export const retries = ["safe", "after-fix", "after-status", "never"] as const;
export type Retry = (typeof retries)[number];

/** `retry`: whether the same command may be run again. `meaning` is the sentence of vault help exit-codes. */
const kind = (exitCode: number, retry: Retry, meaning: string) => ({ exitCode, retry, meaning });

/**
 * The closed list of error kinds, with what each one means to a caller. Nothing else in the program maps a failure to an exit code or
 * tells errors apart by text.
 */
export const errorKinds = {
  internal: kind(1, "never", "a bug in this program"),
  usage: kind(2, "after-fix", "unknown flag, missing argument, missing setting"),
  "invalid-input": kind(
    3,
    "after-fix",
    "a value breaks the interface's rules (Luhn, lengths, UUID, …): nothing was sent",
  ),
  "no-credentials": kind(
    4,
    "after-fix",
    "no credentials known for this vault at this service, or the ones given were superseded or differ from the stored ones " +
      "(nothing was sent)",
  ),
  unauthorized: kind(5, "after-fix", "the service refused the application (key, JWT, address)"),
  rejected: kind(6, "after-fix", "the service refused the vault credentials"),
  locked: kind(7, "after-fix", "the service says that the vault is locked or gone"),
  guard: kind(8, "after-fix", "the lockout guard refused to send"),
  "rate-limited": kind(9, "safe", "still limited when --max-wait ran out"),
  network: kind(
    10,
    "safe",
    "no answer in the service's own form (none at all, a gateway's page, a 5xx). Safe to retry if nothing was sent; a start that was sent " +
      "counts: run vault status first",
  ),
  pending: kind(
    11,
    "after-status",
    "the new credentials are stored, but not acknowledged, and the token is still valid; or the contents could not be delivered: " +
      "run vault ack (with --no-ack this is no error: 0)",
  ),
  "in-doubt": kind(
    12,
    "after-status",
    "the acknowledgement got no response, and its token is not accepted any more; the old and the new credentials are kept",
  ),
  service: kind(
    13,
    "after-status",
    "the service responded with an error, or with an unexpected response; also an endpoint that it does not have",
  ),
  state: kind(
    14,
    "after-fix",
    "the state cannot be read or written (corrupt, wrong key, disk full, permission, no database)",
  ),
  busy: kind(
    15,
    "safe",
    "another process is using this vault and did not finish within --max-wait",
  ),
  partial: kind(16, "after-status", "of several vaults, some failed"),
  finding: kind(17, "safe", "a --fail-on condition was met; sandbox rehearse found a loss"),
  interrupted: kind(
    130,
    "after-status",
    "stopped by Ctrl-C (by SIGTERM 143, by SIGHUP 129); the message says what is pending",
  ),
  canceled: kind(130, "safe", "a question was answered with No: nothing was sent or changed"),
};

export type ErrorKind = keyof typeof errorKinds;
