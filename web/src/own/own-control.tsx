/** The editor of the user's congestion control, and stepping through its calls. */
export function OwnControl() {
  return <section aria-label="OwnControl" />;
}
