import type { Step } from "../checker.ts";
import { begin } from "../client.ts";
import type { Parts } from "../moves.ts";
import * as moves from "../moves.ts";
import { serviceEnd, serviceStart } from "../service.ts";
import { generationOf, type EndReply, type Process, type StartReply } from "../state.ts";
import { happen, putOut, type Add } from "./papers.ts";
import type { HolderBounds, Holders, Left } from "./state.ts";
import { editHolders, letters, on, storeAt } from "./state.ts";

/** All that can happen next. */
export function holderSteps(
  parts: Parts,
  bounds: HolderBounds,
  holders: Holders,
  fineOnly = false,
): Step<Holders>[] {
  const found: Step<Holders>[] = [];
  const { left } = holders;
  for (const [place, { process }] of holders.machines.entries()) {
    const add = (
      label: string,
      cost: Partial<Left>,
      change: (to: Holders) => void | false,
    ): void => {
      for (const [what, price] of Object.entries(cost))
        if (left[what as keyof Left] < price) return;
      const to = editHolders(holders);
      for (const [what, price] of Object.entries(cost)) to.left[what as keyof Left] -= price;
      if (change(to) === false) return;
      const { died } = writeOn(parts, bounds, to, place);
      found.push({ label: `${letters[place]}: ${label}`, to, isFine: true });
      if (!fineOnly)
        for (const dead of died)
          found.push({
            label: `${letters[place]}: ${label}; and dies on the way`,
            to: dead,
            isFine: false,
          });
    };
    if (process === null) {
      for (const command of bounds.commands) {
        add(`vault ${command.name}`, { runs: 1 }, (to) => {
          const code = on(to, place, (view) => begin(parts.client, view, 0, command));
          return code === undefined ? undefined : false;
        });
      }
      if (!fineOnly) happen(parts, bounds, holders, place, add);
    } else request(bounds, holders, place, process, add, parts, fineOnly);
  }
  if (!fineOnly && holders.service.open !== null && left.faults > 0) {
    const to = editHolders(holders);
    to.service.open = null;
    to.left.faults -= 1;
    found.push({ label: "the token dies", to, isFine: false });
  }
  return found;
}

const requests = ["trial", "send-start", "send-end"];

/** What is written up to the next request, or to the end; with the states in which the process may have died on the way. */
function writeOn(
  parts: Parts,
  bounds: HolderBounds,
  holders: Holders,
  place: number,
): { died: Holders[] } {
  const died: Holders[] = [];
  for (;;) {
    const process = holders.machines[place]?.process ?? null;
    if (process === null || requests.includes(process.at)) return { died };
    if (holders.left.faults > 0 && process.at !== "intent" && process.at !== "deliver") {
      const dead = editHolders(holders);
      on(dead, place, (view) => moves.die(view, 0));
      dead.left.faults -= 1;
      died.push(dead);
    }
    const before = { ...process };
    on(holders, place, (view) => void moves.writeNext(parts, view, 0));
    if (before.at === "deliver" && process.command.out) putOut(parts, bounds, holders, place);
  }
}

/** What service and network make of the request that a process is about to send. */
function request(
  bounds: HolderBounds,
  holders: Holders,
  place: number,
  process: Process,
  add: Add,
  parts: Parts,
  fineOnly: boolean,
): void {
  const processOf = (to: Holders): Process => (to.machines[place] as { process: Process }).process;
  const fail = (label: string, change: (to: Holders) => void | false): void => {
    if (!fineOnly) add(label, { faults: 1 }, change);
  };
  if (process.at === "trial") {
    add("the trial is due", {}, (to) => void on(to, place, (view) => moves.tried(view, 0, "due")));
    fail(
      "no trial is due while there is time",
      (to) => void on(to, place, (view) => moves.tried(view, 0, null)),
    );
    return;
  }
  fail(`dies at ${process.at}`, (to) => void on(to, place, (view) => moves.die(view, 0)));
  if (process.at === "send-start") {
    const store = storeAt(holders, place);
    const pair = generationOf(store, process.pairs[0] ?? null)?.pair ?? 0;
    const arrive = (to: Holders): StartReply => {
      if (process.command.deletes && pair === to.service.pair && !to.service.locked) {
        to.service.deleted = true;
        return "gone";
      }
      const offered = (to.fresh += 1);
      const said = serviceStart(to.service, pair, "get", offered);
      if (said === "success") Object.assign(processOf(to), { offered, limited: false });
      return said;
    };
    const reply = (to: Holders, said: StartReply, late: boolean): void => {
      Object.assign(processOf(to), { reply: said, late });
      on(to, place, (view) => moves.startReplied(parts, view, processOf(to)));
    };
    add(`start with ${pair}`, {}, (to) => reply(to, arrive(to), false));
    for (const late of [true, false]) {
      if (!late && (process.repeated || !parts.client.mayRepeat(store, process.pairs[0] ?? 0)))
        continue;
      const then = late ? "" : ", and there is time left";
      fail(`start with ${pair}: lost${then}`, (to) => reply(to, "no-answer", late));
      fail(`start with ${pair}: its answer is lost${then}`, (to) => {
        arrive(to);
        processOf(to).offered = null;
        reply(to, "no-answer", late);
      });
    }
    return;
  }
  const token = process.offered ?? 0;
  const arrive = (to: Holders): EndReply => {
    if (to.acked.includes(token)) return bounds.repeat;
    const said = serviceEnd(to.service, token, false);
    if (said === "success") to.acked.push(token);
    return said;
  };
  const reply = (to: Holders, said: EndReply, stale: boolean): void => {
    Object.assign(processOf(to), { reply: said, late: true, stale });
    on(to, place, (view) => void moves.endReplied(parts, view, 0));
  };
  // What settles nothing is repeated until the token is past its expiry.
  add(`end call of ${token}`, {}, (to) => {
    const said = arrive(to);
    reply(to, said, said === "no-answer");
  });
  for (const stale of [false, true]) {
    const then = stale ? ", past its expiry" : "";
    fail(`end call of ${token}: lost${then}`, (to) => reply(to, "no-answer", stale));
    fail(`end call of ${token}: its answer is lost${then}`, (to) => {
      arrive(to);
      reply(to, "no-answer", stale);
    });
  }
}
