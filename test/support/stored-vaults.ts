import { DatabaseSync } from "node:sqlite";
import type { Sealed } from "../../src/store/document.ts";
import type { CredentialsRow, ExchangeRow, VaultRow } from "../../src/store/steps/rows.ts";

/** What the columns of a vault hold, as JSON. */
export interface StoredDocument {
  uuid: string;
  service: string;
  label: string | null;
  vault: VaultRow;
  credentials: (CredentialsRow & { kept: boolean })[];
  exchanges: ExchangeRow[];
  refusals: [string, string | null][];
  sealed: Required<Sealed>;
}

interface Columns {
  uuid: string;
  service: string;
  label: string | null;
  doc: string;
  sealed: string;
}

const documentIn = ({ uuid, service, label, doc, sealed }: Columns): StoredDocument => ({
  ...(JSON.parse(doc) as Pick<StoredDocument, "vault" | "credentials" | "exchanges" | "refusals">),
  uuid,
  service,
  label,
  sealed: JSON.parse(sealed) as Required<Sealed>,
});

/** The vaults of a state on this machine as they are stored, by uuid. */
export function storedVaults(database: string): StoredDocument[] {
  const db = new DatabaseSync(database, { readOnly: true });
  try {
    const sql = "SELECT uuid, service, label, doc, sealed FROM vaults ORDER BY uuid";
    return (db.prepare(sql).all() as unknown as Columns[]).map(documentIn);
  } finally {
    db.close();
  }
}

/** Edits the vaults of a state where they are stored. */
export function editVaults(database: string, edit: (vault: StoredDocument) => void): void {
  const db = new DatabaseSync(database);
  try {
    const rows = db.prepare("SELECT * FROM vaults").all() as unknown as Columns[];
    const set = db.prepare(
      "UPDATE vaults SET label = ?, service = ?, doc = ?, sealed = ?, version = version + 1 WHERE uuid = ? AND service = ?",
    );
    for (const row of rows) {
      const { doc, sealed, service, label } = edited(row, edit);
      set.run(label, service, doc, sealed, row.uuid, row.service);
    }
  } finally {
    db.close();
  }
}

/** As `editVaults`, in a shared state; `sql` runs a statement in it, with `schema.` for the place of its tables. */
export async function editShared(
  sql: (statement: string) => Promise<object[]>,
  edit: (vault: StoredDocument) => void,
): Promise<void> {
  for (const row of (await sql("SELECT * FROM schema.vaults")) as Columns[]) {
    const { doc, sealed } = edited(row, edit);
    const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;
    await sql(
      `UPDATE schema.vaults SET doc = ${text(doc)}, sealed = ${text(sealed)}, version = version + 1 WHERE uuid = ${text(row.uuid)}`,
    );
  }
}

function edited(row: Columns, edit: (vault: StoredDocument) => void): Columns {
  const document = documentIn(row);
  edit(document);
  const { uuid, service, label, sealed, ...doc } = document;
  const whole = { ...(JSON.parse(row.doc) as object), ...doc };
  return { uuid, service, label, doc: JSON.stringify(whole), sealed: JSON.stringify(sealed) };
}
