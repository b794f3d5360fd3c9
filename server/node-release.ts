/**
 * What the Node.js that runs this may be: the two newest releases with long support. An older one that the bundle can
 * still run on is warned about, as many machines have it; one that is older still is told what is needed.
 */

/** The oldest release that is tested. */
const SUPPORTED_MAJOR = 22;
/** What the bundle needs to run at all. */
const USABLE_MAJOR = 20;
/** They forget the intermediate certificates of clients (docs/run/access.md). */
const LOSES_CHAINS = /^v(24\.21|26\.8)\.\d+$/;

/** The sentence for who started this with a release that cannot run it. @param version as in `process.version` */
export function refusalOf(version: string): string | undefined {
  if (majorOf(version) >= USABLE_MAJOR) return undefined;
  return `keelson: this needs Node.js ${SUPPORTED_MAJOR} or newer, and was started by ${version}`;
}

/** What the log says about it at a start. */
export function warningsAbout(version: string): string[] {
  if (majorOf(version) < SUPPORTED_MAJOR) {
    return [`this needs Node.js ${SUPPORTED_MAJOR} or newer and is not tested with ${version}`];
  }
  if (!LOSES_CHAINS.test(version)) return [];
  return [
    `Node.js ${version} forgets intermediate certificates of clients: those who need them are not known`,
  ];
}

function majorOf(version: string): number {
  return Number.parseInt(version.slice(1), 10);
}
