# New contents for several vaults, from a list with one bad line
needs jq

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; jq -c '.vaults[]' sandbox.json | vault import --file -
| imported as generation 1
$ printf '{"uuid":"%s","content":"A new note"}\n' "$NOTE" > list.ndjson
$ printf '{"uuid":"%s","card":{"number":"4111111111111112","name":"Ada","expiryMonth":4,"expiryYear":2031}}\n' "$CARD" >> list.ndjson

# Nothing is sent, for the good line neither; the number is not shown
$ . ./settings; vault update --from list.ndjson --run may
| --from line 2: card.number must be 8 to 19 digits that pass the Luhn check
| nothing was sent
exit 3
$ . ./settings; vault update --from list.ndjson --run may 2>&1 | grep -c 4111111111111112
| 0
exit 1
$ . ./settings; vault status "$NOTE" --json | jq -c '.vaults[0] | [.generation, .unackedStarts, .exchange]'
| [1,0,null]

# Two calls for each vault
$ sed s/1112/1111/ list.ndjson > fixed.ndjson
$ . ./settings; vault update --from fixed.ndjson --run may | jq -c 'select(.event == "summary") | [.done, .calls]'
| [2,4]
$ . ./settings; vault update --from fixed.ndjson --run may | jq -c 'select(.event == "summary") | [.done, .calls]'
| [2,0]
$ . ./settings; vault get "$NOTE" --field vault.content
| A new note

# Other contents under the same name are another run
$ . ./settings; sed s/new/newer/ fixed.ndjson | vault update --from - --run may
| --run may: the contents for vault … are not those that the run has sent before; nothing was sent
exit 3
