import type { ExchangeState } from "../../../exchange/states.ts";
import { findExchange, openExchangeOf, vaultOf } from "../../steps/rows.ts";
import { findGeneration } from "../../steps/generations.ts";
import type { CredentialsRow, ExchangeRow, VaultRow, VaultRows } from "../../steps/rows.ts";

export interface Merging {
  /** Milliseconds since the epoch. */
  now: number;
  /** Fingerprints that this state knows as superseded, under any base URL of the vault. */
  superseded: ReadonlySet<string>;
}

/** What both states know of a vault before they are merged. */
export interface Meeting {
  rows: VaultRows;
  theirs: VaultRows;
  vault: VaultRow;
  current: CredentialsRow | undefined;
  /** The open exchange here, and that of the file. */
  open: ExchangeRow | undefined;
  left: ExchangeRow | undefined;
  /** The file's open exchange becomes the open one here. */
  goesOn: boolean;
  /** Only a start can tell which credentials are valid here. */
  isDoubtful: boolean;
  isUsable: (row: CredentialsRow) => boolean;
  /** Exchanges that only the file has. */
  fresh: readonly ExchangeRow[];
}

export function meet(rows: VaultRows, theirs: VaultRows, merging: Merging): Meeting {
  const current = rows.credentials.find(({ standing }) => standing === "current");
  const open = openExchangeOf(rows);
  const left = openExchangeOf(theirs);
  const twin = left && findExchange(rows, left.id);
  const [base, made] = [left?.baseGeneration, left?.newGeneration].map((n) =>
    findGeneration(theirs, n ?? null),
  );
  const { isUsable } = knownAgainst(rows, merging);
  const hasPlace = open === undefined ? base?.fingerprint === current?.fingerprint : open === twin;
  const goesOn =
    left !== undefined &&
    hasPlace &&
    made !== undefined &&
    isUsable(made) &&
    (twin === undefined || isFurther(left, twin));
  const isDoubtful = current === undefined || current.refused || open?.state === "in-doubt";
  const fresh = theirs.exchanges.filter(({ id }) => findExchange(rows, id) === undefined);
  return {
    rows,
    theirs,
    vault: vaultOf(rows),
    current,
    open,
    left,
    goesOn,
    isDoubtful,
    isUsable,
    fresh,
  };
}

interface KnownAgainst {
  isSuperseded: (row: CredentialsRow) => boolean;
  isRefused: (row: CredentialsRow) => boolean;
  /** Neither superseded nor refused here. */
  isUsable: (row: CredentialsRow) => boolean;
}

/** What this state knows against credentials of the file. */
export function knownAgainst({ refusals }: VaultRows, { superseded }: Merging): KnownAgainst {
  const refused = new Set(refusals.values());
  const isSuperseded = ({ fingerprint }: CredentialsRow): boolean => superseded.has(fingerprint);
  const isRefused = ({ fingerprint }: CredentialsRow): boolean => refused.has(fingerprint);
  return {
    isSuperseded,
    isRefused,
    isUsable: (row) => !isSuperseded(row) && !isRefused(row),
  };
}

const ranks: Record<ExchangeState, number> = {
  intent: 0,
  started: 1,
  held: 2,
  ending: 3,
  "in-doubt": 4,
  expired: 5,
  discarded: 5,
  rejected: 5,
  acknowledged: 6,
};

/** Whether the file knows a further outcome of an exchange than this state, which may have taken it up again since. */
export function isFurther(theirs: ExchangeRow, here: ExchangeRow): boolean {
  const isTakenUpAgain =
    (theirs.newGeneration === null && here.newGeneration !== null) ||
    (here.state === "in-doubt" && here.token === null);
  return (
    ranks[theirs.state] > ranks[here.state] && !(isTakenUpAgain && theirs.state !== "acknowledged")
  );
}
