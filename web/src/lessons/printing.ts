/** The buttons that print a lesson: with hints and answer closed, or open. */

/** Shows the buttons and makes them work. */
export function printing(): void {
  const button = (id: string, open: boolean): void => {
    const element = document.getElementById(id);
    if (!element) return;
    element.hidden = false;
    element.addEventListener("click", () => {
      const details = [...document.querySelectorAll<HTMLDetailsElement>("article details")];
      const before = details.map((one) => one.open);
      for (const one of details) one.open = open;
      window.print();
      for (const [index, one] of details.entries()) one.open = before[index] ?? false;
    });
  };
  button("print", false);
  button("print-answer", true);
}
