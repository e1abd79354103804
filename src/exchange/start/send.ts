import { asVaultError, VaultError } from "../../errors.ts";
import { isSuccess, object, readStartSuccess, type StartSuccess } from "../../protocol/answers.ts";
import type { Kind } from "../../protocol/endpoints.ts";
import { command, noted } from "../../way.ts";
import { allowsRetry } from "../counting.ts";
import type { Refused } from "../dispositions.ts";
import { settleInterrupted, throwIfInterrupted } from "../end.ts";
import { nextAction, type NextAction } from "../next-action.ts";
import type { ExchangeContext, Reply, StartCall } from "../ports.ts";
import { currentRecord, nextTry, note } from "../ports.ts";
import { newId, type Generation, type OpenExchange, type VaultRecord } from "../records.ts";
import { bareCredentials } from "../recovery.ts";
import { acceptedBy, letOut, noteStart, outcomeOf, trialDue } from "./breaker-gate.ts";
import type { ChosenPair, Counted, Start } from "./start.ts";
import { chosenPair, recordedAs, refusedNow, checkStart } from "./start.ts";

/** A call that the service has accepted. */
export interface Accepted {
  /** The vault as it was before. */
  before: VaultRecord;
  pair: ChosenPair;
  exchangeId: string;
  externalRef: string;
  /** Null of a delete. */
  success: StartSuccess | null;
}

/** A wait before a call that was not accepted is repeated. */
interface Again {
  waitMs: number;
  cause: string;
}

/** What one command sends to a vault, a start or a delete, until one is accepted. */
class Starts {
  readonly #context: ExchangeContext;
  readonly #start: Counted;
  readonly #kind: Kind;
  /** As which generation a given pair is recorded; null without one. */
  #recordedAs: number | null;
  /** Generations that the service has refused to this command, and its last refusal. */
  readonly #tried: number[] = [];
  #refusal: VaultError | undefined;
  /** The generation that was chosen for the first call; undefined if all may be tried. */
  #only: number | undefined;
  #isSent = false;
  /** Calls with the present credentials so far. */
  #calls = 0;
  /** One of them got no answer: it is repeated once. */
  #isUnanswered = false;

  constructor(context: ExchangeContext, start: Counted, { kind, recordedAs }: Given) {
    this.#context = context;
    this.#start = start;
    this.#kind = kind;
    this.#recordedAs = recordedAs;
  }

