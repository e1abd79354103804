/** Where the variables and files come from that examples name, by the word that names them. */
const origins: Readonly<Record<string, string>> = {
  $VAULT: "the UUID or label of a vault; vault sandbox exec sets it",
  "@pair.json": "credentials, as vault export $VAULT > pair.json writes them",
  "vaults.ndjson": "from another machine: vault export --all > vaults.ndjson",
  "@card.json": 'a card: {"number", "name", "expiryMonth", "expiryYear"}',
  "@number": "a file with the card number alone",
  "@note.txt": "any text of yours",
  "@passphrase.txt": "head -c 24 /dev/urandom | base64 > passphrase.txt",
  "audit.ndjson": "exported from the console, or by vault sandbox audit --export",
  "audit.csv.gz": "exported from the console, or by vault sandbox audit --export",
  "./integration-test.sh": "any program of yours that uses vaults",
  "./read.sh": "any program of yours that reads a vault",
  "./check.sh": "ends with 0 if read.sh can still read its vault",
  "./sandbox.json": "of a sandbox that runs: vault sandbox start --ready-file FILE",
  "./setup.sh": "prepares the working directory of each run",
};

/** Comments for below the examples: each file and variable that one of them reads, and where it comes from. */
export const originsIn = (examples: readonly string[]): string[] =>
  Object.entries(origins)
    .filter(([name]) => examples.some((example) => example.split(" ").includes(name)))
    .map(([name, origin]) => `# ${name.replace(/^(?:@|\.\/)/, "")}: ${origin}`);
