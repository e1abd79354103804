import type { Call, Reply } from "../../src/exchange/ports.ts";
import { openSandbox } from "../../src/sandbox/server/start-sandbox.ts";
import { fingerprint } from "../../src/secrets/fingerprints.ts";
import type { HttpRequest } from "../../src/service/request.ts";
import { requestOf } from "../../src/service/request.ts";
import type { Dice } from "../support/dice.ts";
import { application, creditCard, target } from "../support/emulated-target.ts";

type Sending = (name: string, call: () => Reply) => Promise<Reply>;

/** The service with one vault, behind a network whose weather is drawn by lot. */
export class TeamService {
  readonly sandbox;
  readonly uuid: string;
  readonly #handle;
  readonly #dice: Dice;
  readonly #log: string[];

  constructor(seed: string, now: () => number, dice: Dice, log: string[]) {
    const { sandbox, handle } = openSandbox({
      now,
      randomSeed: seed,
      application,
      seed: [{ kind: "credit-card/offline", creditCard }],
      policy: { tokenTtlMs: 60_000, rate: 0 },
    });
    this.sandbox = sandbox;
    this.#handle = handle;
    this.uuid = sandbox.vaults()[0]?.uuid ?? "";
    this.#dice = dice;
    this.#log = log;
  }

  /** What sends the calls of one process, each by way of `sending`. */
  calls(sending: Sending, mayFail: boolean): (call: Call) => Promise<Reply> {
    return async (call) =>
      await sending(call.step, () => this.#exchange(call.step, requestOf(target, call), mayFail));
  }

  /** Fingerprint of the pair that it accepts. */
  accepted(): string {
    return fingerprint(this.uuid, this.sandbox.inspect(this.uuid).currentPair);
  }

  /** An administrator unlocks the vault. */
  unlock(): void {
    this.sandbox.unlock(this.uuid);
  }

  #exchange(name: string, { method, path, headers, body }: HttpRequest, mayFail: boolean): Reply {
    const weather = mayFail
      ? this.#dice.draw([
          { weight: 20, what: "fine" },
          { weight: 1, what: "not sent" },
          { weight: 1, what: "lost" },
          { weight: 1, what: "answer lost" },
        ]).what
      : "fine";
    this.#log.push(`  ${name}: ${weather}`);
    if (weather === "not sent") return { type: "not-sent", cause: "connection refused" };
    if (weather === "lost") return { type: "no-answer", cause: "reset" };
    const response = this.#handle({
      method,
      path,
      headers,
      body: JSON.stringify(body) ?? "",
      remoteAddress: "127.0.0.1",
    });
    if (weather === "answer lost") return { type: "no-answer", cause: "reset" };
    return {
      type: "answer",
      answer: {
        httpStatus: response.status,
        body: JSON.parse(response.body) as Record<string, unknown>,
      },
    };
  }
}
