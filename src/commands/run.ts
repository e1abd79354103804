import { command, vaultArgument } from "../cli/command.ts";
import { asVaultError, VaultError } from "../errors.ts";
import { exchangeFlags, passedFlag } from "../input/flags.ts";
import { runOne } from "../runs/one.ts";
import { parseDuration } from "../duration.ts";
import { anyText, runName } from "../cli/values.ts";

// The program decides about the acknowledgement.
const { "--no-ack": _, ...startFlags } = exchangeFlags;

/**
 * Starts a program with the contents of a vault. Exits with 0 once that has exited with 0 and the vault is acknowledged;
 * with --ack-after, with the program's exit code.
 */
export const run = command({
  description:
    "Read a vault and start a program (no shell) with the named fields in its environment, or the whole document on its standard " +
    "input. The program inherits the standard streams, the terminal and signals. The vault is acknowledged if the program exits with 0; with --ack-after, " +
    "when it has run that long: vault run then exits with the program's exit code. Otherwise the exchange is held: exit 11. " +
    "Without --dry-run, --json affects errors only.",
  arguments: {
    vault: { ...vaultArgument, term: "<vault>" },
    command: {
      term: "<command...>",
      help: "program and arguments, after --",
      parse: anyText,
      values: { from: "programs" },
    },
  },
  options: {
    "--env <name=field...>":
      "set a variable to a field of the document, as --field prints it; repeat it for more",
    "--stdin":
      "pass the whole document on standard input, as get --json prints it, without the credentials",
    "--ack-after <duration>": {
      help: "acknowledge when the program has run that long, such as 10s: for a service",
      parse: parseDuration,
    },
    "--run <name>": {
      help: "name of this delivery: once it is done, it is not done again under this name",
      parse: runName,
    },
    ...passedFlag,
    ...startFlags,
    "--yes": "skip the confirmation of --generation with --force",
  },
  examples: [
    "vault run $VAULT --env CARD=vault.creditCard.number -- sh -c 'echo ${#CARD}'",
    "vault run $VAULT --stdin -- wc -c",
    "vault run $VAULT --env CARD=vault.creditCard.number --ack-after 1s -- sleep 2",
  ],
  async run(app, options) {
    const { io } = app;
    const { vault, env, stdin, command, ackAfter: ackAfterMs, withCredentials, run } = options;
    const { field } = io.output;
    if (field !== undefined && options.dryRun !== true) {
      throw new VaultError("usage", "--field cannot be used: standard output is the program's", {
        hint: `--env NAME=${field} passes it in a variable`,
      });
    }
    const { Program } = await import("../handover/program.ts");
    const program = new Program(io, { command, env, stdin, ackAfterMs, withCredentials, run });
    try {
      await runOne(app, { ...options, vaults: [vault], program }, "get");
    } catch (error) {
      if (program.isRunning) {
        io.narrator.warn(`not acknowledged: ${asVaultError(error).message}`);
        await program.ended;
      }
      throw error;
    }
    return (await program.ended)?.exitCode ?? 0;
  },
});
