import type { EventKind } from "./events.ts";
import type { Item, Role } from "./item.ts";
import type { OwnExchange, ReenactmentReport, ReplaySummary, VaultReport, VaultState, WhatIfReport } from "./report.ts";
import type { Rules } from "./rules.ts";
import type { WhatIf } from "./what-if.ts";

// A stand-in, to compile against.

export interface ReplayOptions {
  inputs: readonly { name: string; path?: string; stream?: AsyncIterable<Uint8Array> }[];
  journal?: Iterable<Item> | undefined;
  rules: Rules;
  map: Partial<Record<Role, string>>;
  vault?: string;
  since?: number;
  until?: number;
  timeline: "none" | "vault" | "problems";
  whatIf?: WhatIf;
  reenact?:
    | {
        add(step: { uuid: string; time: number; event: EventKind; line: number; kindHint?: string }): void;
        finish(asOf: number, replayed: Iterable<{ uuid: string; state: VaultState }>): ReenactmentReport;
      }
    | undefined;
  own?: (externalRef: string, near?: { vault?: string; at?: number }) => OwnExchange | undefined;
  progress?: (bytesRead: number, totalBytes: number | null, items: number) => void;
  signal: AbortSignal;
}

export interface Replay {
  summary: ReplaySummary;
  vaults(filter: { problems: boolean }): Iterable<VaultReport>;
  whatIf?: WhatIfReport;
  reenactment?: ReenactmentReport;
}

export async function replay({ rules, journal, whatIf, reenact }: ReplayOptions): Promise<Replay> {
  const summary: ReplaySummary = {
    items: [...(journal ?? [])].length,
    asOf: null,
    inputs: [],
    rules,
    columns: {},
    vaults: 0,
    verdicts: { locked: 0, "at-risk": 0, "open-exchange": 0, deleted: 0, ok: 0 },
    skippedLines: 0,
    skipped: [],
    otherActions: [],
    applicationItems: 0,
    withoutVault: 0,
    duplicates: 0,
    reordered: 0,
    late: 0,
    notes: [],
  };
  return await Promise.resolve({
    summary,
    vaults: () => [],
    ...(whatIf === undefined ? {} : { whatIf: { change: whatIf.text, vaults: [], unchanged: 0 } }),
    ...(reenact === undefined ? {} : { reenactment: reenact.finish(0, []) }),
  });
}
