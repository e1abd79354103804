# A daily read, on a machine that knows the vault

# Settings that a shell profile exports
$ printf 'VAULTSVC_BASE_URL=%s\nVAULTSVC_APP_UUID=%s\nVAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings

# The first time, kind and credentials are given
$ set -a; . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json
| Vault…
| Number…•••• •••• •••• 4444
| Credentials…generation 2

# From then on the state has them; on a terminal the closing line says what is stored
$$ set -a; . ./settings; vault get "$CARD"
| Number…•••• •••• •••• 4444
| New credentials stored (generation 3).

# What this machine knows, without calling the service
$ vault status "$CARD"
| Kind…credit-card/offline
| ready

# A date that is close, a lock that is near and what is pending would make a monitor exit 17
$ vault status --fail-on locked,pending,at-risk