  /**
   * Decides what comes next with the vault.
   * @throws the error of a refusal, which says what was sent if the service has refused something
   */
  async decide(vault: VaultRecord): Promise<Extract<NextAction, { do: "end" | "start" }>> {
    const [context, start] = [this.#context, this.#start];
    // An open exchange decides between its two pairs; one that a refusal has put in doubt meanwhile does not.
    const given = vault.open === null ? this.#recordedAs : null;
    if (!this.#isSent) this.#only = start.generation ?? given ?? undefined;
    const wish = { ...start, generation: this.#only };
    const refused = await refusedNow(context, vault, this.#kind, start);
    const action = nextAction(vault, wish, context, { tried: this.#tried, refused });
    if (action.do === "end" || action.do === "start") return action;
    if (action.do === "done") throw new VaultError("internal", "nothing is to be started");
    const { afterRefusal, refusalError } = await import("../refusals.ts");
    throw this.#refusal === undefined
      ? refusalError(vault, action, wish, context)
      : afterRefusal(vault, action, this.#refusal, context);
  }

  async untilAccepted(): Promise<Accepted> {
    const context = this.#context;
    for (;;) {
      const vault = await currentRecord(context);
      const action = await this.decide(vault);
      if (action.do === "end") {
        await settleInterrupted(context, action.exchange);
        // That may have superseded the given pair.
        this.#recordedAs = (await recordGiven(context, this.#start)).recordedAs;
        continue;
      }
      await throwIfInterrupted(context);
      const [first] = action.candidates;
      const accepted = await this.#attempt(vault, first);
      if (accepted === null) continue;
      // For an exchange in doubt, its reported outcome says so.
      if (this.#refusal !== undefined && vault.open?.state !== "in-doubt") {
        const message = `${this.#refusal.message}; generation ${first.generation} was accepted`;
        context.emit({ type: "warning", message });
      }
      return accepted;
    }
  }

  /**
   * Sends one call (① POST), as the breaker and the rate limit let it out, and records what it counts. Returns what was accepted; null
   * if the decision is to be made again: after a refusal of these credentials, or a wait for a repetition.
   * @throws `network`, `rate-limited`, `unauthorized`, `locked`, `service`, `interrupted`; the state then says what it counted
   */
  async #attempt(before: VaultRecord, chosen: Generation): Promise<Accepted | null> {
    const context = this.#context;
    this.#isSent = true;
    const [start, kind] = [this.#start, this.#kind];
    const { uuid, operation, run, newVault } = start;
    const exchangeId = newId(context.clock, before.last?.id);
    const externalRef = start.externalRef ?? `vault-${exchangeId}`;
    const pair = await chosenPair(context, before, kind, chosen, start);
    const { generation, credentials, device, sole } = pair;
    const intent = { exchangeId, operation, kind, externalRef, generation, sole, run };
    const seen = await letOut(context, before, intent, start.force);
    const isDelete = operation === "delete";
    if (!isDelete) context.emit({ type: "starting", operation, generation, attempt: this.#calls });
    const about = { uuid, kind, operation, externalRef, credentials, device };
    const call: StartCall = { step: "start", ...about, newVault };
    const reply = await context.service.call(call, context.signal);
    const outcome = await outcomeOf(reply, call, successOf(call, reply));
    await noteStart(context.breaker, seen, reply, outcome);
    if (outcome.type === "accepted")
      return { before, exchangeId, externalRef, pair, success: outcome.success };
    const again =
      outcome.type === "not-sent"
        ? await this.#notSent(exchangeId, outcome)
        : outcome.type === "refused"
          ? await this.#refused(exchangeId, pair, outcome)
          : await this.#unanswered(exchangeId, pair, outcome);
    if (again === null) return null;
    this.#calls += 1;
    context.emit({ type: "retrying", step: isDelete ? "delete" : "start", ...again });
    const left = reply.type === "no-answer" ? (await currentRecord(context)).last : null;
    const wait = context.clock.sleep(again.waitMs, context.signal);
    await throwIfInterrupted(context, left ?? undefined, wait);
    return null;
  }

  async #notSent(exchangeId: string, reply: Reply & { type: "not-sent" }): Promise<Again> {
    const context = this.#context;
    await context.session.noteOutcome(exchangeId, "free", note(context, "network", reply.cause));
    await throwIfInterrupted(context);
    const { waitMs, inTime } = nextTry(context, this.#calls, reply);
    if (inTime) return { waitMs, cause: reply.cause };
    const { notSentError } = await import("../dispositions.ts");
    throw notSentError(reply, context.session.uuid);
  }

  async #unanswered(
    exchangeId: string,
    pair: ChosenPair,
    reply: Reply & { type: "no-answer" },
  ): Promise<Again> {
    const context = this.#context;
    const { uuid } = context.session;
    await context.session.noteOutcome(exchangeId, "none", note(context, "network", reply.cause));
    const vault = await currentRecord(context);
    const { unansweredError } = await import("../dispositions.ts");
    // A delete that may have arrived is never repeated.
    if (this.#start.operation === "delete") {
      const kept = "the vault may have been deleted; its credentials are kept";
      const info = noted(
        command`vault info ${uuid}`,
        "is the vault still there? then run it again",
      );
      throw unansweredError(context, "delete", reply, kept, { uuid, next: [info] });
    }
    await throwIfInterrupted(context, vault.last ?? undefined);
    const { waitMs, inTime } = nextTry(context, this.#calls);
    if (pair.sole && !this.#isUnanswered && allowsRetry(vault, context.policy) && inTime) {
      this.#isUnanswered = true;
      return { waitMs, cause: reply.cause };
    }
    const counts = `the stored credentials are kept; it counts as an unacknowledged start${pair.sole ? "" : " and a possibly failed attempt"}`;
    // A time is named only if the same command goes through at it.
    const refused = await this.decide(vault).then(() => null, asVaultError);
    if (refused?.code === "state") throw refused;
    const due = this.#start.force ? "" : `; ${trialDue(context.breaker, vault)}`;
    throw unansweredError(context, "start", reply, null, {
      uuid,
      hint: counts + (refused === null ? due : "; the lockout guard refuses another start"),
      next: refused?.facts.next ?? [noted(command`vault status ${uuid}`, "then run it again")],
    });
  }

  /** Settles what ① counted by a whole answer that is not an accepted SUCCESS. */
  async #refused(exchangeId: string, pair: ChosenPair, outcome: Refused): Promise<Again | null> {
    const context = this.#context;
    const { answer, is, code, start } = outcome;
    const { session } = context;
    const { uuid } = session;
    const { refusal, serviceDetails, wording } = await import("../dispositions.ts");
    if (isSuccess(answer)) {
      const named = object(answer.body["vault"])?.["uuid"];
      const isOthers = typeof named === "string" && named.toLowerCase() !== uuid.toLowerCase();
      const lacks = note(context, "service", "SUCCESS without usable credentials");
      await session.noteOutcome(exchangeId, isOthers ? "none" : "success", lacks);
      const message =
        "the service responded SUCCESS without credentials, a token and the UUID of this vault; nothing was stored";
      throw new VaultError("service", message, {
        uuid,
        service: serviceDetails(answer),
        hint: "the stored credentials are still valid, and it counts as a start",
        next: [command`vault status ${uuid}`],
      });
    }
    const error = note(context, is === "gone" ? is : code, wording(answer));
    await session.noteOutcome(exchangeId, start, error, pair.combination);
    const isDelete = this.#start.operation === "delete";
    const about = { uuid, counted: isDelete ? "delete" : "start", generation: pair.generation };
    if (code === "rejected") {
      this.#tried.push(pair.generation);
      this.#calls = 0;
      this.#isUnanswered = false;
      this.#refusal = refusal(outcome, about);
      return null;
    }
    if (is !== "rate") throw refusal(outcome, about);
    const { waitMs, inTime } = nextTry(context, this.#calls, { type: "answer", answer });
    if (inTime) return { waitMs, cause: "rate limited" };
    throw refusal(outcome, { ...about, waitMs });
  }
}

/** What an accepting reply says, null of a delete; undefined of any other reply. */
function successOf(call: StartCall, reply: Reply): Accepted["success"] | undefined {
  const { uuid, kind, operation } = call;
  if (operation === "delete") return acceptedBy(reply) === undefined ? undefined : null;
  const answer = reply.type === "not-sent" ? undefined : reply.answer;
  return answer && readStartSuccess({ uuid, kind, operation }, answer);
}

/**
 * Decides and sends, until the service accepts a call, which has then counted.
 * @throws as `runExchange`
 */
export async function untilAccepted(context: ExchangeContext, start: Counted): Promise<Accepted> {
  return await new Starts(context, start, await recordGiven(context, start)).untilAccepted();
}

interface Given {
  kind: Kind;
  /** The generation of the given pair; null without one. */
  recordedAs: number | null;
}

/**
 * Checks a start, and records the pair that it is given.
 * @throws `usage`, `invalid-input`, `no-credentials`
 */
async function recordGiven(context: ExchangeContext, start: Counted): Promise<Given> {
  const { session } = context;
  const vault = await session.read();
  const kind = checkStart(vault, start);
  const { given, hashedPin, device } = start;
  if (given?.type !== "pair") return { kind, recordedAs: null };
  const known = await recordedAs(context, vault, start);
  const credentials = bareCredentials({ ...given.credentials, hashedPin });
  return { kind, recordedAs: known ?? (await session.recordPair({ credentials, kind, device })) };
}

/** A decision as --dry-run shows it. */
export interface Preview {
  /** The vault as it was decided on; null if it is not known. */
  record: VaultRecord | null;
  kind: Kind;
  /** What an earlier run left, if it is acknowledged first. */
  acknowledges: OpenExchange | null;
  /** What would be sent; null for a given pair that is not recorded yet, and for a recovery document. */
  pair: ChosenPair | null;
}

/**
 * Decides as `runExchange` would, and writes and sends nothing: an acknowledgement that comes first is taken as done.
 * @throws what `recordGiven` throws, and refusals
 */
export async function previewStart(context: ExchangeContext, start: Start): Promise<Preview> {
  const record = await context.session.read();
  const { given } = start;
  const kind = checkStart(record, start);
  // Once it is taken over, its exchange is acknowledged, and its new pair is the one to send.
  if (given?.type === "recovery") return { record, kind, acknowledges: null, pair: null };
  const known = await recordedAs(context, record, start);
  if (record === null || (given !== undefined && known === null)) {
    if (record !== null) (await import("../refusals.ts")).throwIfRefused(record, start, context);
    return { record, kind, acknowledges: null, pair: null };
  }
  const starts = new Starts(context, start, { kind, recordedAs: known });
  const action = await starts.decide(record);
  const acknowledges = action.do === "end" ? action.exchange : null;
  const generation =
    action.do === "end"
      ? record.generations.find((g) => g.generation === action.exchange.newGeneration)
      : action.candidates[0];
  const pair = generation && (await chosenPair(context, record, kind, generation, start));
  return { record, kind, acknowledges, pair: pair ?? null };
}
