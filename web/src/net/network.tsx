/** The network with its packets in motion. */
export function Network() {
  return <section aria-label="Network" />;
}
