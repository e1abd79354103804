/**
 * The texts of the topics. An empty line ends a paragraph; a line that begins with a dash is a term and, behind the colon, what it
 * means; `{…}` stands for a list that topics.ts fills in.
 */
export const texts = {
  environment: `
A flag wins over the environment, the environment over the profile, the profile over the default. Flags stand before or
behind the command. Defaults are in parentheses.

{settings}

Durations are written like 500ms, 30s, 2m, 1h. A secret is given as @FILE, - (standard input) or env:NAME; one that stands
on the command line itself draws a warning, because other users can see it. In an environment variable it is @FILE or the value.

Also respected: NO_COLOR and FORCE_COLOR (vault help output), CI (no questions are asked), XDG_STATE_HOME and
XDG_CONFIG_HOME (where state and configuration live by default).`,

  "exit-codes": `
The exit code says whether anything was spent, whether the pair is safe, and in brackets whether the same command may be
run again: at once (safe), after mending what the message names (after-fix), after looking at vault status (after-status), or
never. With --json the last line of stderr holds the same as JSON; where its "retry" differs, it knows better.

{exit codes}`,

  output: `
stdout is data, stderr is talk: progress, questions, warnings, hints and errors. Without a terminal a command that succeeds
leaves stderr empty, unless a warning is due.

{flags}

With --json, stdout holds exactly one JSON document, or nothing where there is nothing to deliver; a failure is one line of
JSON, the last on stderr. A get prints its document before the acknowledgement: the exit code says whether it was acknowledged.

--field prints the exact bytes of one value, with a final newline only on a terminal. In tables, numbers show their last four
digits and credentials a fingerprint, unless --reveal is given. JSON is never masked.

Colour is used on a terminal only, never with NO_COLOR, TERM=dumb or --no-color; FORCE_COLOR and --color force it.

Nothing is asked when stdin or stderr is not a terminal, with --no-input, or with CI set: a missing value is an error then
that names the flag, the variable and the key that could supply it.`,

  lockout: `
The service locks a vault after {failed} failed attempts in a row, or {unacked} starts that nobody acknowledged, and only an
administrator unlocks it. This program counts both before it sends, and refuses the request that would lock the vault (exit 8).

- a start is sent: +1 unacknowledged start
- no whole answer: it stays, and counts as a possibly failed attempt too
- credentials refused: +1 failed attempt
- nothing was sent: the count is taken back; the same for 429 and for errors about the application or a value
- a start succeeds: failed attempts are zero again
- acknowledged: unacknowledged starts are zero again

After a start without an answer nothing more is started, for any vault of that service, until the service answers a probe: an outage
costs a vault one start at most.

Superseded credentials are sent only by --generation N --force, and a combination of credentials, device and kind that was refused
before only with --force, or after it was imported once more. Where several credentials may be the valid ones (imported, in doubt, current) a read tries two at most, and
none where only one failed attempt is left before the last: it lists them, and --generation N sends the one that you choose.

The guard knows this state alone. Machines with a state of their own that use the same vault count apart, replace each other's
credentials, and can lock the vault together: let them use one state, or give each vault to one machine.

- vault guard: shows the counters and what the guard would refuse
- vault status: marks the vaults that are close to a lock; --fail-on at-risk is for monitors
- vault get --dry-run: says what a read would count, and sends nothing
- vault guard --reset: zeroes the counters, after an administrator has unlocked the vault
- vault guard --reset --unanswered: clears what only possibly failed, where the audit log shows no failed attempt

Where the service has other limits, say so: --lock-after-failed, --lock-after-unacked, or policy.failed and policy.unacked in
the profile. --force lets one request through.`,

  recovery: `
Every step of an exchange is on disk before the next one is taken. Whatever dies, at any moment, the state holds a pair that
the service accepts. Look first: vault status shows the state of each vault. Then:

- started: nobody has acknowledged, the old pair is valid. vault ack finishes the exchange (a limited vault needs --unread:
  nobody knows that its contents were delivered); vault get starts again with the old pair, but finishes an update first
- held: by --no-ack, or because the contents or --save-cmd failed. vault ack finishes it (after a failed --save-cmd with
  --save-cmd again, or --saved); vault get --discard-pending starts again with the old pair
- ending: an acknowledgement may have been sent. vault ack sends it again until it is answered
- in-doubt: it went unanswered and its token is dead. Both pairs are kept, and the next vault get finds out which one is valid
- expired: the token died before the acknowledgement, the old pair is valid. Run vault get again
- rejected: the service refused the credentials. If they have worked before, another machine or program has probably used the vault
  since: vault import takes the right ones, whatever is open

A machine without a lasting disk: --credentials-out FILE and --save-cmd COMMAND receive, before the acknowledgement, a recovery
document with both pairs and the token. vault import and --credentials take it, and acknowledge its exchange. Where FILE is what
--credentials reads as well, it is the state: one run at a time has it (an empty lock file, .FILE.vault-lock, stays beside it), it is
replaced only while it holds what the run found there, and the counts toward lockout are in it. The command of --save-cmd gets
VAULTSVC_GIVEN_SHA256, the hash of what --credentials has read: a database replaces its row only where the row has that hash.

Nothing that this state has proven is replaced by a document or an import: they are candidates, tried first, and the former ones stay
until one of them works. vault export --generation N prints every kept generation; vault status --history lists them.

A lost state comes back with vault backup FILE --restore; vault doctor says what else is not in order.

The exit codes that ask for something: 11 (pending), 12 (in-doubt), 130 (interrupted). vault help exit-codes lists all.`,

  security: `
Credentials and tokens are sealed in the state with AES-256-GCM, each bound to its vault and generation; so are the application
keys of profiles. The key is in a file of mode 0600 in the configuration directory, made on first use, and never made anew where
sealed values exist; or it comes from a passphrase, the keyring of the operating system, or --state-key. vault config rekey changes
it. Without the key nothing in the state can be opened: back it up, apart from the state.

Not sealed are uuids, kinds, labels, dates, counters, references, devices, messages of the service, and fingerprints of pairs.

Contents of vaults are never written to disk, except where you send them. Every secret of a run is replaced in all that goes to
stderr, --debug included.

Give secrets as @FILE, - (standard input) or env:NAME. One that stands on the command line is visible to other users of the
machine, and draws a warning. The command of --save-cmd gets none of this program's secrets in its environment.

http: is allowed to this machine only, unless --insecure-http is given. A state directory that others can write to, or that lies on a network file system, is refused.

Sealing protects a copy of the state without its key. It does not protect against someone who works as you on this machine.

Completion shows uuids, labels, and names of profiles and variables; never a value of one, never a secret.`,
} as const;
