import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { expectInStep, firstGetArgs, offlineCard, warmLab, coldLab } from "../support/lab.ts";
import type { Lab } from "../support/lab.ts";
import type { Machine } from "../support/machine.ts";
import { quote, startInPty, type RunningInPty } from "../support/pty.ts";
import { signalCounter, vaultCommand } from "../support/run-vault.ts";

interface Case {
  lab: Lab;
  machine: Machine;
  uuid: string;
  /** `vault run` of a script, as a command line of a shell. */
  line: string;
  /** A shell that is interactive, with its first prompt. */
  shell(): Promise<RunningInPty>;
}

async function prepare(script: string, ...more: string[]): Promise<Case> {
  const { lab, machine, uuid } = await warmLab(offlineCard);
  writeFileSync(join(machine.home, "script"), script);
  const args = [
    "run",
    uuid,
    "--env",
    "CARD=vault.creditCard.number",
    ...more,
    "--",
    "sh",
    "script",
  ];
  const line = [...vaultCommand, ...args].map(quote).join(" ");
  const shell = async (): Promise<RunningInPty> => {
    const env = { ...machine.env, PS1: "READY> ", HISTFILE: "" };
    const pty = startInPty(["bash", "--noprofile", "--norc", "-i"], { env, cwd: machine.home });
    await pty.waitFor(/READY> /);
    return pty;
  };
  return { lab, machine, uuid, line, shell };
}

