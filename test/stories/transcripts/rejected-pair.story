# A pair that the service refuses

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ printf '{"encryptedData":"b2xk","payload":"cGFpcg=="}' > wrong.json

# It counts: one of three failed accesses
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @wrong.json
| the service refused the credentials of generation 1
| 1 of 3 failed accesses
| next: this combination is not sent again
exit 6

# The same is not sent a second time
$ . ./settings; vault get "$CARD"
| not sent: the service has refused generation 1
exit 8

# The right pair is added, never put in the place of another
$ . ./settings; vault import "$CARD" --credentials @card-pair.json
| imported as generation 2
$ . ./settings; vault get "$CARD" --field vault.creditCard.name
| Grace Hopper
