/** Values as people read them. Pure. */

/** "12s", "5m", "3h", "8d", "2y", as kubectl shows ages. */
export function formatAge(sinceMs: number, nowMs: number): string {
  const seconds = Math.max(0, Math.floor((nowMs - sinceMs) / 1000));
  if (seconds < 120) return `${seconds}s`;
  if (seconds < 2 * 3600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)}h`;
  const days = Math.floor(seconds / 86_400);
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}

export function formatRate(perSecond: number): string {
  if (perSecond === 0) return "0";
  if (perSecond < 0.05) return "< 0.1";
  return perSecond < 10 ? perSecond.toFixed(1) : String(Math.round(perSecond));
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}
