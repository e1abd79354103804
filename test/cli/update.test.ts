import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  card,
  expectError,
  expectExit,
  expectInStep,
  expectNothingLost,
  offlineCard,
  offlineNote,
  onlineCard,
  openLab,
  warmLab,
} from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import type { KnownVault } from "../../src/sandbox/model.ts";
import { documentOf, errorOf, type GetDocument, type Machine } from "../support/machine.ts";
import { vaultInPty } from "../support/pty.ts";
import { Secrets } from "../support/secret-search.ts";

const newCard = { ...card, number: "5555555555554444", name: "Grace Hopper" };

async function update(machine: Machine, uuid: string, ...args: string[]) {
  const env = { CARD: JSON.stringify(newCard) };
  return await machine.vaultWith({ env }, "update", uuid, "--card", "env:CARD", ...args);
}

async function storedCard(lab: Lab, machine: Machine): Promise<object | undefined> {
  const read = await machine.ok("get", lab.vault.uuid, "--json");
  return documentOf(read).vault.creditCard;
}

describe.concurrent("update", () => {
  it("prints its document after the acknowledgement, without the card, and replaces it", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    const done = await update(machine, uuid, "--json");
    expectExit(done, 0);
    expect(done.stderr).toBe("");
    const document = JSON.parse(done.stdout) as GetDocument & {
      exchange: { state: string; acknowledgedAt: string };
    };
    expect(document).toMatchObject({
      vault: { uuid, credentials: {} },
      kind: "credit-card/offline",
      exchange: {
        operation: "update",
        state: "acknowledged",
        generation: 3,
        acknowledgedAt: expect.any(String) as string,
      },
      settled: [],
    });
    expect(done.stdout).not.toContain(newCard.number);
    await expectInStep(lab, machine, uuid);
    expect(await storedCard(lab, machine)).toEqual(newCard);
  });

  it("takes standard input as - and as @-, wherever a file can be given", async () => {
    const lab = await openLab([offlineNote, offlineCard, onlineCard]);
    const [noteVault, cardVault, online] = lab.service.vaults as [
      KnownVault,
      KnownVault,
      KnownVault,
    ];
    const machine = lab.machine();
    const run = async (input: unknown, ...args: string[]): Promise<void> => {
      const text = typeof input === "string" ? input : JSON.stringify(input);
      await machine.okWith({ input: text }, ...args, "--json");
    };
    const known = ({ kind }: KnownVault): string[] => ["--kind", kind, "--credentials", "@-"];
    await run(noteVault.credentials, "get", noteVault.uuid, ...known(noteVault));
    await run("one\n", "update", noteVault.uuid, "--content", "@-");
    expect(lab.service.sandbox.inspect(noteVault.uuid)).toMatchObject({ content: "one\n" });
    await run("two\n", "update", noteVault.uuid, "--content", "-");
    expect(lab.service.sandbox.inspect(noteVault.uuid)).toMatchObject({ content: "two\n" });
    await run(cardVault.credentials, "import", cardVault.uuid, ...known(cardVault));
    await run(newCard, "update", cardVault.uuid, "--card", "@-");
    expect(lab.service.sandbox.inspect(cardVault.uuid)).toMatchObject({ creditCard: newCard });
    const pair = machine.given(online.credentials, online.kind);
    await run(online.device, "get", online.uuid, ...pair, "--device", "@-");
    const both = ["update", noteVault.uuid, "--content", "@-", "--api-key", "@-", "--json"];
    const twice = await machine.vaultWith({ input: "x" }, ...both);
    expectError(twice, "usage", /standard input was already read for/);
  });

  it("shows the card in the receipt only with --reveal", async () => {
    const { machine, uuid } = await warmLab(offlineCard);
    const masked = await update(machine, uuid);
    expectExit(masked, 0);
    expect(masked.stdout).toMatch(/Number\t•••• •••• •••• 4444/);
    expect(masked.stdout).toMatch(/Update\tacknowledged/);
    expect(masked.stdout, "that of the start is of the update before").not.toContain("modified");
    expect((await update(machine, uuid, "--reveal")).stdout).toContain("5555 5555 5555 4444");
  });

  it("never writes the new card to disk, nor to stderr", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    const secrets = new Secrets();
    secrets.add("card number", newCard.number);
    const said: string[] = [];
    const faults = [
      "start:drop-after",
      "start:status=400",
      "end:drop-before*all",
      "update-start:hang",
    ];
    const talk = ["--debug", "--verbose", "--max-wait", "0s", "--timeout", "200ms"];
    for (const fault of ["", ...faults]) {
      if (fault !== "") lab.faults(fault);
      const run = await update(machine, uuid, ...talk, "--discard-pending");
      said.push(run.stderr);
      lab.service.faults.clear();
    }
    expect(said.join("")).toContain("newVault");
    expect(secrets.in(said.join(""))).toEqual([]);
    expect(secrets.inFolder(machine.home)).toEqual([]);
  });

  it("an online vault, a generic vault and a missing card are refused before anything is sent", async () => {
    const { lab, machine } = await warmLab(offlineCard);
    const sent = lab.service.sandbox.requests().length;
    const { uuid } = lab.vault;
    expectError(await machine.vault("update", uuid, "--json"), "usage", /the card is missing/);
    const online = ["--kind", "credit-card/online", "--credentials", "env:CARD", "--json"];
    expectError(await update(machine, uuid.replace(/^./, "a"), ...online), "invalid-input");
    const content = await machine.vault("update", uuid, "--content", "-", "--json");
    expectError(content, "usage", /holds a card/);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
  });

  it("--dry-run shows what would be sent, its contents masked", async () => {
    const { machine, uuid } = await warmLab(offlineCard);
    const shown = await update(machine, uuid, "--dry-run", "--json");
    expectExit(shown, 0);
    expect(JSON.parse(shown.stdout)).toMatchObject({
      operation: "update",
      request: { body: { newVault: { creditCard: "«secret»" } } },
    });
    expect(shown.stdout).not.toContain(newCard.number);
  });

  it("--no-ack holds it: the old card stays until vault ack", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    const held = await update(machine, uuid, "--no-ack", "--json");
    expectExit(held, 0);
    expect(JSON.parse(held.stdout)).toMatchObject({
      exchange: { state: "held", acknowledgedAt: null },
    });
    await expectNothingLost(lab, machine);
    expectError(await update(machine, uuid, "--json"), "pending", /held/);
    await machine.ok("ack", uuid);
    expect(await storedCard(lab, machine)).toEqual(newCard);
  });
});

