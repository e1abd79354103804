import { X509Certificate } from "node:crypto";
import { BlockList, isIP } from "node:net";
import { attempt } from "../attempt.ts";
import { VaultError } from "../errors.ts";
import { isLoopback } from "../protocol/address.ts";
import { uuid as identifier } from "../protocol/fields.ts";
import { checkGiven } from "../protocol/validate.ts";
import { missingIn, missingSettings, serviceName, type Settings } from "./settings.ts";
import { isLiteral, readSecret, type SettingIo, type Sourced } from "./given.ts";
import { defined } from "../defined.ts";
import { command, noted } from "../way.ts";

/**
 * Reads the settings of the client: the service, its application and the route to it.
 * @throws `usage` if a setting is missing, `invalid-input` for one that is wrong, which it names; never shows a secret
 */
export async function readClientSettings(
  settings: Settings,
  io: SettingIo,
  openSecret: (spec: Sourced) => Promise<string>,
) {
  const { appUuid: uuid, jwt, jwtCommand, jwtPrivateKeyFile, jwtClaims } = settings;
  if (uuid === undefined || settings.apiKey === undefined)
    throw missingSettings(missingIn(settings));
  const apiKey = await openSecret(settings.apiKey);
  checkGiven(identifier, apiKey, settings.apiKey.source, "nothing was sent");
  const hasToken = (jwt ?? jwtCommand ?? jwtPrivateKeyFile ?? jwtClaims) !== undefined;
  return {
    application: { apiKey, uuid },
    ...(await readTransport(settings, io)),
    token: hasToken ? await (await import("./jwt.ts")).createBearerToken(settings, io) : undefined,
  };
}

/**
 * Reads how to reach the service: its name, the time limit of a request, the certificates to trust in place of Node's own list, and the
 * proxy, whose URL may have a user name and a password, with the flag, variable or config key that sets it.
 * @throws `invalid-input`, which names the setting
 */
export async function readTransport(
  settings: Parameters<typeof serviceName>[0] & Pick<Settings, "ca" | "proxy" | "timeout">,
  io: SettingIo,
) {
  const service = serviceName(settings);
  return defined({
    service,
    timeoutMs: settings.timeout,
    ca: settings.ca && (await readCertificates(settings.ca, io)),
    proxy: await chooseProxy(new URL(service), settings.proxy, io),
  });
}

/** The certificates of a PEM file, and those of NODE_EXTRA_CA_CERTS. */
async function readCertificates({ text: path, source }: Sourced, io: SettingIo): Promise<string[]> {
  const text = await io.sources.read(path, source);
  const certificates =
    text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    const rule = `${path} must contain only valid certificates in PEM`;
    throw new VaultError("invalid-input", `${source}: ${rule}`, {
      next: [noted(command`openssl x509 -inform der -in ca.cer -out ca.pem`, "converts DER")],
    });
  }
  const { getCACertificates } = await import("node:tls");
  return [...certificates, ...getCACertificates("extra")];
}

const isCertificate = (pem: string): boolean =>
  attempt(() => new X509Certificate(pem)) !== undefined;

/**
 * Chooses the proxy: the flag takes precedence over the environment, that over the profile; an empty one means none. As with curl
 * and gh, HTTPS_PROXY is for https, HTTP_PROXY for http, lower case comes first, and NO_PROXY names hosts to reach directly. As
 * with gh, only the flag counts for a service on this machine.
 * @throws `invalid-input`, which names the source
 */
async function chooseProxy(target: URL, given: Sourced | undefined, io: SettingIo) {
  if (given?.from === "flag") {
    const isSecret = !isLiteral(given.text) || /:[^/]*@/.test(given.text);
    return parseProxy(isSecret ? await readSecret(io, given) : given.text, given.source, io);
  }
  if (isLoopback(target.hostname)) return undefined;
  const variable = (name: string) =>
    [name, name.toUpperCase()]
      .map((source) => ({ source, text: io.host.env[source] ?? "" }))
      .find(({ text }) => text !== "");
  if (matchesNoProxy(target, variable("no_proxy")?.text ?? "")) return undefined;
  const found = variable(`${target.protocol.slice(0, -1)}_proxy`) ?? given;
  return found === undefined ? undefined : parseProxy(found.text, found.source, io);
}

function parseProxy(text: string, source: string, io: SettingIo) {
  if (text === "") return undefined;
  // Without a scheme it means http, as with curl.
  const url = URL.parse(/^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`);
  const given = url && attempt(() => [url.username, url.password].map(decodeURIComponent));
  if (given && /^https?:$/.test(url.protocol) && url.pathname + url.search + url.hash === "/") {
    // USER:PASSWORD too, because the header sends it in base64, which the redactor recognizes.
    const [, password = ""] = given;
    if (password !== "")
      for (const secret of [password, url.password, given.join(":")]) io.redactor.add(secret);
    return { url, source };
  }
  throw new VaultError("invalid-input", `${source}: must be the http: or https: URL of a proxy`, {
    hint: "like http://proxy.example.com:3128, or http://USER:PASSWORD@proxy.example.com:3128",
  });
}

/**
 * Whether a list in the form of NO_PROXY matches the host of `target`. Entries are separated by commas or spaces; each is `*`, a
 * host name (with or without a leading dot, and matching all names below it), an address or a CIDR range, with or without a port.
 * (undici's own knows no ranges, and takes `2.3` for a part of `10.1.2.3`.)
 */
export function matchesNoProxy(target: URL, list: string): boolean {
  const host = bare(target.hostname);
  const port = target.port || (target.protocol === "https:" ? "443" : "80");
  return list
    .toLowerCase()
    .split(/[\s,]+/)
    .some((entry) => {
      // An IPv6 address without brackets has no port.
      const [, name = entry, onlyPort = port] = /^(\[.+\]|[^:]+):(\d+)$/.exec(entry) ?? [];
      if (onlyPort !== port) return false;
      if (name === "*") return true;
      if (isIP(host) !== 0) return isInRange(host, bare(name));
      const suffix = bare(name).replace(/^\*?\./, "");
      return suffix !== "" && `.${host}`.endsWith(`.${suffix}`);
    });
}

/** A host name without the brackets of IPv6 and without a final dot. */
const bare = (hostname: string): string => hostname.replace(/^\[|\]$|\.$/g, "");

/** Whether an address is in a range; in one that is not valid is none. */
function isInRange(address: string, range: string): boolean {
  const family = (ip: string): "ipv4" | "ipv6" => (isIP(ip) === 4 ? "ipv4" : "ipv6");
  const whole = isIP(range) === 4 ? 32 : 128;
  const [, net = range, bits = whole] = /^(.+)\/(\d+)$/.exec(range) ?? [];
  const ranges = new BlockList();
  attempt(() => ranges.addSubnet(net, Number(bits), family(net)));
  return ranges.check(address, family(address));
}
