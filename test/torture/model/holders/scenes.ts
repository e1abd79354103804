import type { HolderBounds, Holders } from "./state.ts";
import { asDesigned } from "../protocol.ts";
import { decides, writes, type Flaw } from "../flaws.ts";
import { exchangeOf, generationOf, type Command, type Document, type Store } from "../state.ts";
import { NotTaken, type StoreSteps } from "../store.ts";

const get: Command = { name: "get", do: "get" };
const ack: Command = { name: "ack", do: "ack" };
const out: Command = { name: "get --credentials-out", do: "get", out: true };
const noAck: Command = { name: "get --no-ack", do: "get", noAck: true };
const remove: Command = { name: "delete", do: "get", deletes: true };

const document = (exchange: number, old: number, next: number): Document => ({
  exchange,
  operation: "get",
  old,
  new: next,
  unread: false,
});

/** The vault has moved on since: of three exchanges only documents are left, and credentials of another vault lie among them. */
function oldDocuments({ service, acked, machines, papers }: Holders): void {
  service.pair = 6;
  acked.push(4, 5, 6);
  for (const { store } of machines) store.generations = [];
  papers.push(document(2, 4, 5), document(3, 5, 6), { pair: 2 });
}

type Scene = Omit<HolderBounds, "repeat">;

const scenes: Scene[] = [
  {
    name: "documents and exports between two states",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, out],
    events: ["import", "export"],
    papers: 3,
    alone: false,
  },
  {
    name: "held exchanges that another state takes over",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, noAck, ack],
    events: ["import", "export"],
    papers: 2,
    alone: false,
  },
  {
    name: "copies, backups and restores",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, ack],
    events: ["copy", "backup", "restore"],
    papers: 0,
    alone: false,
  },
  {
    name: "a colleague, and states that forget",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 2,
    commands: [get, out],
    events: ["import", "export", "colleague", "forget"],
    papers: 3,
    alone: false,
  },
  {
    name: "one state that sends",
    left: { runs: 3, faults: 1, events: 3 },
    machines: 1,
    commands: [get, out, noAck, ack, remove],
    events: ["import", "export", "backup", "restore", "colleague"],
    papers: 3,
    alone: true,
  },
  {
    name: "documents of any age",
    left: { runs: 4, faults: 2, events: 4 },
    machines: 1,
    commands: [get, noAck, ack],
    events: ["import", "forget"],
    papers: 3,
    alone: true,
    first: oldDocuments,
  },
  {
    name: "wrong credentials",
    left: { runs: 4, faults: 2, events: 3 },
    machines: 1,
    commands: [get, out],
    events: ["import", "export", "forget"],
    papers: 3,
    alone: true,
    first: ({ papers }) => void papers.push({ pair: 2 }, document(2, 3, 4)),
  },
];

const repeats = { success: "SUCCESS", token: "ERROR", "no-answer": "5xx" } as const;

/** Each explored to the end, with each answer that a service may give to the repetition of an end call. */
export const holderBounds: HolderBounds[] = scenes.flatMap((scene) =>
  (["success", "token", "no-answer"] as const).map((repeat) => ({
    ...scene,
    name: `${scene.name}; a repeated end call: ${repeats[repeat]}`,
    repeat,
  })),
);

const { steps } = asDesigned;

const documents = "documents and exports between two states; a repeated end call: SUCCESS";
const aged = "documents of any age; a repeated end call: SUCCESS";
const colleague = "a colleague, and states that forget; a repeated end call: ERROR";
const alone = "one state that sends; a repeated end call: ERROR";
const wrong = "wrong credentials; a repeated end call: ERROR";

const supersedeOthers = (store: Store, than: number | null): void => {
  for (const each of store.generations) if (each.number !== than) each.standing = "superseded";
};

/** A document is taken over in spite of what the state knows. */
function importAnyway(change: (store: Store) => void): StoreSteps["importDocument"] {
  return (store, document, numbers) => {
    change(store);
    steps.importDocument(store, document, numbers);
  };
}

