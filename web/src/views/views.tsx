/** Plots of both arms on linked axes, with their tables. */
export function Views() {
  return <section aria-label="Views" />;
}
