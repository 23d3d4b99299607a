/** docs/settings.md from the configuration schema. */
import { settingsSchema } from "../../src/config/config-schema.js";
import { describeAllowed, type SchemaNode, toSchemaNode } from "../../src/config/describe-setting.js";

const HEAD = `# Settings

One YAML file: \`berth.yaml\` in the working directory, or the one that \`BERTH_CONFIG\` names. Without a file everything below has its default. \`berth check-config FILE\` tells every fault in one list; so does a start, with exit code 78.

\`\${VAR}\` in a text is replaced by that variable of the environment, \`\${VAR:-default}\` falls back to the default where it is missing or empty, and \`$\${\` stands for a plain \`\${\`. A text that came from the environment is read as a number or as true or false where the setting wants one. A missing variable without default is a fault.

| Variable | Overrides |
|---|---|
| \`BERTH_CONFIG\` | the configuration file |
| \`BERTH_HOST\`, \`BERTH_PORT\` | \`server.host\`, \`server.port\` |
| \`BERTH_DATA_DIR\` | \`storage.directory\`; database and files then lie in it |
| \`BERTH_API_KEY\` | adds an admin key of the tenant \`main\`, to which all that is done without keys belongs, unless the file has that key |
| \`BERTH_LOG_LEVEL\` | \`log.level\` |
| \`DOCKER_HOST\` | \`boxes.engines[0].host\` |
| \`OPENAI_API_KEY\`, \`OPENAI_BASE_URL\`, \`OPENAI_MODEL\` | the model \`main\`, where the file lists no models |

This page is made from the schema by \`npm run generate\`.
`;

interface Row {
  readonly path: string;
  readonly node: SchemaNode;
  /** The group it stands in cannot be without it. */
  readonly isRequired: boolean;
}

/** The whole page. */
export function settingsPage(): string {
  const root = toSchemaNode(settingsSchema);
  const { sections, single } = splitTop(root);
  const pages = sections.map(({ path, node }) => sectionOf(path, node));
  const others = single.map(rowText);
  return [HEAD, ...pages, `## Others\n\n${tableOf(others)}`].join("\n");
}

function splitTop(root: SchemaNode): { sections: Row[]; single: Row[] } {
  const all = childrenOf(root, "");
  const hasRows = ({ path, node }: Row) =>
    leavesOf({ path, node, isRequired: false }).length > 1 || node.properties !== undefined;
  return { sections: all.filter(hasRows), single: all.filter((row) => !hasRows(row)) };
}

function sectionOf(path: string, node: SchemaNode): string {
  const rows = leavesOf({ path, node, isRequired: false }).map(rowText);
  return `## ${path}\n\n${node.description ?? ""}\n\n${tableOf(rows)}`;
}

function tableOf(rows: readonly string[]): string {
  return `| Setting | Allowed | Default | Meaning |\n|---|---|---|---|\n${rows.join("\n")}\n`;
}

/** Every setting below a node that holds no others; lists and groups of groups are walked. */
function leavesOf(row: Row): Row[] {
  const children = childrenOf(row.node, row.path);
  return children.length === 0 ? [row] : children.flatMap(leavesOf);
}

function childrenOf(node: SchemaNode, path: string): Row[] {
  if (node.properties !== undefined) {
    const prefix = path === "" ? "" : `${path}.`;
    return Object.entries(node.properties).flatMap(([name, child]) =>
      typeof child === "object"
        ? [{ path: `${prefix}${name}`, node: child, isRequired: node.required?.includes(name) ?? false }]
        : [],
    );
  }
  const { items, additionalProperties } = node;
  if (typeof items === "object" && !Array.isArray(items) && items.properties !== undefined)
    return childrenOf(items, `${path}[]`);
  if (typeof additionalProperties === "object" && additionalProperties.properties !== undefined)
    return childrenOf(additionalProperties, `${path}.<name>`);
  return [];
}

function rowText({ path, node, isRequired }: Row): string {
  const unit = node["unit"];
  const allowed = `${describeAllowed(node)}${typeof unit === "string" ? ` (${unit})` : ""}`;
  const missing = isRequired ? "required" : "none";
  const preset = node.default === undefined ? missing : `\`${JSON.stringify(node.default)}\``;
  return `| \`${path}\` | ${cell(allowed)} | ${cell(preset)} | ${cell(node.description ?? "")} |`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("<", "&lt;");
}
