# A prefix that leads elsewhere: a 404 says nothing of the vault, which keeps its credentials

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; VAULTSVC_API_PREFIX=/elsewhere vault get "$NOTE" --kind generic/offline --credentials @note-pair.json
| the service has no such endpoint…nothing was counted
| next: vault doctor
exit 13

# nothing was counted, and nothing leads to forgetting it
$ VAULTSVC_API_PREFIX=/elsewhere vault status "$NOTE"
| unverified
$ vault guard "$NOTE"
| 0 of 5…0 of 3…nothing

# at the right address
$ . ./settings; vault get "$NOTE" --field vault.content
| next: vault export
| next: vault import
exit 4
$ . ./settings; vault export "$NOTE" --api-prefix /elsewhere > note.json && vault import "$NOTE" --credentials @note.json && vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
