# A payment run: the command fails for one of five vaults, and the same line pays for it later
needs jq

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; jq -c '.vaults[]' sandbox.json | vault import --file -
| imported as generation 1

# The plan, which sends nothing: lines may be lost, so that vaults known to be limited need a file or a command
$ . ./settings; vault get "demo limited note" --field vault.usesRemaining
| 3
$ . ./settings; vault get --all --dry-run
| Vaults…4
| Calls…8
| Skipped…1
| demo limited note…limited
exit 16
$ . ./settings; vault get --all --exec 'sh pay.sh' --dry-run --field plan.calls
| 10

# The command refuses a second delivery by its key, and one vault as long as it has no account
$ echo 'cat > /dev/null; grep -qx "$VAULTSVC_DELIVERY_ID" paid && exit 0' > pay.sh
$ echo 'case $VAULTSVC_VAULT_LABEL in *"offline card") test -e account || { echo no account; exit 4; };; esac' >> pay.sh
$ echo 'echo "$VAULTSVC_DELIVERY_ID" >> paid' >> pay.sh; touch paid
$ . ./settings; vault get --all --run may --exec 'sh pay.sh' > run.ndjson; code=$?; jq -r '.label, .error.code, .done' run.ndjson; exit $code
| no account
| run may left 1 of 5 vaults undone
| next: vault get --all --run may --exec 'sh pay.sh' --discard-pending
| demo offline card
| pending
| 4
exit 16

# It is held while its token lives: nobody can know whether the command has taken it over
$ . ./settings; vault get --all --run may --exec 'sh pay.sh' > run.ndjson; code=$?; jq -c 'select(.skipped and .label) | [.label, .skipped]' run.ndjson; exit $code
| ["demo offline card","held"]
exit 16
$ . ./settings; touch account; vault get --all --run may --exec 'sh pay.sh' --discard-pending | jq -c 'select(.event == "summary") | [.done, .calls]'
| [5,2]
$ sort -u paid | grep -c '^may-'
| 5
$ wc -l < paid
| 5

# Nothing is left to do, and nothing is sent
$ . ./settings; vault get --all --run may --exec 'sh pay.sh' | jq -c 'select(.event == "summary") | [.done, .calls]'
| [5,0]
