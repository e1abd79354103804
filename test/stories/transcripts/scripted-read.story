# A script reads a vault, with --field and with jq
needs jq

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault import "$NOTE" --kind generic/offline --credentials @note-pair.json
| imported as generation 1

# One value, its exact bytes, and nothing on stderr
$ . ./settings; note=$(vault get "$NOTE" --field vault.content) && printf '<%s>\n' "$note"
| <The treasure is under the third palm tree. Höchst geheim ✓>

# The whole document; the exit code says that it was acknowledged
$ . ./settings; vault get "$NOTE" --json > note.json && jq -r '.kind, .vault.content, .exchange.operation, (.settled | length)' note.json
| generic/offline
| The treasure is under the third palm tree. Höchst geheim ✓
| get
| 0

# A failure is one line of JSON on stderr, with the exit code in it
$ . ./settings; vault get 00000000-0000-4000-8000-000000000000 --json 2> error.json; code=$?; jq -r '.error.code, .error.retry' error.json; exit $code
| no-credentials
| after-fix
exit 4
