# A file on a volume is all that is kept of the credentials

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

# another vault's run does not write over it
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --credentials-out shared.json
| …shared.json holds credentials of vault 5a4b3c2d-…; nothing was sent
exit 3
