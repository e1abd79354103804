import type { Clock, Waiting } from "../exchange/ports.ts";

/**
 * Repeats an attempt, with pauses of at most `longest` milliseconds, until it returns something; null once the deadline has
 * passed. Rejects with what the attempt throws, or with the signal's reason.
 */
export async function retryWhileBusy<T>(
  clock: Clock,
  { deadline, signal }: Pick<Waiting, "deadline"> & Partial<Waiting>,
  longest: number,
  attempt: () => T | null | Promise<T | null>,
): Promise<T | null> {
  for (let pause = 1; ; pause = Math.min(pause * 2, longest)) {
    const result = await attempt();
    if (result !== null) return result;
    const left = deadline - clock.elapsed();
    if (left <= 0) return null;
    await clock.sleep(Math.min(left, pause * (0.5 + Math.random() / 2)), signal);
  }
}
