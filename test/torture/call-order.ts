import { expect } from "vitest";
import type { LoggedRequest } from "../../src/sandbox/model/request-log.ts";
import type { Lab } from "../support/lab.ts";

export type Calls = readonly Pick<LoggedRequest, "step" | "status">[];

/** Starts and end calls of a vault that arrived after the first so many requests, in their order. */
export const callsSince = ({ service }: Pick<Lab, "service">, uuid: string, from: number): Calls =>
  service.sandbox
    .requests()
    .slice(from)
    .filter((request) => request.uuid === uuid);

/**
 * One exchange at a time: start, end, start, end. Only a process that was killed can leave a start without its end call, or an end
 * call that is sent a second time; so each break of the order, and each refusal, needs one that was killed.
 */
export function expectOrder(calls: Calls, killed: number): void {
  const told = calls.map(({ step, status }) => `${step} ${status}`).join(", ");
  let breaks = 0;
  for (const [index, { step }] of calls.entries()) {
    const before = index === 0 ? "end" : calls[index - 1]?.step;
    if (before === step) breaks += 1;
  }
  // A start that was the last of all is one without its end call too.
  if (calls.at(-1)?.step === "start") breaks += 1;
  expect(breaks, told).toBeLessThanOrEqual(killed);
  expect(calls.filter(({ status }) => status !== 200).length, told).toBeLessThanOrEqual(killed);
}
