import { defined } from "../../defined.ts";
import type { EventKind } from "../fold/events.ts";
import { eventKinds } from "../fold/events.ts";
import type { DueItem } from "../fold/time-order.ts";
import type { Item } from "../read/item.ts";
import { originOf } from "./found.ts";
import type { Client, Exchange, Trace } from "./refused.ts";
import type { Ranked, ReportContext } from "./vault-reports.ts";
import { chainIn, statusOf } from "./vault-reports.ts";

/** Maximum number of vaults that are traced, the latest locked ones. */
const maxTraced = 500;

/** Reads all items again, in order of time, or returns false. */
type ReadAgain = (take: (due: DueItem) => void) => Promise<boolean>;

/**
 * Traces the credentials that were refused until a vault was locked. The fold keeps no earlier items, so the inputs are read again, if
 * there is such a vault. Returns nothing if they cannot.
 */
export async function traceRefused(
  context: ReportContext,
  ranked: readonly Ranked[],
  readAgain: ReadAgain,
): Promise<Map<number, Trace>> {
  const locked = ranked.filter(({ verdict }) => verdict === "locked").slice(0, maxTraced);
  const tracers = new Map<number, Tracer>();
  for (const { vault } of locked) {
    const { rule } = statusOf(context, vault);
    const [first] =
      rule === "failed-attempts" || rule === "expired-invalid-start" ? chainIn(context, vault) : [];
    if (first !== undefined)
      tracers.set(vault, new Tracer(originOf(context, vault), first.location));
  }
  if (tracers.size === 0) return new Map();
  const wasRead = await readAgain((due) => {
    const tracer = tracers.get(due.vault);
    if (tracer?.isWaiting(due) === true)
      tracer.take(
        eventKinds[due.kind] as EventKind,
        () => due.item ?? context.references.item(due),
      );
  });
  return new Map(wasRead ? [...tracers].map(([vault, tracer]) => [vault, tracer.trace()]) : []);
}

/** Follows the exchanges of a vault up to its first refusal. */
class Tracer {
  readonly #client: Client;
  readonly #until: number;
  #hasEnded = false;
  #open: Exchange | undefined;
  #latest: Exchange | undefined;
  /** Last accepted exchange with the client's reference or address, and the first one acknowledged after it. */
  readonly #own = new Map<keyof Client, { exchange: Exchange; next?: Exchange }>();

  /** `until` is the location of the first refusal. */
  constructor({ externalRef, address }: Client, until: number) {
    this.#client = defined({ externalRef, address });
    this.#until = until;
  }

  isWaiting({ location }: DueItem): boolean {
    this.#hasEnded ||= location === this.#until;
    return !this.#hasEnded;
  }

  /** Takes the next item, which `read` reads. */
  take(event: EventKind, read: () => Item | undefined): void {
    if (event === "read" || event === "update") this.#start(read());
    if (event === "ack-read" || event === "ack-update") this.#acknowledge(read());
  }

  trace(): Trace {
    const own = this.#own.get("externalRef") ?? this.#own.get("address");
    const acknowledged = own?.exchange.acknowledgement === undefined ? undefined : own.exchange;
    return {
      client: this.#client,
      own: own?.exchange,
      replacement: own === undefined ? this.#latest : (own.next ?? acknowledged),
    };
  }

  #start(start: Item | undefined): void {
    if (start === undefined) return;
    this.#open = { start };
    for (const key of ["externalRef", "address"] as const) {
      if (this.#client[key] !== undefined && start[key] === this.#client[key])
        this.#own.set(key, { exchange: this.#open });
    }
  }

  #acknowledge(acknowledgement: Item | undefined): void {
    // Overlapping exports repeat items.
    if (
      acknowledgement === undefined ||
      acknowledgement.time === this.#latest?.acknowledgement?.time
    )
      return;
    const exchange = Object.assign(this.#open ?? {}, { acknowledgement });
    this.#open = undefined;
    this.#latest = exchange;
    for (const own of this.#own.values()) if (own.exchange !== exchange) own.next ??= exchange;
  }
}
