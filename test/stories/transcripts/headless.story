# A machine without a terminal, as in continuous integration

# What is missing is an error that names every way to give it, and never a question
$$ CI=true vault get "$NOTE"
| the base URL of the service, the application UUID and the API key are missing
| hint: set the base URL of the service with --base-url, VAULTSVC_BASE_URL or the config key
| next: vault init
|   next: vault sandbox exec -- sh
exit 2
$ VAULTSVC_BASE_URL=$BASE_URL vault get "$NOTE"
| the application UUID and the API key are missing
exit 2

# Everything by environment, the key of the state too: nothing is written but the state
$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s VAULTSVC_STATE_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" "$(head -c 32 /dev/urandom | base64)" > settings
$ . ./settings; PAIR=$(cat note-pair.json) vault get "$NOTE" --kind generic/offline --credentials env:PAIR --field vault.content
| The treasure is under the third palm tree
$ test ! -e config && ls state
| vault.db
$ . ./settings; vault forget "$NOTE"
| confirmation required: 
exit 2
$ . ./settings; vault forget "$NOTE" --yes
| forgotten
