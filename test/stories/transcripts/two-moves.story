# Two machines move into one shared state at once: one of them wins, and the other has its vaults as before

# each machine has a state of its own, and has read a vault
$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > service; for name in ann ben; do printf '. ./service; export VAULTSVC_STATE=%s VAULTSVC_CONFIG_DIR=%s\n' "$PWD/$name-state" "$PWD/$name-config" > $name; done; echo "export VAULT=$NOTE" >> ann; echo "export VAULT=$CARD" >> ben
$ . ./ann; vault get "$VAULT" --kind generic/offline --credentials @note-pair.json --field vault.content
| The treasure is under the third palm tree
$ . ./ben; vault get "$VAULT" --kind credit-card/offline --credentials @card-pair.json --field vault.creditCard.name
| Grace Hopper

# quotes around the address, as docker --env-file keeps them, name no folder
$ . ./ann; VAULTSVC_STATE="\"$DATABASE\"" vault get "$VAULT"
| VAULTSVC_STATE
exit 2
$ ls -d -- *postgres*
exit 2

# both move at the same moment; Ben has the key of Ann's machine, too
$ . ./ann; vault state init --state "$DATABASE?schema=two_moves"
| Created the shared state
$ cp ann-config/keys/* ben-config/keys/
$ for name in ann ben; do (. ./$name; vault state move --to "$DATABASE?schema=two_moves" --yes > $name.said 2>&1; echo "$? $name" > $name.code) & done; wait; sort -n ann.code ben.code > codes; cut -d ' ' -f 1 codes; sed -n 's/^0 //p' codes > winner; sed -n 's/^14 //p' codes > loser; cat $(cat loser).said
| 0
| 14
| another state is there already

# the loser reads where it always has, and the winner in the shared state
$ . ./$(cat loser); vault get "$VAULT" --json
| "generation": 3
$ . ./$(cat winner); vault get "$VAULT" --json
| was moved to
exit 14
$ . ./$(cat winner); VAULTSVC_STATE=$DATABASE?schema=two_moves vault get "$VAULT" --json
| "generation": 3

# the loser's vaults find a place of their own
$ . ./$(cat loser); TO=$DATABASE?schema=two_moves_later; vault state init --state "$TO" && vault state move --to "$TO" --yes && VAULTSVC_STATE=$TO vault get "$VAULT" --json
| Created the shared state
| "generation": 4
