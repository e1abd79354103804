# An exchange in doubt of which both credentials are refused, and acknowledgements whose answers are lost

# each step runs what the program names as the next one, unless N is to be filled in
$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings; echo "vault sandbox fault --ready-file sandbox.json end:drop-after > fault" > lose
$ printf 'sed -n "s/^ *next: //p" said | sed "/ N /d; s/ (.*//; s/FILE/right.json/; s/^vault get.*/& --field vault.content/" > command; cat command; . ./command\n' > follow
$ . ./settings; vault get "$NOTE" --kind generic/offline --credentials @note-pair.json --field vault.content
| The treasure is under the third palm tree

# Four acknowledgements arrive, and their answers do not: each later read finds that out, and nothing stops
$ . ./settings; . ./lose; vault get "$NOTE" --field vault.content 2> said; code=$?; cat said; exit $code
| in doubt
| next: vault get
exit 12
$ . ./settings; . ./lose; . ./follow > read 2> after; code=$?; mv after said; cat read said; exit $code
| The treasure is under the third palm tree
| 1 of 5 unacknowledged starts, 0 of 3 failed attempts
exit 12
$ . ./settings; . ./lose; . ./follow > read 2> after; code=$?; mv after said; cat read said; exit $code
| The treasure is under the third palm tree
| 1 of 5 unacknowledged starts, 0 of 3 failed attempts
exit 12
$ . ./settings; . ./lose; . ./follow > read 2> after; code=$?; mv after said; cat read said; exit $code
| The treasure is under the third palm tree
| 1 of 5 unacknowledged starts, 0 of 3 failed attempts
exit 12

# Somebody else takes a copy of that, and reads twice: both credentials that are known here stop working
$ vault export "$NOTE" > copy.json
$ . ./settings; export VAULTSVC_STATE=$PWD/other; vault get "$NOTE" --kind generic/offline --credentials @copy.json --field vault.content && vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree…warning…no longer work
| The treasure is under the third palm tree
$ . ./settings; vault get "$NOTE" 2> said; code=$?; cat said; exit $code
| 2 of 3 failed attempts
| next: vault import
exit 6

# The right ones are imported as it says, and a person's word sends them, as the refusal says
$ VAULTSVC_STATE=$PWD/other vault export "$NOTE" > right.json
$ . ./settings; . ./follow
| vault import
| imported
$ . ./settings; vault get "$NOTE" 2> said; code=$?; cat said; exit $code
| not sent: it could lock vault
| next: vault get … --generation … --force
exit 8
$ . ./settings; . ./follow
| hint: use --yes to confirm
exit 2
$ . ./settings; sh -c "$(cat command) --yes"
| The treasure is under the third palm tree
$ . ./settings; vault get "$NOTE" --field vault.content
| The treasure is under the third palm tree
$ vault guard "$NOTE"
| 0 of 5…0 of 3…nothing
