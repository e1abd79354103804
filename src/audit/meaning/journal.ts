import type { JournalLine } from "../../store/journal/items.ts";
import type { Wording } from "./classifier.ts";
import type { Item } from "../read/item.ts";

/** Properties of an exchange that its later entries do not repeat. */
interface Exchange {
  operation: string;
  externalRef: string | null;
  kind: string | null;
}

const actions: Readonly<Record<string, { call: string; end: string }>> = {
  get: { call: "READ_VAULT", end: "ACKNOWLEDGE_READ_VAULT" },
  update: { call: "UPDATE_VAULT", end: "ACKNOWLEDGE_UPDATE_VAULT" },
  delete: { call: "DELETE_VAULT", end: "DELETE_VAULT" },
};

/**
 * Derives from the journal the audit items that the service must have recorded for this machine's calls: the action, the outcome
 * (SUCCESS, FAILURE, or UNKNOWN if no complete response came and the call may count) and the usual description. Calls whose beginning
 * was pruned from the journal are left out. Memory grows with open exchanges, not with the journal.
 */
export function* journalItems(lines: Iterable<JournalLine>): Generator<Item> {
  const exchanges = new Map<string, Exchange>();
  for (const line of lines) {
    const key = `${line.uuid} ${line.exchange ?? ""}`;
    const operation = textOf(line.detail["operation"]);
    if (operation !== null) {
      const externalRef = textOf(line.detail["externalRef"]) ?? ownReference(line);
      exchanges.set(key, { operation, externalRef, kind: textOf(line.detail["kind"]) });
    }
    const exchange = exchanges.get(key) ?? null;
    if (endings.has(line.event)) exchanges.delete(key);
    const wording = wordingOf(line, exchange);
    if (wording !== null) yield { ...itemOf(line, exchange), ...wording };
  }
}

/** Last events of an exchange. */
const endings = new Set(["acknowledged", "expired", "discarded", "rejected", "deleted"]);

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** Returns the default external reference of an exchange started here. */
const ownReference = ({ exchange }: JournalLine): string | null =>
  exchange === null ? null : `vault-${exchange}`;

const itemOf = (line: JournalLine, exchange: Exchange | null): Omit<Item, keyof Wording> => ({
  input: 0,
  line: line.seq,
  time: Date.parse(line.at),
  vault: line.uuid.toLowerCase(),
  application: null,
  address: null,
  // The journal has no endpoint: service and kind of vault stand in for it.
  endpoint: [line.service, exchange?.kind ?? textOf(line.detail["kind"])]
    .filter((part) => part !== null)
    .join("/vault/"),
  externalRef: exchange?.externalRef ?? textOf(line.detail["externalRef"]),
  id: line.exchange,
});

function wordingOf(line: JournalLine, exchange: Exchange | null): Wording | null {
  if (line.event === "created") return success("CREATE_VAULT", "vault created");
  // A word about what the audit log shows does not mean that the vault was unlocked.
  if (line.event === "counters-reset" && line.detail["to"] !== "all") return null;
  if (line.event === "counters-reset")
    return success("UNLOCK_VAULT", "counters reset on this machine, after an unlock");
  const action = actions[exchange?.operation ?? ""];
  if (action === undefined) return null;
  const word = exchange?.operation === "get" ? "read" : (exchange?.operation ?? "");
  switch (line.event) {
    case "intent":
      return line.fate === "unknown"
        ? unknown(action.call, "start intended, response unknown: it may count")
        : null;
    case "unanswered":
      return unknown(action.call, `sent, outcome unknown: it may count${messageOf(line)}`);
    case "started":
      return success(action.call, `${word} started`);
    case "adopted":
      return success(action.call, `${word} started by another machine, continued here`);
    case "deleted":
      return success(action.call, "vault deleted");
    case "rejected":
      return { action: action.call, outcome: "FAILURE", description: refusal(line) };
    case "discarded":
      // Other reverted starts leave no audit item.
      return codeOf(line) === "unauthorized"
        ? {
            action: "API_KEY_CHECK",
            outcome: "FAILURE",
            description: "application refused: key, JWT or address",
          }
        : null;
    case "ending":
      if (line.fate === "arrived")
        return success(action.end, `${word} acknowledged, as a later start showed`);
      return line.fate === "unknown"
        ? unknown(action.end, "acknowledgement sent, outcome unknown: it may have arrived")
        : null;
    case "acknowledged":
      return line.fate === "told" ? null : success(action.end, `${word} acknowledged`);
    case "end-answered":
    case "expired":
      // Without a code, a later start settled the exchange; with `network`, nothing was sent. Neither is an end call.
      return codeOf(line) === undefined || codeOf(line) === "network"
        ? null
        : {
            action: action.end,
            outcome: "FAILURE",
            description: `not acknowledged${messageOf(line)}`,
          };
    default:
      return null;
  }
}

const success = (action: string, description: string): Wording => ({
  action,
  outcome: "SUCCESS",
  description,
});

const unknown = (action: string, description: string): Wording => ({
  action,
  outcome: "UNKNOWN",
  description,
});

function refusal(line: JournalLine): string {
  if (line.detail["counted"] === true) return `bad credentials${messageOf(line)}`;
  // Words of the service must not turn a lock into a failed attempt.
  const words = aboutCredentials.test(messageOf(line)) ? "" : messageOf(line);
  return `${codeOf(line) === "gone" ? "vault not found" : "vault is locked"}${words}`;
}

const aboutCredentials = /credential|payload|encrypted|pin\b|device/i;

const errorOf = ({ detail }: JournalLine): { code?: unknown; message?: unknown } =>
  typeof detail["error"] === "object" && detail["error"] !== null ? detail["error"] : {};

const codeOf = (line: JournalLine): unknown => errorOf(line).code;

/** Returns the message of the service in parentheses. */
function messageOf(line: JournalLine): string {
  const { message } = errorOf(line);
  return typeof message === "string" && message !== "" ? ` (${message})` : "";
}
