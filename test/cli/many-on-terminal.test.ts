import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { coldLab, offlineCard, warmLab } from "../support/lab.ts";
import { vaultInPty } from "../support/pty.ts";

it("a person sees a row for each vault, how far it is, and at the end what to do; Ctrl-C ends a run between two vaults", async () => {
  const { lab, machine } = await coldLab(Array.from({ length: 5 }, () => offlineCard));
  const lines = lab.service.vaults.map(({ uuid, kind, credentials }, n) =>
    JSON.stringify({ uuid, kind, credentials, label: `card ${n}` }),
  );
  await machine.ok("import", "--file", machine.file("vaults.ndjson", lines.join("\n")));
  const uuids = lab.service.vaults.map(({ uuid }) => uuid);
  const [locked = ""] = uuids.slice(4);
  lab.service.sandbox.lock(locked);
  const args = ["get", "--all", "--out-dir", "cards", "--run", "may", "--concurrency", "1"];
  const options = { cwd: machine.home, columns: 120 };

  const run = vaultInPty([...args, "--rate", "2"], { ...options, env: machine.env });
  await run.waitFor(/1 of 5 done/);
  run.type("\x03");
  const stopped = await run.exit;
  expect(stopped.code).toBe(130);
  expect(stopped.text).toContain(
    "Finishing the vaults under way; no other is started. Press Ctrl-C again to stop now.\n",
  );
  expect(stopped.text).toMatch(/█+░+ +\d\d % .* 1 of 5 done/);
  expect(stopped.text).toMatch(
    /[123] of 5 vaults read in .*: [234] not started\. Run may\.\nvault: run may was interrupted\n {2}next: /,
  );

  const { code, raw, text } = await vaultInPty(args, {
    ...options,
    env: { ...machine.env, FORCE_COLOR: "1" },
  }).exit;
  expect(code).toBe(16);
  for (const [n, uuid] of uuids.slice(0, 4).entries())
    expect(text).toMatch(new RegExp(`${uuid}  (done|earlier) +card ${n}\n`));
  expect(raw).toContain(`${locked}  \u001B[31mfailed\u001B[39m   card 4: the vault is locked`);
  expect(text.slice(text.indexOf("4 of 5 vaults read in"))).toMatch(
    /: \d of them earlier, 1 failed\. Run may\.\nvault: run may left 1 of 5 vaults undone: 1 failed \(locked\); the same command line would not change that\n(?: {2}next: vault audit-replay.*\n)? {2}next: vault guard/,
  );
  expect(readdirSync(join(machine.home, "cards"))).toHaveLength(4);
});

it("what a command of --exec prints keeps its lines", async () => {
  const { machine, uuid } = await warmLab(offlineCard);
  const said = "word ".repeat(40).trim();
  const line = ["get", uuid, "--exec", `cat > /dev/null; echo ${said}`];
  const { code, text } = await vaultInPty(line, { cwd: machine.home, env: machine.env }).exit;
  expect(text).toContain(`${said}\n`);
  expect(code).toBe(0);
  const long = "cat > /dev/null; yes w | head -n 200000 | tr '\\n' ' '; echo";
  const { stderr } = await machine.ok("get", uuid, "--exec", long);
  expect(stderr.length).toBeGreaterThan(400_000);
});