describe.concurrent("vault run on a terminal", () => {
  it("leaves the terminal to the program, and shows nothing of its own", async () => {
    // Rows and columns would be two changes, and two signals.
    const script = `
      test -t 0 && test -t 1 && test -t 2 && stty size
      printf 'Name: '; read -r name; echo "Hello $name, $CARD"
      trap 'stty size; exit 0' WINCH
      (sleep 0.1; stty rows 30 </dev/tty) & while :; do sleep 0.05; done`;
    const { lab, machine, uuid, line } = await prepare(script);
    const pty = startInPty(["sh", "-c", `exec ${line}`], { env: machine.env, cwd: machine.home });
    await pty.waitFor(/Name: /);
    pty.type("Ada\r");
    const { code, text } = await pty.exit;
    // A machine under load may take longer than two seconds, which is said.
    const own = text.replaceAll(/^Waiting for .*\n/gm, "");
    expect(own).toBe("24 80\nName: Ada\nHello Ada, 4111111111111111\n30 80\n");
    expect(code).toBe(0);
    await expectInStep(lab, machine, uuid);
  });

  it.each([
    { keys: "Ctrl-C", key: "\x03", signal: "INT", before: "" },
    { keys: "Ctrl-\\", key: "\x1C", signal: "QUIT", before: "" },
    // Its standard input is no terminal then, and the terminal still reaches it.
    { keys: "Ctrl-C, behind a pipe", key: "\x03", signal: "INT", before: "echo in | " },
  ])("$keys reaches the program once, and it decides", async ({ key, signal, before }) => {
    const { lab, machine, uuid, line, shell } = await prepare(
      `exec ${quote(process.execPath)} ${quote(signalCounter)} SIG${signal}`,
    );
    const pty = await shell();
    pty.type(`(trap : ${signal}; ${before}${line}; echo "co""de $?")\r`);
    await pty.waitFor(/waiting/);
    pty.type(key);
    await pty.waitFor(/came 1 times\ncode 0/);
    pty.type("exit\r");
    await pty.exit;
    await expectInStep(lab, machine, uuid);
  });

  it.each([
    ["SIGINT", "vault alone", 1],
    ["SIGQUIT", "vault alone", 1],
    ["SIGTERM", "its process group", -1],
  ] as const)("%s that is sent to %s reaches the program once", async (signal, _, sign) => {
    const { lab, machine, uuid, line } = await prepare(
      `exec ${quote(process.execPath)} ${quote(signalCounter)} ${signal}`,
    );
    const pty = startInPty(["sh", "-c", `exec ${line}`], { env: machine.env, cwd: machine.home });
    const [, pid] = await pty.waitFor(/waiting in (\d+)/);
    process.kill(sign * Number(pid), signal);
    expect(await pty.exit).toMatchObject({
      code: 0,
      text: expect.stringMatching(/came 1 times\n$/) as string,
    });
    await expectInStep(lab, machine, uuid);
  });

  it("the hangup of a terminal whose session vault leads reaches the program", async ({
    expect,
  }) => {
    const { lab, machine, uuid, line } = await prepare(
      `trap 'echo hup >>came' HUP; echo "wai""ting"; until test -e came; do sleep 0.05; done; sleep 0.3`,
    );
    const pty = startInPty(["sh", "-c", `exec ${line}`], { env: machine.env, cwd: machine.home });
    await pty.waitFor(/waiting/);
    pty.hangUp();
    const acknowledged = (): unknown => lab.service.sandbox.inspect(uuid).unackedStarts;
    await expect.poll(acknowledged, { timeout: 10_000 }).toBe(0);
    expect(readFileSync(join(machine.home, "came"), "utf8")).toBe("hup\n");
    await expectInStep(lab, machine, uuid);
  });

  it("Ctrl-C that ends the program holds the exchange, and the message names the signal", async () => {
    const { machine, uuid, line } = await prepare('echo "wai""ting"; exec sleep 60');
    const pty = startInPty(["sh", "-c", `exec ${line}`], { env: machine.env, cwd: machine.home });
    await pty.waitFor(/waiting/);
    pty.type("\x03");
    const { code, text } = await pty.exit;
    expect(text).toMatch(/sh was ended by SIGINT; the new credentials are stored, but not/);
    expect(code).toBe(11);
    expect(await machine.status(uuid)).toMatchObject({ exchange: { holdReason: "run" } });
  });

  it("Ctrl-Z stops it with the program; fg goes on with both", async () => {
    const { lab, machine, uuid, line, shell } = await prepare(
      'echo "wai""ting"; until test -e go; do sleep 0.05; done; echo "do""ne"',
    );
    const pty = await shell();
    pty.type(`${line}\r`);
    await pty.waitFor(/waiting/);
    pty.type("\x1A");
    await pty.waitFor(/Stopped/);
    pty.type("touch go; fg\r");
    await pty.waitFor(/done\nREADY> /);
    pty.type('echo "co""de $?"\r');
    await pty.waitFor(/code 0/);
    pty.type("exit\r");
    await pty.exit;
    await expectInStep(lab, machine, uuid);
  });

  it("shows nothing while the program runs on, however the acknowledgement fares", async ({
    expect,
  }) => {
    const { lab, machine, uuid, line } = await prepare(
      'echo "wai""ting"; until test -e go; do sleep 0.05; done; echo "do""ne"; exit 5',
      "--ack-after",
      "50ms",
    );
    lab.faults("get-end:status=503*2");
    const pty = startInPty(["sh", "-c", `exec ${line}`], { env: machine.env, cwd: machine.home });
    await pty.waitFor(/waiting/);
    await expect
      .poll(() => lab.service.sandbox.inspect(uuid).unackedStarts, { timeout: 10_000 })
      .toBe(0);
    writeFileSync(join(machine.home, "go"), "");
    expect(await pty.exit).toMatchObject({ code: 5, text: "waiting\ndone\n" });
    await expectInStep(lab, machine, uuid);
  });

  it("asks what it lacks first; the program has the terminal then", async ({ expect }) => {
    const { lab, machine } = await coldLab(offlineCard);
    const [, uuid = "", , , ...credentials] = firstGetArgs(machine, lab.vault);
    const script = 'cat >/dev/null; read -r word </dev/tty; echo "<$word>"';
    const args = ["run", uuid, ...credentials, "--stdin", "--", "sh", "-c", script];
    const pty = startInPty([...vaultCommand, ...args], { env: machine.env, cwd: machine.home });
    await pty.waitFor(/What kind of vault is it\?/);
    pty.type("\x1b[B\r");
    await expect
      .poll(() => lab.service.sandbox.inspect(uuid).unackedStarts, { timeout: 10_000 })
      .toBe(1);
    pty.type("typed\r");
    expect(await pty.exit).toMatchObject({
      code: 0,
      text: expect.stringContaining("<typed>") as string,
    });
    await expectInStep(lab, machine, uuid);
  });
});
