import { X509Certificate } from "node:crypto";
import { VaultError } from "../../errors.ts";
import { isLoopback } from "../../protocol/address.ts";
import { uuid as identifier } from "../../protocol/fields.ts";
import type { Application } from "../../protocol/requests.ts";
import { checkGiven } from "../../protocol/validate.ts";
import { matchesNoProxy } from "./no-proxy.ts";
import type { Sourced } from "../definitions.ts";
import type { BearerToken } from "../jwt/jwt.ts";
import { createBearerToken } from "../jwt/jwt.ts";
import type { Settings } from "../settings.ts";
import { missingIn, missingSettings } from "../settings.ts";
import type { SettingIo } from "../given.ts";
import { isLiteral, readGiven } from "../given.ts";
import { defined } from "../../defined.ts";
import { command } from "../../way.ts";

/** Settings of the client: the service, its application and the route to it. */
interface ClientSettings extends Transport {
  baseUrl: string;
  apiPrefix: string;
  application: Application;
  timeoutMs: number;
  token: BearerToken | undefined;
}

/** @throws `usage` if a setting is missing, `invalid-input` for one that is wrong, which it names; never shows a secret */
export async function readClientSettings(
  settings: Settings,
  io: SettingIo,
  readSecret: (spec: Sourced) => Promise<string>,
): Promise<ClientSettings> {
  const { appUuid: uuid, baseUrl = "", apiPrefix, timeout: timeoutMs } = settings;
  if (uuid === undefined || settings.apiKey === undefined)
    throw missingSettings(missingIn(settings));
  const apiKey = await readSecret(settings.apiKey);
  checkGiven(identifier, uuid, "--app-uuid", "nothing was sent");
  checkGiven(identifier, apiKey, "--api-key", "nothing was sent");
  const transport = await readTransport(settings, io);
  return {
    baseUrl,
    apiPrefix,
    application: { apiKey, uuid },
    timeoutMs,
    ...transport,
    token: await createBearerToken(settings, io),
  };
}

interface ProxySetting {
  /** May contain a user name and a password. */
  url: URL;
  /** The flag, variable or config key that sets it. */
  source: string;
}

/** How to reach the service, besides its address. */
interface Transport {
  /** PEM certificates, to trust instead of Node's own list. */
  ca?: readonly string[];
  proxy?: ProxySetting;
  /** NODE_TLS_REJECT_UNAUTHORIZED=0, which only has effect for a service on this machine. */
  unverified: boolean;
}

/**
 * Reads the transport to `baseUrl` from settings and environment.
 * @throws `invalid-input`, which names the setting
 */
export async function readTransport(
  settings: Pick<Settings, "baseUrl" | "ca" | "proxy">,
  io: SettingIo,
): Promise<Transport> {
  const target = new URL(settings.baseUrl ?? "");
  const proxy = await chooseProxy(target, settings.proxy, io);
  const unverified = io.host.env["NODE_TLS_REJECT_UNAUTHORIZED"] === "0";
  if (unverified && target.protocol === "https:") {
    io.sources.warn(
      isLoopback(target.hostname)
        ? `NODE_TLS_REJECT_UNAUTHORIZED=0: the certificate of ${target.host} is not checked`
        : "NODE_TLS_REJECT_UNAUTHORIZED=0 has no effect: certificates are checked, except on this machine",
    );
  }
  return defined({
    unverified,
    ca: settings.ca && (await readCertificates(settings.ca, io)),
    proxy,
  });
}

