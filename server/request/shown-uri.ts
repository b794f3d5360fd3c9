/**
 * The loggable parts of a request's URI, as it was sent. A path holds names; a query may hold anything,
 * such as the command of an exec or a token in the wrong place.
 */

/** Longer ones are truncated in log lines. */
const SHOWN_CHARS_MAX = 2_048;

/** Parameters whose values are API keywords, names or labels. */
const PLAIN_PARAMETERS: ReadonlySet<string> = new Set([
  ...["watch", "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds"],
  ...["labelSelector", "fieldSelector", "allowWatchBookmarks", "sendInitialEvents", "timeout"],
  ...["dryRun", "fieldManager", "fieldValidation", "force", "gracePeriodSeconds", "pretty"],
  ...["propagationPolicy", "orphanDependents", "includeObject", "verbose", "exclude"],
  ...["ignoreStoreReadErrorWithClusterBreakingPotential", "container", "follow", "previous"],
  ...["sinceSeconds", "sinceTime", "tailLines", "limitBytes", "timestamps", "ports"],
  ...["stdin", "stdout", "stderr", "tty"],
]);

const CREDENTIAL_PARAMETER = /token|secret|passw|credential|signature|api[-_]?key|^auth/i;

/** For logs: the values of all other parameters are replaced by a dash. */
export function shownUri(uri: string): string {
  const shown = withValues(uri, (name) => PLAIN_PARAMETERS.has(name));
  return shown.length <= SHOWN_CHARS_MAX ? shown : `${shown.slice(0, SHOWN_CHARS_MAX)}...`;
}

/** For audit: the whole URI, without values that look like credentials. */
export function recordedUri(uri: string): string {
  return withValues(uri, (name) => !CREDENTIAL_PARAMETER.test(name));
}

function withValues(uri: string, isShown: (name: string) => boolean): string {
  const own = withoutUserInfo(uri);
  const queryAt = own.indexOf("?");
  if (queryAt === -1) return own;
  const query = own
    .slice(queryAt + 1)
    .replace(/([^&=]+)(=[^&]*)?/g, (pair, name: string, value) => {
      return value === undefined || isShown(decoded(name)) ? pair : `${name}=-`;
    });
  return `${own.slice(0, queryAt)}?${query}`;
}

/** A request target in absolute form may have a user and a password. */
function withoutUserInfo(uri: string): string {
  return uri.startsWith("/") ? uri : uri.replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, "$1");
}

function decoded(name: string): string {
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}
