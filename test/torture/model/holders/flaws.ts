import type { Parts } from "../moves.ts";
import { asDesigned } from "../protocol.ts";
import type { Flaw } from "../flaws.ts";
import { decides, writes } from "../flaws.ts";
import type { Store } from "../state.ts";
import { exchangeOf, generationOf } from "../state.ts";
import type { StoreSteps } from "../store.ts";
import { NotTaken } from "../store.ts";

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

const contained = "a container with a file; a repeated end call: SUCCESS";
const wrongFile = "a container with a wrong file; a repeated end call: SUCCESS";
const fileSays = (change: Partial<NonNullable<Parts["fileIsSole"]>>): Parts => ({
  ...asDesigned,
  fileIsSole: { given: false, document: false, acknowledged: true, ...change },
});

/** Mistakes about more than one holder, and where each of them is found. */
export const holderFlaws: Flaw[] = [
  {
    mistake: "the file of a container does not say that its credentials are sole",
    in: contained,
    breaks: /^a container is stopped/,
    parts: fileSays({ acknowledged: false }),
  },
  {
    mistake: "the document of an unfinished exchange makes a container's credentials sole",
    in: contained,
    breaks: /^the vault is locked/,
    parts: fileSays({ document: true }),
  },
  {
    mistake: "credentials that were given to a container are sole before they have worked",
    in: wrongFile,
    breaks: /^the vault is locked/,
    parts: fileSays({ given: true }),
  },
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
        Object.assign(store, { failed: store.failed - 1, possibly: store.possibly - 1 });
        Object.assign(store.exchanges.at(-1) ?? {}, { countedFailed: 0 });
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
