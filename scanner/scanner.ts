import { initMasks } from "./values";

export { forgetKinds } from "./kinds";
export { hasKnownShape, scan, stoppedAt } from "./lines";
export {
  actions,
  eventKinds,
  idHashes,
  capacity,
  lineNumbers,
  outcomes,
  locations,
  scratch,
  shapes,
  shapesEnd,
  text,
  textEnd,
  times,
  vaultNumbers,
} from "./memory";
export { textFrom, textTo } from "./texts";
export { growVaults, limitVaults, uuidOf, vaultAt, vaults, wantOnlyFirst } from "./vaults";

initMasks();
