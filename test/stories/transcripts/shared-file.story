# A file on a volume is all the state that there is

# the settings of the service; each run has a state of its own, which is thrown away
$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s VAULTSVC_STATE=$(mktemp -d)\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ cp note-pair.json shared.json; echo "vault get $NOTE --kind generic/offline --credentials @shared.json --credentials-out shared.json --field vault.content --max-wait 20s" > read

# the file holds the new credentials, and says whose they are
$ . ./settings; sh read
| The treasure is under the third palm tree…
$ cat shared.json
| {"format":2,"uuid":"5a4b3c2d-…","label":null,"kind":"generic/offline","credentials":{"encryptedData":"…

# of two runs at once the second one waits, and begins with what the first one leaves
$ vault sandbox fault get-start:delay=1s --ready-file sandbox.json
$ (. ./settings; sh read > first; echo $? > code) & . ./settings; sh read > second && wait $! && grep -h . first second code
| The treasure is under the third palm tree…
| The treasure is under the third palm tree…
| 0

# where start after start goes unanswered, the counts are in the file, and so is the circuit breaker
$ vault sandbox fault 'get-start:drop-before*all' --ready-file sandbox.json
$ . ./settings; sh read
| 2 of 5 unacknowledged starts, 0 of 3 failed attempts
| next: vault guard … --credentials shared.json (then run it again)
exit 10
$ cat shared.json
| …"attempts":{"unackedStarts":2,…"failedAttempts":0,"possiblyFailed":0,"refused":[],"sole":true,"breaker":{"lostAt":…
$ . ./settings; sh read
| …not sent: the service did not respond to a start; the next trial start is due at
| …at once after vault guard … --reset --unanswered --credentials shared.json
exit 10

# past the breaker, the guard stops before the start that could lock, whatever insists
$ . ./settings; sh -c "$(cat read) --force"; sh -c "$(cat read) --force"
| 4 of 5 unacknowledged starts, 0 of 3 failed attempts
exit 10
$ . ./settings; sh read
| …not sent: it could lock vault…
| next: vault guard … --reset --unanswered --credentials shared.json
exit 8

# once it is known that the service has none of them, the command that it names lets the next one out
$ vault sandbox fault --clear --ready-file sandbox.json
$ . ./settings; sh read 2>&1 | sed -n 's/^ *next: //p' | sed 's/ (.*//' > command; cat command; . ./command
| --reset --unanswered --credentials shared.json
| 0 of 5
$ . ./settings; sh read
| The treasure is under the third palm tree…

# another vault's run does not write over it
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --credentials-out shared.json
| …shared.json holds credentials of vault 5a4b3c2d-…; nothing was sent
exit 3
