import { generateKeyPairSync, sign } from "node:crypto";

export interface Certificate {
  key: string;
  cert: string;
}

/**
 * A self-signed certificate, written in DER by hand: Node can read certificates but not make them, and a fixture would
 * expire, and put a private key into the repository.
 */
export function selfSigned(options: { ip?: string; dns?: string; from?: string; to?: string } = {}): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { ip = "127.0.0.1", dns = "localhost", from = "20200101000000Z", to = "21200101000000Z" } = options;
  const algorithm = sequence(oid("2a8648ce3d040302")); // ecdsa-with-SHA256
  const name = sequence(der(0x31, sequence(oid("550403"), der(0x0c, Buffer.from("vault test")))));
  const names = sequence(der(0x82, Buffer.from(dns)), der(0x87, Buffer.from(ip.split(".").map(Number))));
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    sequence(der(0x18, Buffer.from(from)), der(0x18, Buffer.from(to))),
    name,
    publicKey.export({ format: "der", type: "spki" }),
    der(0xa3, sequence(sequence(oid("551d11"), der(0x04, names)))), // subjectAltName
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  const text = sequence(body, algorithm, signature).toString("base64").replace(/.{64}/g, "$&\n");
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
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}
