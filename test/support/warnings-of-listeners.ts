/** What the process has to say of many listeners on one signal. */
export async function warningsOfListeners(signal: AbortSignal): Promise<readonly string[]> {
  const names: string[] = [];
  const keep = ({ name }: Error): void => void names.push(name);
  const printers = process.listeners("warning");
  process.removeAllListeners("warning");
  process.on("warning", keep);
  const listeners = Array.from({ length: 20 }, () => (): void => undefined);
  for (const listener of listeners) signal.addEventListener("abort", listener);
  await new Promise((resolve) => setImmediate(resolve));
  for (const listener of listeners) signal.removeEventListener("abort", listener);
  process.off("warning", keep);
  for (const printer of printers) process.on("warning", printer);
  return names;
}
