# From nothing to the first read, by answering questions

# The sandbox is the service
$$ vault init
? Profile name
< demo
? Base URL of the service
< $BASE_URL
? Application UUID
< $APP_UUID
? API key
< $APP_KEY
? Is this production
< n
| Saved profile demo (…

# What holds, and where it comes from; the key is sealed
$ vault config list --origin
| baseUrl…profile demo
| apiKey…profile demo
$ grep -c "$APP_KEY" config/config.json
| 0
exit 1

# Is everything in order?
$ vault doctor
| ok…configuration
| ok…service

# The first read asks for what it needs to know of the vault
$$ vault get "$NOTE" --reveal
? What kind of vault is it
< generic/offline
? Credentials (JSON
< @note-pair.json
| The treasure is under the third palm tree
| New credentials stored (generation 2).

# The second one needs nothing
$ vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