/** The certificates of a PEM file, and those of NODE_EXTRA_CA_CERTS. */
async function readCertificates({ text: path, source }: Sourced, io: SettingIo): Promise<string[]> {
  let text: string;
  try {
    // Not by the reader of what is given: comments around certificates need not be UTF-8.
    text = Buffer.from(await io.host.readFile(path)).toString("latin1");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new VaultError(
      "invalid-input",
      `${source}: cannot read the file ${path} (${code ?? "unreadable"})`,
      {
        hint: `${source} needs a readable file, such as ca.pem`,
      },
    );
  }
  const certificates =
    text.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  if (certificates.length === 0 || !certificates.every(isCertificate)) {
    throw new VaultError(
      "invalid-input",
      `${source}: ${path} must contain only valid certificates in PEM`,
      {
        hint: "PEM begins with -----BEGIN CERTIFICATE-----",
        next: [
          { ...command`openssl x509 -inform der -in ca.cer -out ca.pem`, note: "converts DER" },
        ],
      },
    );
  }
  const { getCACertificates } = await import("node:tls");
  return [...certificates, ...getCACertificates("extra")];
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/**
 * Chooses the proxy: the flag takes precedence over the environment, that over the profile; an empty one means none. As with curl
 * and gh, HTTPS_PROXY is for https, HTTP_PROXY for http, lower case comes first, and NO_PROXY names hosts to reach directly. As
 * with gh, only the flag counts for a service on this machine.
 * @throws `invalid-input`, which names the source
 */
async function chooseProxy(
  target: URL,
  given: Sourced | undefined,
  io: SettingIo,
): Promise<ProxySetting | undefined> {
  if (given?.fromFlag === true) return await flagProxy(given, io);
  if (isLoopback(target.hostname)) return undefined;
  const noProxy = variable(io.host.env, ["no_proxy", "NO_PROXY"]);
  if (noProxy !== undefined && matchesNoProxy(target, noProxy.text)) return undefined;
  const scheme = target.protocol === "https:" ? "https_proxy" : "http_proxy";
  const found = variable(io.host.env, [scheme, scheme.toUpperCase()]) ?? given;
  return found === undefined ? undefined : parseProxy(found.text, found.source, io);
}

/** The proxy of the flag: `@FILE`, `-`, `env:NAME` or the URL itself, since it may contain a password. */
async function flagProxy(given: Sourced, io: SettingIo): Promise<ProxySetting | undefined> {
  const { text, source } = given;
  const proxy = parseProxy(isLiteral(text) ? text : await readGiven(io, given), source, io);
  if (isLiteral(text) && proxy !== undefined && proxy.url.password !== "") {
    io.sources.warn(
      `${source} has a password on the command line, where other users of this machine can see it; use ${source} @FILE, - or env:NAME`,
    );
  }
  return proxy;
}

function variable(
  env: SettingIo["host"]["env"],
  names: readonly string[],
): Pick<Sourced, "text" | "source"> | undefined {
  const name = names.find((candidate) => (env[candidate] ?? "") !== "");
  return name === undefined ? undefined : { text: env[name] ?? "", source: name };
}

function parseProxy(text: string, source: string, io: SettingIo): ProxySetting | undefined {
  if (text === "") return undefined;
  // Without a scheme it means http, as with curl.
  const whole = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(whole) ? new URL(whole) : undefined;
  const userInfo = url === undefined ? undefined : decoded(url);
  const isProxy =
    url !== undefined &&
    /^https?:$/.test(url.protocol) &&
    url.pathname === "/" &&
    url.search + url.hash === "";
  if (!isProxy || userInfo === undefined) {
    throw new VaultError("invalid-input", `${source}: must be the http: or https: URL of a proxy`, {
      hint: "like http://proxy.example.com:3128, or http://USER:PASSWORD@proxy.example.com:3128",
    });
  }
  // USER:PASSWORD too, because the header sends it in base64, which the redactor recognizes.
  if (userInfo.password !== "") {
    for (const secret of [userInfo.password, url.password, `${userInfo.user}:${userInfo.password}`])
      io.redactor.add(secret);
  }
  return { url, source };
}

/** User name and password without percent-encoding; undefined if that is malformed. */
function decoded(url: URL): { user: string; password: string } | undefined {
  try {
    return { user: decodeURIComponent(url.username), password: decodeURIComponent(url.password) };
  } catch {
    return undefined;
  }
}
