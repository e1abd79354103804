/** Topics of `vault help`, and what each is about. Their texts are in commands/help/texts.ts. */
export const topics = {
  environment: "every setting: flag, environment variable, configuration key",
  "exit-codes": "what a command came to, and whether it may be run again",
  output: "stdout and stderr, JSON, single values, secrets, colour, questions",
  lockout: "what locks a vault, what is counted, and the guard",
  recovery: "what an interrupted command leaves behind, and what finishes it",
  security: "where secrets are, how they are sealed, and what is never written",
} as const;

export type Topic = keyof typeof topics;
