# A gateway loses starts while it answers probes

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault get "$NOTE" --kind generic/offline --credentials @note-pair.json --field vault.content
| The treasure is under the third palm tree
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --field vault.creditCard.name
| Grace Hopper

# A start is lost, and so is the one trial that the answered probe lets out
$ vault sandbox fault --ready-file sandbox.json 'get-start:drop-before*all'
$ . ./settings; vault get "$NOTE" --field vault.content
| 2 of 5 unacknowledged starts, 0 of 3 failed attempts
| the next trial start is due at
| next: vault status
exit 10

# From then on nothing goes out, for no vault, however often somebody tries
$ . ./settings; for vault in "$NOTE" "$CARD" "$NOTE"; do vault get "$vault" --max-wait 0s; done
| not sent: the service did not respond to a start
| not sent: the service did not respond to a start
| not sent: the service did not respond to a start
| hint: run it again then
| next: vault guard … --reset --unanswered (if the audit log shows none of the unanswered starts: then at once)
exit 10
$ . ./settings; vault guard
| 0 of 5…0 of 3…nothing
| 2 of 5…0 of 3…nothing
| circuit breaker open: no response to a start at …Z;

# The gateway is repaired; the audit log shows none of the starts. Waiting would do, or a person says so
$ vault sandbox fault --ready-file sandbox.json --clear
$ . ./settings; vault guard --all --reset --unanswered
| hint: use --yes to confirm
exit 2
$ . ./settings; vault guard --all --reset --unanswered --yes
| 0 of 5…0 of 3…nothing
| 0 of 5…0 of 3…nothing
$ . ./settings; vault get "$NOTE" --field vault.content && vault get "$CARD" --field vault.creditCard.name
| The treasure is under the third palm tree…Grace Hopper
$ . ./settings; vault guard
| 0 of 5…0 of 3…nothing
| 0 of 5…0 of 3…nothing
