/** Gives the values of several pieces of work in the order in which they end. */

/**
 * Every task is waited for by the end, unless the reader leaves early or a task fails; whoever started the tasks then
 * stops the others and waits for them.
 * @throws what the first failing task rejects with
 */
export async function* asTheyEnd<Value>(tasks: readonly Promise<Value>[]): AsyncGenerator<Value, void> {
  const ended: Promise<Value>[] = [];
  let wake: (() => void) | null = null;
  for (const task of tasks) {
    const note = (): void => {
      ended.push(task);
      wake?.();
    };
    task.then(note, note);
  }
  for (let given = 0; given < tasks.length; given += 1) {
    if (ended.length === 0)
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    const task = ended.shift();
    if (task !== undefined) yield await task;
  }
}
