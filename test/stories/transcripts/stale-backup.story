# A backup that is older than what two machines have done since is restored: nothing that was readable is lost

# Ann and Ben share a state, and a backup is made of it
$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s VAULTSVC_STATE=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" "$DATABASE?schema=stale_backup" > service; for name in ann ben; do printf '. ./service; export VAULTSVC_CONFIG_DIR=%s XDG_STATE_HOME=%s\n' "$PWD/$name-config" "$PWD/$name-state" > $name; done
$ . ./ann; vault state init
| Created the shared state
$ mkdir -m 700 ben-config; cp -r ann-config/keys ben-config/
$ . ./ann; vault get "$NOTE" --kind generic/offline --credentials @note-pair.json --field vault.content
| The treasure is under the third palm tree
$ . ./ann; vault state backup old.db
| old.db

# since then Ben has read the vault, holds an exchange of it, and has read another
$ . ./ben; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
$ . ./ben; vault get "$NOTE" --no-ack --field vault.content
| The treasure is under the third palm tree
$ . ./ben; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --field vault.creditCard.name
| Grace Hopper

# the restore keeps what is here, and says so; twice is as once
$ . ./ann; vault state restore old.db --yes
| 1 exchange
| the credentials of the backup were superseded here
$ . ./ann; vault state restore old.db --yes
| 1 exchange
| the credentials of the backup were superseded here

# the held exchange is finished, and both vaults are read
$ . ./ann; vault get "$NOTE"
| next: vault ack
exit 11
$ . ./ann; vault ack "$NOTE"
| acknowledged
$ . ./ben; vault get "$NOTE" --field vault.content && vault get "$CARD" --field vault.creditCard.name
| The treasure is under the third palm tree…Grace Hopper
