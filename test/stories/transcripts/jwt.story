# An application that has to show a JWT
needs openssl
needs jq
needs timeout

# The key stays here; the service has the public one
$ umask 077; openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out jwt.key 2> openssl.log && openssl pkey -in jwt.key -pubout -out jwt.pub
$ jq -n --rawfile key jwt.pub '{jwt: {publicKey: $key, claims: {role: ["reader"]}}}' > policy.json
$ mkfifo started; timeout 100 vault sandbox start --policy policy.json --ready-file jwt.json -o ndjson > started 2>&1 & echo $! > pid; head -n 1 started | jq -r .baseUrl
| http://127.0.0.1:
$ jq -r '"export VAULTSVC_BASE_URL=\(.baseUrl) VAULTSVC_APP_UUID=\(.application.uuid) VAULTSVC_API_KEY=\(.application.apiKey)", (first(.vaults[] | select(.kind == "generic/offline")) | "NOTE=\(.uuid)")' jwt.json > settings
$ jq 'first(.vaults[] | select(.kind == "generic/offline")) | .credentials' jwt.json > pair.json

# Without a token the service refuses the application; nothing is counted
$ . ./settings; vault get "$NOTE" --kind generic/offline --credentials @pair.json
| the service refused the application (service: "the JWT is missing
| check --app-uuid, --api-key and --jwt
exit 5

# A profile that signs one for each run
$ mkdir config; jq -n '{profiles: {default: {jwt: {privateKeyFile: "jwt.key", claims: {role: "reader"}}}}}' > config/config.json
$ . ./settings; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree

# One that asks another program for it; what is wrong there is told, and nothing is sent
$ jq -n '{profiles: {default: {jwt: {command: "cat token"}}}}' > config/config.json
$ . ./settings; vault get "$NOTE"
| config key jwt.command: the command failed with exit code 1
exit 3
$ . ./settings; vault guard "$NOTE"
| 0 of 5
$ kill "$(cat pid)"
