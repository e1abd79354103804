import type { JournalLine } from "../../store/sqlite/history.ts";
import { defined } from "../../defined.ts";
import type { Item } from "../read/item.ts";

type Detail = JournalLine["detail"];
type Wording = readonly [action: string, outcome: string, description: string];

/** The calls of an operation, the word for it, and its end call. */
const operations: Readonly<Record<string, readonly [call: string, word: string, end: string]>> = {
  get: ["READ_VAULT", "read", "ACKNOWLEDGE_READ_VAULT"],
  update: ["UPDATE_VAULT", "update", "ACKNOWLEDGE_UPDATE_VAULT"],
  delete: ["DELETE_VAULT", "delete", "DELETE_VAULT"],
};

/** Last events of an exchange. */
const endings = new Set(["acknowledged", "expired", "discarded", "rejected", "deleted"]);

/**
 * Derives from the journal the audit items that the service must have for this machine's calls:
 * action, outcome (UNKNOWN if no complete response came and the call may count), usual description.
 * Calls whose beginning was pruned are left out. Memory grows with open exchanges, not the journal.
 */
export function* journalItems(lines: Iterable<JournalLine>): Generator<Item> {
  /** What the first entry of an exchange has, and later ones do not repeat. */
  const exchanges = new Map<string, Detail>();
  for (const line of lines) {
    const { at, service, uuid, exchange, detail } = line;
    const key = `${uuid} ${exchange}`;
    if (textOf(detail["operation"]) !== undefined) exchanges.set(key, detail);
    const begun = exchanges.get(key);
    if (endings.has(line.event)) exchanges.delete(key);
    const wording = wordingOf(line, textOf(begun?.["operation"]) ?? "");
    if (wording === undefined) continue;
    const [action, outcome, description] = wording;
    const kind = textOf(begun?.["kind"] ?? detail["kind"]);
    // The default reference of an exchange that was started here.
    const own = begun === undefined || exchange === null ? undefined : `vault-${exchange}`;
    yield defined({
      time: Date.parse(at),
      vault: uuid.toLowerCase(),
      id: exchange ?? undefined,
      externalRef: textOf(begun?.["externalRef"]) ?? own ?? textOf(detail["externalRef"]),
      // The journal has no endpoint: service and kind of vault stand in for it.
      endpoint: [service, kind ?? []].flat().join("/vault/"),
      action,
      outcome,
      description,
    });
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

function wordingOf({ event, fate, detail }: JournalLine, begun: string): Wording | undefined {
  if (event === "created") return ["CREATE_VAULT", "SUCCESS", "vault created"];
  // A word about what the audit log shows does not mean that the vault was unlocked.
  if (event === "counters-reset" && detail["to"] === "all")
    return ["UNLOCK_VAULT", "SUCCESS", "counters reset on this machine, after an unlock"];
  const operation = operations[begun];
  if (operation === undefined) return undefined;
  const [call, word, end] = operation;
  const { code, message } = (detail["error"] ?? {}) as { code?: unknown; message?: unknown };
  const words = typeof message === "string" && message !== "" ? ` (${message})` : "";
  // Words of the service must not turn a lock into a failed attempt.
  const other = /credential|payload|encrypted|pin\b|device/i.test(words) ? "" : words;
  const refused = `${code === "gone" ? "vault not found" : "vault is locked"}${other}`;
  // No code: a later start settled the exchange; `network`: nothing was sent. Neither is an end.
  const ended: Wording | undefined =
    code === undefined || code === "network"
      ? undefined
      : [end, "FAILURE", `not acknowledged${words}`];
  const wordings: Readonly<Record<string, Wording | undefined>> = {
    "intent unknown": [call, "UNKNOWN", "start intended, response unknown: it may count"],
    unanswered: [call, "UNKNOWN", `sent, outcome unknown: it may count${words}`],
    started: [call, "SUCCESS", `${word} started`],
    adopted: [call, "SUCCESS", `${word} started by another machine, continued here`],
    deleted: [call, "SUCCESS", "vault deleted"],
    rejected: [call, "FAILURE", detail["counted"] === true ? `bad credentials${words}` : refused],
    // Other reverted starts leave no audit item.
    "discarded unauthorized": [
      "API_KEY_CHECK",
      "FAILURE",
      "application refused: key, JWT or address",
    ],
    "ending arrived": [end, "SUCCESS", `${word} acknowledged, as a later start showed`],
    "ending unknown": [
      end,
      "UNKNOWN",
      "acknowledgement sent, outcome unknown: it may have arrived",
    ],
    acknowledged: [end, "SUCCESS", `${word} acknowledged`],
    "end-answered": ended,
    expired: ended,
  };
  const how = event === "discarded" ? code : fate;
  return wordings[typeof how === "string" ? `${event} ${how}` : event];
}
