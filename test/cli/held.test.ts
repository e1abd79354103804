import { describe, expect, it } from "vitest";
import { expectError, expectInStep, note, offlineNote, warmLab } from "../support/lab.ts";
import { documentOf, errorOf } from "../support/machine.ts";

describe.concurrent("an exchange that is held by --no-ack", () => {
  it("is delivered, stops the next get with both ways out, and is acknowledged once, however often that is asked", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    const held = await machine.ok("get", uuid, "--no-ack", "--json");
    expect(held.stderr).toBe("");
    expect(documentOf(held).vault.content).toBe(note);
    expect(await machine.status(uuid)).toMatchObject({
      status: "held",
      exchange: { holdReason: "no-ack", delivered: true },
    });

    const next = await machine.vault("get", uuid, "--json");
    expectError(next, "pending");
    expect(next.stdout).toBe("");
    expect(errorOf(next)).toMatchObject({
      exchange: { state: "held", id: documentOf(held).exchange.id },
      help: expect.stringMatching(/vault ack .*--discard-pending/) as string,
    });
    expect(lab.service.sandbox.requests()).toHaveLength(3);

    for (const isFirst of [true, false]) {
      const ack = await machine.ok("ack", uuid, "--json");
      expect(JSON.parse(ack.stdout)).toMatchObject({
        acknowledged: [
          {
            uuid,
            operation: "get",
            ...(isFirst ? {} : { earlier: true }),
            exchange: { id: documentOf(held).exchange.id, state: "acknowledged" },
          },
        ],
        failed: [],
      });
    }
    expect((await machine.vault("ack", uuid)).stdout).toMatch(
      /nothing is pending; the last get was acknowledged at 20\S+Z \(generation 3\)\n$/,
    );
    expect(lab.service.sandbox.inspect(uuid).counts).toMatchObject({ ends: 2, acknowledged: 2 });
    await expectInStep(lab, machine, uuid);
  });

  it("is not forgotten without --discard-pending; export gives the recovery document, which another machine can finish", async () => {
    const { lab, machine, uuid, kind } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    expectError(await machine.vault("forget", uuid, "--yes", "--json"), "pending", /lose/);
    const exported = await machine.exported(uuid);
    expect(exported).toMatchObject({ format: 2, status: "pending", uuid, kind });
    const other = lab.machine();
    const document = `@${other.file("recovery.json", exported)}`;
    const done = await other.ok("get", uuid, "--credentials", document, "--json");
    expect(documentOf(done).settled).toMatchObject([{ outcome: "acknowledged", operation: "get" }]);
    await expectInStep(lab, other, uuid);
    await machine.ok("forget", uuid, "--yes", "--discard-pending");
  });
});
