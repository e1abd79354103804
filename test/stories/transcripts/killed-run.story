# A run is killed in the middle, and the same line continues it
needs jq

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; jq -c '.vaults[]' sandbox.json | vault import --file -
| imported as generation 1

# The program dies while the command has the contents of one vault
$ echo 'cat > /dev/null; echo "$VAULTSVC_DELIVERY_ID" >> deliveries' > take.sh
$ echo 'case $VAULTSVC_VAULT_LABEL in *"offline note") test -e dead || { touch dead; kill -9 "$1"; };; esac' >> take.sh
$ . ./settings; vault get --all --run may --concurrency 1 --exec 'sh take.sh $PPID' > run.ndjson; code=$?; exit $code
exit 137
$ . ./settings; vault status
| 5a4b3c2d-0000-4000-8000-000000000002…demo offline note…started
$ . ./settings; vault get --all --run may --concurrency 1 --exec 'sh take.sh $PPID' > run.ndjson
$ jq -r 'select(.earlier) | .label' run.ndjson | sort
| demo limited note
| demo offline card
$ jq -r 'select(.ok) | .label' run.ndjson | sort -u | wc -l
| 5

# Delivery is at least once: the one that was under way has come twice, with the same key
$ sort deliveries | uniq -c | awk '{print $1}' | sort | uniq -c
| 4 1
| 1 2
$ . ./settings; vault status --fail-on locked,pending,at-risk
| 5a4b3c2d-0000-4000-8000-000000000002…ready
