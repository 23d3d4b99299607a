/** Finds fenced code blocks in Markdown text (CommonMark §4.5); one that is not closed is none. Pure. */

export interface CodeBlock {
  /** First word after the fence, in lower case; empty if there is none. */
  readonly language: string;
  readonly code: string;
}

interface OpenBlock {
  readonly fence: string;
  readonly indent: number;
  readonly language: string;
  readonly lines: string[];
}

export function findCodeBlocks(text: string): readonly CodeBlock[] {
  const blocks: CodeBlock[] = [];
  let open: OpenBlock | null = null;
  for (const line of text.split(/\r?\n/)) {
    if (open === null) {
      open = readOpening(line);
    } else if (closes(line, open.fence)) {
      blocks.push({ language: open.language, code: open.lines.map((kept) => `${kept}\n`).join("") });
      open = null;
    } else {
      open.lines.push(withoutIndent(line, open.indent));
    }
  }
  return blocks;
}

function readOpening(line: string): OpenBlock | null {
  const found = /^( {0,3})(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line);
  if (found === null) return null;
  const [, indent = "", fence = "", word = ""] = found;
  return {
    fence,
    indent: indent.length,
    language: word.toLowerCase().replace(/^\{?\.?|\}$/g, ""),
    lines: [],
  };
}

function closes(line: string, fence: string): boolean {
  const found = /^ {0,3}(`{3,}|~{3,})\s*$/.exec(line)?.[1];
  return found !== undefined && found.startsWith(fence);
}

function withoutIndent(line: string, indent: number): string {
  const own = /^ */.exec(line)?.[0].length ?? 0;
  return line.slice(Math.min(own, indent));
}
