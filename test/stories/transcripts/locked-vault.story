# A vault is locked, and an administrator unlocks it

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --field vault.creditCard.name
| Grace Hopper
$ vault sandbox lock "$CARD" --ready-file sandbox.json
| is locked

# The program says what is the matter, and who can help
$ . ./settings; vault get "$CARD"
| the vault is locked (service: …an administrator can unlock it in the console
| next: vault guard
exit 7

# A monitor finds it
$ vault status --fail-on locked
| locked
exit 17

# After the unlock, the counters here are reset by hand
$ vault sandbox unlock "$CARD" --ready-file sandbox.json
| is active
$ vault guard "$CARD" --reset
| confirmation required: Reset the counters
| hint: use --yes to confirm
exit 2
$ . ./settings; vault guard "$CARD" --reset --yes && vault get "$CARD" --field vault.creditCard.name
| Grace Hopper

# The sandbox takes labels too
$ vault sandbox exec -- sh -c 'vault sandbox lock "demo offline note"; vault sandbox unlock "demo offline note"; vault sandbox lock note'
| e2c7d9f4-1c3b-4f0a-9d8e-7b6a5c4d3e21 is locked
| e2c7d9f4-1c3b-4f0a-9d8e-7b6a5c4d3e21 is active
| the sandbox has no vault note; nothing was changed
| next: vault sandbox status
exit 3