describe.concurrent("an update whose acknowledgement is lost", () => {
  it.each([
    ["arrived", "end:drop-after", "applied", newCard],
    ["did not arrive, and its token is dead", "end:drop-before", "not-applied", card],
  ])("%s: the next get says whether it took effect", async (_, fault, outcome, current) => {
    const { lab, machine, uuid } = await warmLab(offlineCard, { policy: { tokenTtlMs: 60_000 } });
    lab.faults(fault);
    const lost = await update(machine, uuid, "--max-wait", "0s", "--json");
    expectError(lost, "pending");
    expect(errorOf(lost)).toMatchObject({ exchange: { operation: "update", state: "ending" } });
    lab.clock.ahead += 61_000;
    const next = await machine.ok("get", uuid, "--json");
    expect(documentOf(next)).toMatchObject({
      settled: [{ operation: "update", outcome }],
      vault: { creditCard: current },
    });
    await expectInStep(lab, machine, uuid);
  });
});

describe.concurrent("update by way of a live profile", () => {
  it("needs --yes where nobody can be asked, and says whose it is on a terminal", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    writeFileSync(
      join(machine.configDir, "config.json"),
      JSON.stringify({ profiles: { default: { live: true } } }),
      { mode: 0o600 },
    );
    const sent = lab.service.sandbox.requests().length;
    const refused = await update(machine, uuid, "--json");
    expectError(refused, "usage", /^confirmation required: Production profile default /);
    expect(lab.service.sandbox.requests()).toHaveLength(sent);
    const file = `@${machine.file("card.json", newCard)}`;
    const run = vaultInPty(["update", uuid, "--card", file], {
      cwd: machine.home,
      env: machine.env,
      columns: 120,
    });
    await run.waitFor(/Production profile default \(http.*Send these new contents/);
    run.type("y\r");
    const { code, text } = await run.exit;
    expect(code, text).toBe(0);
    expectExit(await update(machine, uuid, "--yes"), 0);
  });
});

describe.concurrent("update of a generic vault", () => {
  it("is refused for a card", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const refused = await update(machine, uuid, "--json");
    expect([2, 3]).toContain(refused.code);
    expect(lab.service.sandbox.requests()).toHaveLength(2);
  });
});
