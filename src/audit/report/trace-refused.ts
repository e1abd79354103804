import { defined } from "../../defined.ts";
import type { Entry, Item, ItemLocation } from "../read/item.ts";
import { locationOf } from "../read/item.ts";
import { originOf } from "./found.ts";
import type { Client, Exchange, Trace } from "./cause.ts";
import type { Ranked, ReportContext } from "./vault-reports.ts";
import { chainIn, statusOf } from "./vault-reports.ts";

/** Maximum number of vaults that are traced, the latest locked ones. */
const maxTraced = 500;

/** Maximum number of references that share an address. */
const maxNeighbors = 100;

/** Reads all entries again, in order of time, or returns false. */
type ReadAgain = (take: (entry: Entry) => void) => Promise<boolean>;

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
    if (first !== undefined) tracers.set(vault.number, new Tracer(originOf(context, vault), first));
  }
  if (tracers.size === 0) return new Map();
  const wasRead = await readAgain((entry) => {
    tracers.get(entry.vault)?.take(entry, () => context.references.itemOf(entry));
  });
  return new Map(wasRead ? [...tracers].map(([vault, tracer]) => [vault, tracer.trace()]) : []);
}

/** Follows the exchanges of a vault up to its first refusal. */
class Tracer {
  readonly #client: Client;
  readonly #until: ItemLocation;
  #hasEnded = false;
  #open: Exchange | undefined;
  #latest: Exchange | undefined;
  #acknowledgedAt = Number.NaN;
  /** Last accepted exchange of the client, and the first one acknowledged after it. */
  #own: { exchange: Exchange; next?: Exchange } | undefined;
  /** Last accepted start by others from the client's address, and their references. */
  #neighbor: ItemLocation | undefined;
  readonly #neighbors = new Set<string>();

  /** `until` is the first refusal. */
  constructor({ externalRef, address }: Client, until: ItemLocation) {
    this.#client = defined({ externalRef, address });
    this.#until = until;
  }

  /** Takes the next entry, whose item `read` reads. */
  take(entry: Entry, read: () => Item): void {
    this.#hasEnded ||= entry.line === this.#until.line && entry.input === this.#until.input;
    if (this.#hasEnded) return;
    if (entry.event === "read" || entry.event === "update") this.#start(entry, read());
    if (entry.event === "ack-read" || entry.event === "ack-update") this.#acknowledge(entry);
  }

  trace(): Trace {
    const own = this.#own;
    const acknowledged = own?.exchange.acknowledgement === undefined ? undefined : own.exchange;
    return {
      client: this.#client,
      own: own?.exchange,
      replacement: own === undefined ? this.#latest : (own.next ?? acknowledged),
      neighbor: this.#neighbor,
      neighbors: [...this.#neighbors],
    };
  }

  #start(start: Entry, item: Item): void {
    this.#open = { start: locationOf(start) };
    const { externalRef, address } = this.#client;
    const isFromThere = address !== undefined && item.address === address;
    // Another reference is another client, whatever its address.
    if (
      externalRef === undefined
        ? isFromThere && item.externalRef === null
        : item.externalRef === externalRef
    )
      this.#own = { exchange: this.#open };
    else if (isFromThere && item.externalRef !== null) {
      this.#neighbor = this.#open.start;
      if (this.#neighbors.size < maxNeighbors) this.#neighbors.add(item.externalRef);
    }
  }

  #acknowledge(entry: Entry): void {
    // Overlapping exports repeat items.
    if (entry.time === this.#acknowledgedAt) return;
    this.#acknowledgedAt = entry.time;
    const exchange = Object.assign(this.#open ?? {}, { acknowledgement: locationOf(entry) });
    this.#open = undefined;
    this.#latest = exchange;
    if (this.#own !== undefined && this.#own.exchange !== exchange) this.#own.next ??= exchange;
  }
}
