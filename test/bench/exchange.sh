#!/bin/sh
# The same exchange as `vault get`, as a careful shell script would do it: start, keep the new pair durably, acknowledge.
# Arguments: base URL, kind, uuid, file with the current pair, which is replaced. Application: APP_UUID, API_KEY.
set -eu
url="$1/vaultsvc/v1-2/vault/$2/$3"
body=$(jq -c --arg uuid "$APP_UUID" --arg key "$API_KEY" \
  '{application: {uuid: $uuid, apiKey: $key}, vault: {credentials: {encryptedData, payload}}}' "$4")
answer=$(curl -sf -X POST -H 'content-type: application/json' -d "$body" "$url/get-start")
printf '%s\n' "$answer" | jq -c '.vault.credentials' > "$4.new"
sync "$4.new"
printf '%s\n' "$answer" | jq '.vault'
token=$(printf '%s\n' "$answer" | jq -c '{token: .transactionToken.token}')
curl -sf -o /dev/null -X PUT -H 'content-type: application/json' -H "x-application-uuid: $APP_UUID" -H "x-api-key: $API_KEY" \
  -d "$token" "$url/get-end"
mv "$4.new" "$4"
