/** Topics of `vault help`, in the order of lists, with what each is about. Their texts are topics/*.md, printed as they are. */
export const topics = {
  tour: "read vaults, pause an exchange, lose responses and meet the circuit breaker, all in the sandbox",
  recipes:
    "containers, databases, CI runners, services, cron jobs, monitors, moving vaults: shell scripts to copy",
  settings:
    "every setting with its flag, environment variable and configuration key; profiles, JWT, certificates, proxies",
  "exit-codes": "what each exit code means, and whether to run the command again",
  recovery:
    "interrupted commands, lockout and the guard, a service that is down, backup and restore",
  "many-vaults": "one command for many vaults: lists, where the contents go, runs that continue",
  "shared-state":
    "one state for several machines, in PostgreSQL: how to set it up, and what it protects against",
  documents: "tables, single values, JSON documents, errors, recovery documents, and their schemas",
  audit: "what vault audit-replay reads, its rules, and the report that it prints",
  security:
    "where secrets are, how they are encrypted, the encryption key, and what is never written",
} as const;

export type Topic = keyof typeof topics;
