const secretNames: ReadonlySet<string> = new Set(["VAULTSVC_API_KEY", "VAULTSVC_STATE_KEY", "VAULTSVC_STATE_PASSPHRASE", "VAULTSVC_JWT"]);

/** Proxy variables, which stay even with a password: it is meant for every program, and the command may need the proxy. */
const forEveryProgram = /^(https?|all|no)_proxy$/i;

/**
 * The environment for a command of the user, without the variables of our secrets and without any other whose value contains a
 * secret, which `redact` would change.
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
