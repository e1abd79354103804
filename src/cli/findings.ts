/** What --fail-on of `vault status` may name. Apart from the command, for its flag, its check and completion. */
export const statusFindings = ["locked", "pending", "at-risk"] as const;

/** The same of `vault audit-replay`: verdicts that somebody should hear of. */
export const auditFindings = ["locked", "at-risk", "open-exchange"] as const;
