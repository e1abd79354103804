import type { JournalLine } from "../../store/journal/items.ts";
import { defined } from "../../defined.ts";
import type { Item, JournalItem } from "../read/item.ts";

type Wording = Required<Pick<Item, "action" | "outcome" | "description">>;

/** Properties of an exchange that its later entries do not repeat. */
interface Exchange {
  operation: string;
  externalRef: string | undefined;
  kind: string | undefined;
}

/** The calls of an operation, the word for it, and its end call. */
const operations: Readonly<Record<string, readonly [call: string, word: string, end: string]>> = {
  get: ["READ_VAULT", "read", "ACKNOWLEDGE_READ_VAULT"],
  update: ["UPDATE_VAULT", "update", "ACKNOWLEDGE_UPDATE_VAULT"],
  delete: ["DELETE_VAULT", "delete", "DELETE_VAULT"],
};

/**
 * Derives from the journal the audit items that the service must have recorded for this machine's calls: the action, the outcome
 * (SUCCESS, FAILURE, or UNKNOWN if no complete response came and the call may count) and the usual description. Calls whose beginning
 * was pruned from the journal are left out. Memory grows with open exchanges, not with the journal.
 */
export function* journalItems(lines: Iterable<JournalLine>): Generator<JournalItem> {
  const exchanges = new Map<string, Exchange>();
  for (const line of lines) {
    const key = `${line.uuid} ${line.exchange ?? ""}`;
    const operation = textOf(line.detail["operation"]);
    if (operation !== undefined) {
      const externalRef = textOf(line.detail["externalRef"]) ?? ownReference(line);
      exchanges.set(key, { operation, externalRef, kind: textOf(line.detail["kind"]) });
    }
    const exchange = exchanges.get(key);
    if (endings.has(line.event)) exchanges.delete(key);
    const wording = wordingOf(line, exchange);
    if (wording !== null) yield defined({ ...itemOf(line, exchange), ...wording });
  }
}

/** Last events of an exchange. */
const endings = new Set(["acknowledged", "expired", "discarded", "rejected", "deleted"]);

const textOf = (value: unknown): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Returns the default external reference of an exchange started here. */
const ownReference = ({ exchange }: JournalLine): string | undefined =>
  exchange === null ? undefined : `vault-${exchange}`;

const itemOf = (line: JournalLine, exchange: Exchange | undefined) => ({
  line: line.seq,
  time: Date.parse(line.at),
  vault: line.uuid.toLowerCase(),
  id: line.exchange ?? undefined,
  externalRef: exchange?.externalRef ?? textOf(line.detail["externalRef"]),
  // The journal has no endpoint: service and kind of vault stand in for it.
  endpoint: [line.service, exchange?.kind ?? textOf(line.detail["kind"])]
    .filter((part) => part !== undefined)
    .join("/vault/"),
});

function wordingOf(line: JournalLine, exchange: Exchange | undefined): Wording | null {
  const { event, fate, detail } = line;
  if (event === "created") return said("CREATE_VAULT", "SUCCESS", "vault created");
  // A word about what the audit log shows does not mean that the vault was unlocked.
  if (event === "counters-reset" && detail["to"] === "all")
    return said("UNLOCK_VAULT", "SUCCESS", "counters reset on this machine, after an unlock");
  const operation = operations[exchange?.operation ?? ""];
  if (operation === undefined) return null;
  const [call, word, end] = operation;
  const { code, message } = errorOf(line);
  const words = typeof message === "string" && message !== "" ? ` (${message})` : "";
  switch (event) {
    case "intent":
      return fate === "unknown"
        ? said(call, "UNKNOWN", "start intended, response unknown: it may count")
        : null;
    case "unanswered":
      return said(call, "UNKNOWN", `sent, outcome unknown: it may count${words}`);
    case "started":
      return said(call, "SUCCESS", `${word} started`);
    case "adopted":
      return said(call, "SUCCESS", `${word} started by another machine, continued here`);
    case "deleted":
      return said(call, "SUCCESS", "vault deleted");
    case "rejected":
      return said(call, "FAILURE", refusal(detail["counted"] === true, code, words));
    case "discarded":
      // Other reverted starts leave no audit item.
      return code === "unauthorized"
        ? said("API_KEY_CHECK", "FAILURE", "application refused: key, JWT or address")
        : null;
    case "ending":
      return fate === "arrived"
        ? said(end, "SUCCESS", `${word} acknowledged, as a later start showed`)
        : fate === "unknown"
          ? said(end, "UNKNOWN", "acknowledgement sent, outcome unknown: it may have arrived")
          : null;
    case "acknowledged":
      return fate === "told" ? null : said(end, "SUCCESS", `${word} acknowledged`);
    case "end-answered":
    case "expired":
      // Without a code, a later start settled the exchange; with `network`, nothing was sent. Neither is an end call.
      return code === undefined || code === "network"
        ? null
        : said(end, "FAILURE", `not acknowledged${words}`);
    default:
      return null;
  }
}

const said = (action: string, outcome: string, description: string): Wording => ({
  action,
  outcome,
  description,
});

function refusal(counted: boolean, code: unknown, words: string): string {
  if (counted) return `bad credentials${words}`;
  // Words of the service must not turn a lock into a failed attempt.
  const other = /credential|payload|encrypted|pin\b|device/i.test(words) ? "" : words;
  return `${code === "gone" ? "vault not found" : "vault is locked"}${other}`;
}

const errorOf = ({ detail }: JournalLine): { code?: unknown; message?: unknown } =>
  typeof detail["error"] === "object" && detail["error"] !== null ? detail["error"] : {};
