/** What --fail-on of `vault status` may name. Apart from the command, for its flag, its check and completion. */
export const statusFindings = ["locked", "pending", "at-risk"] as const;
