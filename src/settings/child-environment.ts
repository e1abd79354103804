const secretNames: ReadonlySet<string> = new Set(["VAULTSVC_API_KEY", "VAULTSVC_STATE_KEY", "VAULTSVC_STATE_PASSPHRASE", "VAULTSVC_JWT"]);

/** Proxy variables stay, whatever password they hold: it is meant for every program, and the command may need its proxy. */
const forEveryProgram = /^(https?|all|no)_proxy$/i;

/**
 * The environment for a command of the user: without the variables that hold our secrets by name, and without any other
 * whose value holds one of them, which is what `redact` changes.
 */
export function environmentWithoutSecrets(
  env: Readonly<Record<string, string | undefined>>,
  redact: (text: string) => string,
): Record<string, string> {
  const entries = Object.entries(env).filter((entry): entry is [string, string] => {
    const [name, value] = entry;
    if (value === undefined || secretNames.has(name)) return false;
    return forEveryProgram.test(name) || redact(value) === value;
  });
  return Object.fromEntries(entries);
}
