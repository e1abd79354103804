import type { Basics } from "../parts/basics.ts";
import { defined } from "../defined.ts";
import type { ExchangeContext } from "../exchange/ports.ts";
import type { Named } from "../exchange/records.ts";
import { previewStart, type Preview } from "../exchange/start/send.ts";
import type { Start } from "../exchange/start/start.ts";
import { findEndpoint, isOnline, type Endpoint } from "../protocol/endpoints.ts";
import { jsonText } from "../terminal/redactor.ts";
import type { DryRunDocument, PlanDocument, SkipReason } from "../documents/exchange.ts";
import type { View } from "../cli/vault-view.ts";
import { grouped } from "../terminal/count.ts";
import { factsTable, listTable, tabbedLines } from "../terminal/tables.ts";
import { durationInWords } from "../terminal/time.ts";

/**
 * --dry-run: prints what would be sent, and what it would count toward lockout; sends and records nothing.
 * @throws what `previewStart` throws
 */
export async function dryRun(
  { io, settings }: Basics,
  context: ExchangeContext,
  start: Start,
): Promise<void> {
  const { session, policy } = context;
  const decision = await previewStart(context, start);
  const { record, kind, chosen } = decision;
  // The decision has checked that there is one.
  const endpoint = findEndpoint(kind, start.operation, "start") as Endpoint;
  const given =
    start.given?.type === "recovery"
      ? "the new credentials of the recovery document"
      : "the given credentials";
  const accepted = record?.generations.find((g) => g.device !== null)?.device ?? undefined;
  // What goes with given credentials that are not recorded yet.
  const beside: Pick<Start, "device" | "hashedPin"> = isOnline(kind)
    ? { hashedPin: start.hashedPin, device: start.device ?? accepted }
    : {};
  const { hashedPin, device } = chosen === null ? beside : { ...chosen, ...chosen.credentials };
  const { failedAttempts = 0 } = record ?? {};
  const unackedStarts = decision.acknowledges === null ? (record?.unackedStarts ?? 0) : 0;
  const document: DryRunDocument = {
    dryRun: true,
    uuid: session.uuid,
    label: record?.label ?? null,
    kind,
    operation: start.operation,
    settlesFirst: settlesFirst(decision, start),
    request: {
      method: endpoint.method,
      url: `${session.service}${endpoint.path(session.uuid)}`,
      body: defined({
        application: { apiKey: "«secret»", uuid: settings.appUuid ?? "«missing»" },
        device,
        newVault: start.newVault && masked(start.newVault),
        externalRef: start.externalRef ?? "vault-«exchange id»",
        vault: {
          credentials: masked({ encryptedData: "", payload: "", ...defined({ hashedPin }) }),
        },
      }),
      generation: chosen?.generation ?? given,
    },
    counts: {
      before: { unackedStarts, failedAttempts },
      atMostAfter: { unackedStarts: unackedStarts + 1, failedAttempts: failedAttempts + 1 },
      limits: policy,
    },
  };
  const { settlesFirst: first, request, counts } = document;
  const { method, url, body, generation } = request;
  const { atMostAfter } = counts;
  const describe = ({ isTTY }: View): string => {
    const rows = [
      ...(first === null ? [] : [["first", first]]),
      ["request", `${method} ${url}`],
      ["body", jsonText(body)],
      ["credentials", typeof generation === "number" ? `generation ${generation}` : generation],
      [
        "counts",
        `+1 unacknowledged start until it is acknowledged: ${atMostAfter.unackedStarts} of ${policy.unackedStarts}`,
      ],
      [
        isTTY ? "" : "counts",
        `+1 failed attempt if it is refused${chosen?.sole === true ? "" : " or gets no response"}: ${atMostAfter.failedAttempts} of ${policy.failedAttempts}`,
      ],
    ];
    if (!isTTY) return tabbedLines(rows);
    // Not wrapped on a terminal, because it is copied.
    const lines = rows.map(([name = "", text = ""]) => `  ${name.padEnd(11)}  ${text}\n`);
    return ["Nothing was sent. This would be sent:\n", ...lines].join("");
  };
  await io.output.print(document, describe);
}

const masked = (secrets: object): Record<string, string> =>
  Object.fromEntries(Object.keys(secrets).map((name) => [name, "«secret»"]));

function settlesFirst({ acknowledges, record }: Preview, { given }: Start): string | null {
  if (given?.type === "recovery")
    return `acknowledge exchange ${given.document.exchange.id} of the recovery document`;
  const open = record?.open ?? null;
  if (open === null) return null;
  const what = `exchange ${open.id} (${open.operation}), which is ${open.state}`;
  if (acknowledges !== null) return `acknowledge ${what}`;
  return `nothing: the start ${open.state === "in-doubt" ? "settles" : "drops"} ${what}`;
}

/** --dry-run: prints what would be done with many vaults. */
export async function dryRunOfMany(
  { io, settings: { rate } }: Basics,
  todo: readonly Pick<Start, "noAck">[],
  skipped: readonly (Named & { reason: SkipReason })[],
): Promise<void> {
  const calls = todo.reduce((sum, { noAck }) => sum + (noAck ? 1 : 2), 0);
  const seconds = rate === 0 ? 0 : Math.ceil(calls / rate);
  const document: PlanDocument = {
    plan: {
      vaults: todo.length,
      calls,
      seconds,
      skipped: skipped.map(({ uuid, reason }) => ({ uuid, reason })),
    },
  };
  await io.output.show(document, (view) => {
    const atRate = rate === 0 ? "without a rate limit" : `at ${grouped(rate)} calls a second`;
    const plan = [
      ["Vaults", grouped(todo.length)],
      ["Calls", grouped(calls)],
      ["Time", `about ${durationInWords(seconds * 1000)} ${atRate}`],
      ["Skipped", grouped(skipped.length)],
    ] as const;
    const rows = skipped.map(({ uuid, label, reason }) => [uuid, label ?? "", reason]);
    const [head, gap] = view.isTTY ? ["Nothing was sent. This would be done:\n", "\n"] : ["", ""];
    const list = listTable(["Vault", "Label", "Skipped"], rows, view);
    return head + factsTable(plan, view) + (rows.length === 0 ? "" : gap + list);
  });
}
