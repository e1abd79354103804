import { describe, expect, test } from "vitest";
import { dryRunOfMany } from "../../src/runs/dry-run.ts";
import { checkDocument } from "../support/documents.ts";
import { printingParts, uuid, type PartsOptions } from "../support/fake-host.ts";

const skipped = [
  { uuid: uuid(1), label: "payroll", reason: "held" },
  { uuid: uuid(2), label: null, reason: "guard" },
  { uuid: uuid(3), label: "a\u001Bb", reason: "held" },
] as const;

async function printed(
  options: PartsOptions,
  shown: Parameters<typeof dryRunOfMany>[2] = skipped,
): Promise<string> {
  const { app, written } = printingParts(options);
  const todo = Array.from({ length: 1997 }, (_, n) => ({ noAck: n >= 1990 }));
  await dryRunOfMany(app, todo, shown);
  expect([written.stdout.length, written.stderr]).toEqual([1, ""]);
  return written.stdout.join("");
}

describe("the plan of many vaults", () => {
  test("as JSON, in the form that is asked for", async () => {
    const document = {
      plan: {
        vaults: 1997,
        calls: 3987,
        seconds: 160,
        skipped: skipped.map(({ uuid, reason }) => ({ uuid, reason })),
      },
    };
    for (const name of ["get", "update", "ack"] as const) checkDocument(name, document);
    const line = `${JSON.stringify(document)}\n`;
    expect(await printed({ format: "ndjson" })).toBe(line);
    expect(await printed({ format: "json" })).toBe(`${JSON.stringify(document, null, 2)}\n`);
    expect(await printed({ field: "plan.calls" })).toBe("3987");
  });

  test("at 80 columns", async () => {
    expect(`\n${await printed({ isTTY: true })}`).toMatchInlineSnapshot(`
      "
      Nothing was sent. This would be done:
        Vaults   1,997
        Calls    3,987
        Time     about 2 minutes at 25 calls a second
        Skipped  3

        Vault                                 Label     Skipped
        ────────────────────────────────────  ────────  ───────
        123e4567-e89b-42d3-a456-000000000001  payroll   held
        123e4567-e89b-42d3-a456-000000000002            guard
        123e4567-e89b-42d3-a456-000000000003  a\\u{1b}b  held
      "
    `);
  });

  test("with nothing skipped, and with very many", async () => {
    const none = await printed({ isTTY: true }, []);
    expect(none.trimEnd().split("\n").at(-1)).toBe("  Skipped  0");
    const many = Array.from(
      { length: 100_000 },
      (_, n) => ({ uuid: uuid(n), label: null, reason: "locked" }) as const,
    );
    const lines = (await printed({}, many)).trimEnd().split("\n");
    expect(lines).toHaveLength(4 + many.length);
    expect(lines.slice(2, 5)).toEqual([
      "Time\tabout 2 minutes at 25 calls a second",
      "Skipped\t100,000",
      `${uuid(0)}\t\tlocked`,
    ]);
  });
});
