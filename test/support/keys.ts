import { generateKeyPairSync, sign, type KeyObject } from "node:crypto";

export interface Certificate {
  key: string;
  cert: string;
}

/** Subject and validity of a certificate. */
interface Names {
  ip?: string;
  dns?: string;
  from?: string;
  to?: string;
}

/**
 * Creates a self-signed certificate, encoded in DER here: Node can read certificates but not create them, and a fixture would
 * expire and put a private key into the repository.
 */
export function selfSigned(names: Names = {}): Certificate {
  const keys = newKeys();
  return pem(
    keys.privateKey,
    write({ names, subject: "vault test", publicKey: keys.publicKey, signer: keys.privateKey }),
  );
}

/** An issuer of certificates, with its own certificate, which clients are to trust. */
export function certificateAuthority(issuer = "vault test authority"): {
  cert: string;
  issue(names?: Names): Certificate;
} {
  const own = newKeys();
  const authority = write({
    subject: issuer,
    publicKey: own.publicKey,
    signer: own.privateKey,
    isAuthority: true,
  });
  return {
    cert: pem(own.privateKey, authority).cert,
    issue(names = {}) {
      const keys = newKeys();
      return pem(
        keys.privateKey,
        write({
          names,
          subject: "vault test",
          issuer,
          publicKey: keys.publicKey,
          signer: own.privateKey,
        }),
      );
    },
  };
}

const newKeys = () => generateKeyPairSync("ec", { namedCurve: "P-256" });

interface Content {
  names?: Names;
  subject: string;
  /** The subject itself without it. */
  issuer?: string;
  publicKey: KeyObject;
  signer: KeyObject;
  isAuthority?: boolean;
}

function write({
  names = {},
  subject,
  issuer = subject,
  publicKey,
  signer,
  isAuthority = false,
}: Content): Buffer {
  const {
    ip = "127.0.0.1",
    dns = "localhost",
    from = "20200101000000Z",
    to = "21200101000000Z",
  } = names;
  const algorithm = sequence(oid("2a8648ce3d040302")); // ecdsa-with-SHA256
  const name = (text: string): Buffer =>
    sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from(text)))));
  const addresses = sequence(
    der(0x82, Buffer.from(dns)),
    der(0x87, Buffer.from(ip.split(".").map(Number))),
  );
  const extension = isAuthority
    ? sequence(oid("551d13"), der(0x04, sequence(der(0x01, Buffer.from([0xff]))))) // basicConstraints: an authority
    : sequence(oid("551d11"), der(0x04, addresses)); // subjectAltName
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name(issuer),
    sequence(der(0x18, Buffer.from(from)), der(0x18, Buffer.from(to))),
    name(subject),
    publicKey.export({ format: "der", type: "spki" }),
    der(0xa3, sequence(extension)),
  );
  return sequence(body, algorithm, der(0x03, Buffer.from([0]), sign("sha256", body, signer)));
}

function pem(privateKey: KeyObject, certificate: Buffer): Certificate {
  const text = certificate.toString("base64").replace(/.{64}/g, "$&\n");
  return {
    key: privateKey.export({ format: "pem", type: "pkcs8" }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${text}\n-----END CERTIFICATE-----\n`,
  };
}

const sequence = (...parts: Buffer[]): Buffer => der(0x30, ...parts);
const oid = (hex: string): Buffer => der(0x06, Buffer.from(hex, "hex"));

function der(tag: number, ...parts: Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length =
    size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

interface JwtKeys {
  /** PEM. */
  privateKey: string;
  publicKey: string;
}

export function jwtKeys(namedCurve = "P-384"): JwtKeys {
  return generateKeyPairSync("ec", {
    namedCurve,
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
    publicKeyEncoding: { type: "spki", format: "pem" },
  });
}

/** A JWT as another program would make it. `digest` and `alg` as ES384 has them, unless a test wants a wrong one. */
export function makeJwt(
  keys: JwtKeys,
  claims: object,
  { alg = "ES384", digest = "sha384" } = {},
): string {
  const signed = [{ alg, typ: "JWT" }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  const signature = sign(digest, Buffer.from(signed), {
    key: keys.privateKey,
    dsaEncoding: "ieee-p1363",
  });
  return `${signed}.${signature.toString("base64url")}`;
}

export const claimsOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()) as Record<
    string,
    unknown
  >;
