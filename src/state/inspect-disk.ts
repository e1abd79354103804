import { statfsSync } from "node:fs";

export interface DiskFacts {
  freeBytes: number;
  /** Name of the network file system that the folder is on; null for a local one, or where that cannot be told. */
  network: string | null;
}

/** The `f_type` of Linux's statfs(2). Other systems number theirs as they mount them. */
const networkTypes: Readonly<Record<number, string>> = {
  0x6969: "NFS",
  0x517b: "SMB",
  0xff534d42: "CIFS",
  0xfe534d42: "SMB",
  0x01021997: "9P",
  0x5346414f: "AFS",
  0x00c36400: "Ceph",
  0x0bd00bd0: "Lustre",
  0x47504653: "GPFS",
};

/** Null where the system does not say. */
export function diskOf(folder: string): DiskFacts | null {
  try {
    const { bavail, bsize, type } = statfsSync(folder);
    return { freeBytes: bavail * bsize, network: networkTypes[type] ?? null };
  } catch {
    return null;
  }
}
