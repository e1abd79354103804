# A vault is locked, and its audit items say why, since when and by whom

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --field vault.creditCard.name
| Grace Hopper

# Somebody insists on credentials that are none, past the guard
$ printf '{"encryptedData":"b2xk","payload":"cGFpcg=="}' > wrong.json
$ . ./settings; vault get "$CARD" --credentials @wrong.json --force --external-ref nightly-job
| the service refused the credentials of generation 3
exit 6
$ . ./settings; vault get "$CARD" --generation 3 --force --yes --external-ref nightly-job
| 2 of 3 failed attempts
exit 6
$ . ./settings; vault get "$CARD" --generation 3 --force --yes --external-ref nightly-job
| 3 of 3 failed attempts
exit 6

# The ticket: our vault is locked. The answer
$ vault sandbox audit --export audit.ndjson --ready-file sandbox.json
| items to audit.ndjson
$ vault audit-replay audit.ndjson
| …1 vault locked by reference nightly-job
| …refused: credentials (locks)…nightly-job…vault locked…
$ vault audit-replay audit.ndjson --vault "$CARD" --timeline
| read started
| read acknowledged
| refused: credentials…nightly-job
| refused: credentials…nightly-job
| refused: credentials (locks)…nightly-job

# For a program
$ test "$(vault audit-replay audit.ndjson --problems --field vaults.0.uuid)" = "$CARD"
$ vault audit-replay audit.ndjson --problems --field vaults.0.cause.rule
| failed-attempts
$ vault audit-replay audit.ndjson --fail-on locked,at-risk -o ndjson
| {"uuid":…"verdict":"locked"
| {"event":"summary","found":
| 1 vault is locked
exit 17

# What it would have taken
$ vault audit-replay audit.ndjson --what-if lock-after-failed=5
| What if lock-after-failed=5: 1 vault would differ

# The same from a spreadsheet's form, compressed; as a page for the ticket
$ vault sandbox audit --export audit.csv.gz --ready-file sandbox.json
| items to audit.csv.gz
$ vault audit-replay - --problems --html report.html --field vaults.0.verdict < audit.csv.gz
| locked
$ grep -c nightly-job report.html > /dev/null && ls -l report.html
| -rw-------

# And from the journal of the machine that did it
$ vault audit-replay --vault "$CARD" --field vaults.0.cause.rule
| failed-attempts
