/** Presets, settings, flows, the scenario's text, and sharing. */
export function Controls() {
  return <section aria-label="Controls" />;
}
