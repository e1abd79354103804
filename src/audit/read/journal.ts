import type { Item } from "./item.ts";

/** An entry of this machine's journal about a call. */
export interface JournalLine {
  seq: number;
  /** ISO 8601. */
  at: string;
  service: string;
  uuid: string;
  exchange: string | null;
  event: string;
  detail: Record<string, unknown>;
  /** What later entries say of a start or an end call that went unanswered. */
  fate: "unknown" | "arrived" | "told" | null;
}

/** What later entries of an exchange do not repeat. */
interface Exchange {
  operation: string;
  externalRef: string | null;
  kind: string | null;
}

type Told = Pick<Item, "action" | "outcome" | "description">;

const actions: Readonly<Record<string, { call: string; end: string }>> = {
  get: { call: "READ_VAULT", end: "ACKNOWLEDGE_READ_VAULT" },
  update: { call: "UPDATE_VAULT", end: "ACKNOWLEDGE_UPDATE_VAULT" },
  delete: { call: "DELETE_VAULT", end: "DELETE_VAULT" },
};

/**
 * What the service must have recorded of this machine's calls, by its journal, in the form of audit items: the action, the outcome
 * (SUCCESS, FAILURE, or UNKNOWN where no whole answer came back and the call may count) and the usual wording. A call whose
 * beginning the journal no longer has is left out. Memory grows with the exchanges that are open, not with the journal.
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
    const told = tell(line, exchange);
    if (told !== null) yield { ...itemOf(line, exchange), ...told };
  }
}

/** Nothing comes after these. An exchange that was not heard of again is kept until a success drops it. */
const endings = new Set(["acknowledged", "expired", "discarded", "rejected", "deleted"]);

const textOf = (value: unknown): string | null => (typeof value === "string" ? value : null);

/** One that was taken over has the reference that the other machine gave it; by default it names the exchange. */
const ownReference = ({ exchange }: JournalLine): string | null => (exchange === null ? null : `vault-${exchange}`);

const itemOf = (line: JournalLine, exchange: Exchange | null): Omit<Item, keyof Told> => ({
  input: 0,
  line: line.seq,
  time: Date.parse(line.at),
  vault: line.uuid.toLowerCase(),
  application: null,
  address: null,
  // Which service it was, and which kind of vault.
  endpoint: [line.service, exchange?.kind ?? textOf(line.detail["kind"])].filter((part) => part !== null).join("/vault/"),
  externalRef: exchange?.externalRef ?? textOf(line.detail["externalRef"]),
  id: line.exchange,
});

function tell(line: JournalLine, exchange: Exchange | null): Told | null {
  if (line.event === "created") return success("CREATE_VAULT", "vault created");
  // Clearing what only possibly failed says nothing of an unlock.
  if (line.event === "counters-reset" && line.detail["only"] === "unanswered") return null;
  if (line.event === "counters-reset") return success("UNLOCK_VAULT", "counters reset on this machine, after an unlock");
  const action = actions[exchange?.operation ?? ""];
  if (action === undefined) return null;
  const word = exchange?.operation === "get" ? "read" : (exchange?.operation ?? "");
  switch (line.event) {
    case "intent":
      return line.fate === "unknown" ? unknown(action.call, "about to be sent, and nothing is known of an answer: it may count") : null;
    case "unanswered":
      return unknown(action.call, `sent, no whole answer: it may count${said(line)}`);
    case "started":
      return success(action.call, `${word} started`);
    case "adopted":
      return success(action.call, `${word} started by another machine, and taken over`);
    case "deleted":
      return success(action.call, "vault deleted");
    case "rejected":
      return { action: action.call, outcome: "FAILURE", description: refusal(line) };
    case "discarded":
      // Nothing else that is taken back leaves an audit item behind.
      return codeOf(line) === "unauthorised"
        ? { action: "API_KEY_CHECK", outcome: "FAILURE", description: "application refused: key, JWT or address" }
        : null;
    case "ending":
      if (line.fate === "arrived") return success(action.end, `${word} acknowledged, as a later start has shown`);
      return line.fate === "unknown" ? unknown(action.end, "acknowledgement sent, no answer: it may have arrived") : null;
    case "acknowledged":
      return line.fate === "told" ? null : success(action.end, `${word} acknowledged`);
    case "end-answered":
    case "expired":
      // Nothing was sent; or a start has settled one in doubt, which is no call of its end.
      return codeOf(line) === undefined || codeOf(line) === "network"
        ? null
        : { action: action.end, outcome: "FAILURE", description: `not acknowledged${said(line)}` };
    default:
      return null;
  }
}

const success = (action: string, description: string): Told => ({ action, outcome: "SUCCESS", description });

const unknown = (action: string, description: string): Told => ({ action, outcome: "UNKNOWN", description });

function refusal(line: JournalLine): string {
  if (line.detail["counted"] === true) return `bad credentials${said(line)}`;
  // What was understood as a lock is not to be read as something else for a word of the service's.
  const words = aboutCredentials.test(said(line)) ? "" : said(line);
  return `${codeOf(line) === "gone" ? "vault not found" : "vault is locked"}${words}`;
}

const aboutCredentials = /credential|payload|encrypted|pin\b|device/i;

const errorOf = ({ detail }: JournalLine): { code?: unknown; message?: unknown } =>
  typeof detail["error"] === "object" && detail["error"] !== null ? detail["error"] : {};

const codeOf = (line: JournalLine): unknown => errorOf(line).code;

/** What the service said, behind what it comes to. */
function said(line: JournalLine): string {
  const { message } = errorOf(line);
  return typeof message === "string" && message !== "" ? ` (${message})` : "";
}
