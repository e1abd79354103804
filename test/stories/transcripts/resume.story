# An answer is lost, a process is killed: the next command goes on

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault get "$NOTE" --kind generic/offline --credentials @note-pair.json --field vault.content
| The treasure is under the third palm tree

# The acknowledgement does not arrive
$ vault sandbox fault --ready-file sandbox.json 'end:drop-before*all'
| 1 fault set.
$ . ./settings; vault get "$NOTE" --max-wait 0s --field vault.content
| The treasure is under the third palm tree…the new credentials are stored, but the acknowledgement is outstanding
| next: vault ack
exit 11

# It is listed until it is settled
$ vault status --pending
| acknowledging
$ vault sandbox fault --ready-file sandbox.json --clear
| No faults.
$ . ./settings; vault ack "$NOTE"
| get acknowledged (generation 3)
$ . ./settings; vault ack "$NOTE"
| nothing is pending; the last get was acknowledged at 20

# The acknowledgement arrives, its answer does not: only a start can tell which pair is valid, and the next one does
$ vault sandbox fault --ready-file sandbox.json end:drop-after
| 1 fault set.
$ . ./settings; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
| in doubt
exit 12
$ . ./settings; vault get "$NOTE" --field vault.content
| Finished the interrupted get …
| The treasure is under the third palm tree

# Killed at the worst moment: after the delivery, before the acknowledgement
$ . ./settings; vault get "$NOTE" --field vault.content --save-cmd 'kill -9 $PPID'
| The treasure is under the third palm tree
exit 137
$ vault status "$NOTE"
| started
$ . ./settings; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
$ vault status "$NOTE"
| ready
