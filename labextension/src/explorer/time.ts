/** Times as a reader's clock shows them. */

/** Returns the time of an RFC 3339 moment, with the day when that is not `now`'s; else the text. */
export function clock(moment: string, language: string, now = new Date()): string {
  const date = new Date(moment);
  if (Number.isNaN(date.getTime())) return moment;
  const isToday = date.toDateString() === now.toDateString();
  const day = isToday ? {} : ({ year: 'numeric', month: 'short', day: 'numeric' } as const);
  return date.toLocaleString(language, {
    ...day,
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit'
  });
}

/** Returns seconds with as many digits as tell something. */
export function rounded(seconds: number): number {
  return Number(seconds.toFixed(seconds < 10 ? 2 : seconds < 100 ? 1 : 0));
}
