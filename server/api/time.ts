/** Times as the API writes them. */

/** "2024-05-01T10:20:30Z": whole seconds. @param ms since 1970 */
export function formatTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}
