import { appendFileSync } from "node:fs";

/**
 * What the campaign has tried, for the figures that it ends with: each part says how many crash points, faults, interleavings, …
 * it went through, and nothing is counted before it was found to hold.
 */
export function tried(what: string, count: number): void {
  const file = process.env["TORTURE_TALLY"];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify({ what, count })}\n`);
}