/** Mistakes about more than one holder, and where each of them is found. */
export const holderFlaws: Flaw[] = [
  {
    mistake: "SUCCESS to an adopted exchange supersedes the others",
    in: aged,
    breaks: /has superseded what the service accepts|no way leads back/,
    parts: writes({
      acknowledged(store, id) {
        const { adopted, next } = exchangeOf(store, id) ?? { adopted: false, next: null };
        steps.acknowledged(store, id);
        if (adopted) supersedeOthers(store, next);
      },
    }),
  },
  {
    mistake: "an acknowledgement supersedes what was imported meanwhile",
    in: documents,
    breaks: /has superseded what the service accepts/,
    isFoundLate: true,
    parts: writes({
      acknowledged(store, id) {
        steps.acknowledged(store, id);
        const { adopted, next } = exchangeOf(store, id) ?? { adopted: true, next: null };
        if (!adopted) supersedeOthers(store, next);
      },
    }),
  },
  {
    mistake: "a token error means expired, although a document has left",
    in: documents.replace("SUCCESS", "ERROR"),
    breaks: /calls void what the service accepts/,
    parts: decides({
      deadToken: (_store, _exchange, before) => (before === 0 ? "expired" : "inDoubt"),
    }),
  },
  {
    mistake: "an unanswered start of proven credentials does not count as possibly failed",
    in: alone,
    breaks: /the vault is locked/,
    isFoundLate: true,
    parts: writes({
      intent(store, intent) {
        steps.intent(store, intent);
        if (generationOf(store, intent.base)?.proven !== true) return;
        Object.assign(store.exchanges.at(-1) ?? {}, { isSole: true, outcome: "no whole answer" });
      },
    }),
  },
  {
    mistake: "adopting a document demotes the current credentials",
    in: documents,
    breaks: /./,
    parts: writes({
      importDocument(store, document, numbers) {
        const before = store.exchanges.length;
        steps.importDocument(store, document, numbers);
        if (store.exchanges.length === before) return;
        for (const each of store.generations)
          if (each.standing === "current") each.standing = "void";
      },
    }),
  },
  {
    mistake: "an older document is accepted over proven credentials",
    in: documents,
    breaks: /superseded credentials are sent/,
    parts: writes({
      importDocument(store, document, numbers) {
        try {
          steps.importDocument(store, document, numbers);
        } catch (error) {
          if (!(error instanceof NotTaken)) throw error;
          steps.importDocument({ ...store, generations: [] }, document, numbers);
          const facts = {
            standing: "imported",
            proven: false,
            elsewhere: true,
            refused: false,
            placed: null,
            ended: false,
          } as const;
          store.generations.push({ number: numbers[1], pair: document.new, ...facts });
        }
      },
    }),
  },
  {
    mistake: "the last free attempt is spent on a guess",
    in: wrong,
    breaks: /the last free attempt is spent on a guess/,
    parts: decides({ isForAPerson: () => false }),
  },
  {
    mistake: "a second start that is no trial",
    in: alone,
    breaks: /no trial is sent/,
    parts: decides({ isOpen: () => false }),
  },
  {
    mistake: "after a forget a document is older than nothing",
    in: aged,
    breaks: /no way leads back/,
    parts: writes({
      importDocument: importAnyway((store) => {
        const isKnown = store.generations.some((g) => g.standing === "superseded");
        if (isKnown && store.generations.every((g) => g.standing === "superseded"))
          throw new NotTaken();
      }),
    }),
  },
  {
    mistake: "imports are refused while an exchange is open",
    in: colleague,
    breaks: /no way leads back/,
    parts: writes({
      importDocument: importAnyway((store) => {
        if (
          store.exchanges.some((e) => ["started", "held", "ending", "in-doubt"].includes(e.state))
        )
          throw new NotTaken();
      }),
      importPair(store, given) {
        if (
          store.exchanges.some((e) => ["started", "held", "ending", "in-doubt"].includes(e.state))
        )
          throw new NotTaken();
        steps.importPair(store, given);
      },
    }),
  },
  {
    mistake: "a refusal supersedes what was refused",
    in: documents,
    breaks: /has superseded what the service accepts/,
    parts: writes({
      refused(store, id, counts) {
        steps.refused(store, id, counts);
        const base = generationOf(store, exchangeOf(store, id)?.base ?? null);
        if (base !== undefined) base.standing = "superseded";
      },
    }),
  },
];
