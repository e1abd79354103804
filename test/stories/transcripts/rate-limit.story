# More requests than the service takes

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault get "$NOTE" --kind generic/offline --credentials @note-pair.json --field vault.content
| The treasure is under the third palm tree

# The service says when to come again; the program waits as long as it is told to
$ vault sandbox fault --ready-file sandbox.json start:status=429,retry-after=1
| 1 fault set.
$ . ./settings; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree

# No longer than --max-wait: nothing was counted, so it may be run again
$ vault sandbox fault --ready-file sandbox.json start:status=429,retry-after=60
| 1 fault set.
$ . ./settings; vault get "$NOTE" --max-wait 1s
| still rate limited by the service (service: "… HTTP 429, error …
| lower --rate, or raise --max-wait by 60s, then run it again
exit 9
$ . ./settings; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
