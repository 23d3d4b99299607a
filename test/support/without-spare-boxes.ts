/** Settings of a service under test: no warm pool unless a test asks for one, as its boxes would be counted with the test's own. */
export function withoutSpareBoxes(
  settings: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { boxes } = settings;
  const said = typeof boxes === "object" && boxes !== null ? boxes : {};
  return { ...settings, boxes: { warm_pool: 0, ...said } };
}
