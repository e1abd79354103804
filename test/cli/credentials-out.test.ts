import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import {
  expectError,
  expectInStep,
  firstGetArgs,
  offlineCard,
  offlineNote,
  onlineCard,
  warmLab,
  coldLab,
} from "../support/lab.ts";
import { documentOf, readJson, type Recovery } from "../support/machine.ts";

const anyText = expect.any(String) as string;

describe.concurrent("--credentials-out", () => {
  it("replaces the file of --credentials as an editor has left it", async () => {
    const { machine, uuid, kind, credentials } = await coldLab(offlineNote);
    const document = { uuid, kind, credentials };
    const file = machine.file("pair.json", `\uFEFF${JSON.stringify(document, null, 2)}\r\n\r\n`);
    const both = ["--credentials", `@${file}`, "--credentials-out", file];
    await machine.ok("get", uuid, ...both, "--json");
    expect(readJson(file)).toMatchObject({ format: 2, uuid });
    writeFileSync(file, `\uFEFF${JSON.stringify(readJson(file), null, 2)}\r\n`);
    await machine.ok("get", uuid, "--credentials-out", file, "--json");
    expect(readJson(file)).toMatchObject({ format: 2, uuid });
  });

  it("holds the recovery document before the acknowledgement and the pair alone after it, mode 0600 throughout", async () => {
    const { lab, machine, uuid } = await warmLab(offlineCard);
    const file = join(machine.home, "pair.json");
    writeFileSync(file, "", { mode: 0o644 });
    lab.faults("get-end:drop-before*all");
    expectError(
      await machine.vault("get", uuid, "--json", "--credentials-out", file, "--max-wait", "100ms"),
      "pending",
    );
    const recovery = readJson(file) as Recovery;
    expect(recovery).toMatchObject({
      format: 2,
      uuid,
      kind: "credit-card/offline",
      status: "pending",
    });
    const { id } = (await machine.status(uuid)).exchange ?? {};
    const exchange = {
      id,
      operation: "get",
      externalRef: `vault-${id}`,
      startedAt: anyText,
      tokenExpiry: anyText,
      generation: 3,
    };
    expect(recovery.exchange).toEqual(exchange);
    expect(recovery.old).toEqual(lab.service.sandbox.inspect(uuid).pair);
    expect(recovery).toMatchObject(
      lab.service.sandbox.inspect(uuid).pending?.offered === undefined ? {} : { new: recovery.new },
    );
    expect(statSync(file).mode & 0o777).toBe(0o600);
    lab.service.faults.clear();
    await machine.ok("get", uuid, "--json", "--credentials-out", file);
    expect(readJson(file)).toEqual({
      format: 2,
      uuid,
      label: null,
      kind: "credit-card/offline",
      credentials: lab.service.sandbox.inspect(uuid).pair,
    });
    expect(statSync(file).mode & 0o777).toBe(0o600);
    await expectInStep(lab, machine, uuid);
  });

  it("of an online vault brings pin and device along: a new machine goes on with the file alone", async () => {
    const { lab, machine, vault } = await coldLab(onlineCard);
    const pin = `@${machine.file("pin", vault.credentials.hashedPin)}`;
    lab.faults("get-end:drop-after*all");
    const file = join(machine.home, "out.json");
    const get = [
      ...firstGetArgs(machine, vault),
      "--hashed-pin",
      pin,
      "--credentials-out",
      file,
      "--max-wait",
      "100ms",
      "--json",
    ];
    expectError(await machine.vault(...get), "pending");
    lab.service.faults.clear();
    const other = lab.machine();
    const next = await other.ok("get", vault.uuid, "--credentials", `@${file}`, "--json");
    expect(documentOf(next).settled).toMatchObject([{ outcome: "acknowledged" }]);
    await expectInStep(lab, other, vault.uuid);
  });

  it("that cannot be written is refused before anything is sent", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    mkdirSync(join(machine.home, "folder"));
    for (const path of ["folder", "no/such/folder/pair.json", "/dev/full"]) {
      expectError(
        await machine.vault("get", uuid, "--json", "--credentials-out", path),
        "invalid-input",
        /--credentials-out/,
      );
    }
    expect(lab.service.sandbox.requests()).toHaveLength(2);
  });
});

describe.concurrent("a recovery document", () => {
  it("of another vault is refused", async () => {
    const { lab, machine, uuid } = await warmLab([offlineNote, offlineNote]);
    await machine.ok("get", uuid, "--no-ack");
    const document = `@${machine.file("recovery.json", await machine.exported(uuid))}`;
    const other = lab.service.vaults[1]?.uuid ?? "";
    const refused = await lab.machine().vault("get", other, "--credentials", document, "--json");
    expectError(refused, "invalid-input", new RegExp(uuid));
    expect(lab.service.sandbox.requests()).toHaveLength(3);
  });

  it("is settled by import", async () => {
    const { lab, machine, uuid } = await warmLab(offlineNote);
    await machine.ok("get", uuid, "--no-ack");
    const other = lab.machine();
    const document = `@${other.file("recovery.json", await machine.exported(uuid))}`;
    await other.ok("import", uuid, "--credentials", document, "--json");
    await expectInStep(lab, other, uuid);
  });
});
