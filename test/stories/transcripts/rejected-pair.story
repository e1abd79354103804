# Credentials that the service refuses

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ printf '{"encryptedData":"b2xk","payload":"cGFpcg=="}' > wrong.json

# It counts: one of three failed attempts
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @wrong.json
| the service refused the credentials of generation 1 …they will not be sent again
| 1 of 3 failed attempts
exit 6

# The same is not sent a second time
$ . ./settings; vault get "$CARD"
| not sent: the service has refused generation 1
exit 8

# The right credentials are added, never put in the place of others
$ . ./settings; vault import "$CARD" --credentials @card-pair.json
| imported as generation 2
$ . ./settings; vault get "$CARD" --field vault.creditCard.name
| Grace Hopper
