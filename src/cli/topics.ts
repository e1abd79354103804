/** Topics of `vault help`, in the order of lists, with what each is about. Their texts are topics/*.md. */
export const topics = {
  tour: "read vaults, pause an exchange, lose responses and meet the circuit breaker, all in the sandbox",
  recipes:
    "containers, databases, CI runners, services, cron jobs, monitors, moving vaults, and unlocking: shell scripts to copy",
  environment:
    "every setting with its flag, environment variable and configuration key, and profiles",
  authentication: "how a call proves which application sends it: application key and JWT",
  network: "certificates, proxies, and what to do when the service cannot be reached",
  "exit-codes": "what each exit code means, and whether to run the command again",
  output: "streams, single values, masked secrets, color and questions",
  documents: "what commands print with --json, errors, recovery documents, and their JSON Schema",
  recovery: "what an interrupted command leaves behind, and what finishes it",
  lockout: "what locks a vault, what is counted, and the lockout guard",
  keys: "where the encryption key comes from, and how to change it",
  "shared-state":
    "one state for several machines, in PostgreSQL: why, how to set it up, and what it protects against",
  "many-vaults":
    "one command for many vaults: lists, where the contents go, runs that continue, and two recipes",
  restore: "what to copy, how to bring it back, and what a restored state knows",
  audit: "what vault audit-replay reads, its rules, and the report that it prints",
  checks: "what vault doctor checks, and what each finding means",
  emulator:
    "an emulated service for trials and tests: private sandboxes, rehearsals, seeds, faults, and limits",
  extended: "operations that are not part of the documented interface",
  "shell-completion": "how to load completion in bash, zsh and fish, and what it reads",
  security: "where secrets are, how they are encrypted, and what is never written",
  testing: "the tests that try to lose credentials, and how much they have tried",
} as const;

export type Topic = keyof typeof topics;
