# A card is replaced, from a file and by hand

$ printf 'export VAULTSVC_BASE_URL=%s VAULTSVC_APP_UUID=%s VAULTSVC_API_KEY=%s\n' "$BASE_URL" "$APP_UUID" "$APP_KEY" > settings
$ . ./settings; vault get "$CARD" --kind credit-card/offline --credentials @card-pair.json --field vault.creditCard.number
| 5555555555554444

# From a file, without a terminal: a receipt, with the number masked
$ printf '{"number":"4111111111111111","name":"Ada Lovelace","expiryMonth":4,"expiryYear":2031}' > card.json
$ . ./settings; vault update "$CARD" --card @card.json
| Update…acknowledged
| Number…•••• •••• •••• 1111
| Credentials…generation 3

# A number with a wrong digit is not sent
$ . ./settings; printf 4111111111111112 | vault update "$CARD" --card-number - --card-name 'Ada Lovelace' --expiry 04/2031
| --card-number: must be 8 to 19 digits that pass the Luhn check
| nothing was sent
exit 3

# By hand: what is missing is asked for, what would be sent is shown, and a no sends nothing
$$ . ./settings; vault update "$CARD" --card-name 'Grace Hopper'
? Card number
< 5555 5555 5555 4444
? Expiry
< 13/2030
? must be a month
< 12/30
? Send these new contents
< n
| Number…•••• •••• •••• 4444
| canceled; nothing was sent
exit 130
$$ . ./settings; vault update "$CARD" --card @card.json --card-name X
| --card cannot be used with --card-name
exit 2
$$ . ./settings; vault update "$CARD"
? Card number
< 5555555555554444
? Name on the card
< Grace Hopper
? Expiry
< 12/2030
? Send these new contents
< y
| Update…acknowledged
| New credentials stored (generation 4).
$ . ./settings; vault get "$CARD" --field vault.creditCard.name
| Grace Hopper

# An update whose acknowledgement is lost: the tool says whether it took effect once it knows
$ vault sandbox fault --ready-file sandbox.json end:drop-after
| 1 fault set.
$ . ./settings; vault update "$CARD" --card @card.json
| in doubt
| finds out which credentials are valid
exit 12
$ . ./settings; vault get "$CARD" --field vault.creditCard.name
| Finished the interrupted update …the update took effect
| Ada Lovelace
