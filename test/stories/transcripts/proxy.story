# A service that only a proxy leads to, with a certificate of the company's own issuer

$ printf 'export VAULTSVC_BASE_URL=https://vault.example VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s VAULTSVC_MAX_WAIT=100ms\n' "$APP_UUID" "$APP_KEY" > settings

# Each failure says what failed and what fixes it; nothing has reached the service
$ . ./settings; vault get "$NOTE" --kind generic/offline --credentials @note-pair.json
| no connection to the service: …vault.example
| if this network needs a proxy, set --proxy or HTTPS_PROXY
exit 10
$ . ./settings; HTTPS_PROXY=$PROXY vault get "$NOTE"
| the proxy 127.0.0.1:… does not connect to vault.example:443 (HTTP 407)
| check HTTPS_PROXY (http://USER:PASSWORD@HOST:PORT
exit 10
$ . ./settings; HTTPS_PROXY=$PROXY_LOGIN@$PROXY vault get "$NOTE"
| certificate of vault.example:443 is not trusted: unable to verify the first certificate
| …if you trust its issuer, add the issuer's certificate with --ca FILE (config key ca) or NODE_EXTRA_CA_CERTS
exit 10
$ . ./settings; vault status "$NOTE" --field vaults.0.unackedStarts
| 0
$ . ./settings; HTTPS_PROXY=$PROXY_LOGIN@$PROXY vault get "$NOTE" --ca ca.pem --field vault.content
| The treasure is under the third palm tree

# Node's own variable will do for the certificate; a file keeps the password of the proxy out of the process list
$ printf 'http://%s@%s\n' "$PROXY_LOGIN" "$PROXY" > proxy
$ . ./settings; NODE_EXTRA_CA_CERTS=ca.pem vault get "$NOTE" --proxy @proxy --field vault.content
| The treasure is under the third palm tree
