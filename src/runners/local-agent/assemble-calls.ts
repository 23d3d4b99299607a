/** Joins the pieces of tool calls into whole calls, as they arrive (local-agent §12.6–§12.8). Pure. */
import { JsonBalance } from "../../lib/json-values.js";
import type { CallPiece } from "../../ports/chat-model.js";

/** A call as the model made it: nothing is checked yet. */
export interface AssembledCall {
  /** The provider's id, or null where it sent none. */
  readonly id: string | null;
  readonly name: string;
  /** As received; may be cut, doubled or no JSON at all. */
  readonly argumentsText: string;
  /** Unknown fields of the call; `function` holds those of its inner object (§12.18). */
  readonly extra: Readonly<Record<string, unknown>>;
}

interface OpenCall {
  id: string | null;
  index: number | null;
  name: string | null;
  argumentsText: string;
  /** Whether the arguments so far are complete, followed as they grow: some servers send thousands of pieces. */
  readonly balance: JsonBalance;
  extra: Record<string, unknown>;
}

/** Collects the pieces of one reply. */
export class CallAssembler {
  readonly #calls: OpenCall[] = [];

  push(piece: CallPiece): void {
    const call = this.#callFor(piece);
    call.id ??= piece.id || null;
    call.index ??= piece.index ?? null;
    call.name ??= piece.name || null;
    const text = toText(piece.arguments);
    call.argumentsText += text;
    call.balance.push(text);
    Object.assign(call.extra, piece.extra);
  }

  /** The calls so far, in order of arrival; what never got a name is no call (§12.7). */
  get calls(): readonly AssembledCall[] {
    return this.#calls.flatMap(({ id, name, argumentsText, extra }) =>
      name === null ? [] : [{ id, name, argumentsText, extra }],
    );
  }

  #callFor(piece: CallPiece): OpenCall {
    const newest = this.#calls.findLast((call) => agrees(call, piece));
    if (newest !== undefined && !beginsNewCall(newest, piece)) return newest;
    const call: OpenCall = {
      id: null,
      index: null,
      name: null,
      argumentsText: "",
      balance: new JsonBalance(),
      extra: {},
    };
    this.#calls.push(call);
    return call;
  }
}

/** A missing id or index agrees with everything. */
function agrees(call: OpenCall, piece: CallPiece): boolean {
  const sameId = call.id === null || !piece.id || call.id === piece.id;
  const sameIndex = call.index === null || piece.index === undefined || call.index === piece.index;
  return sameId && sameIndex;
}

/** Some servers repeat the name on every piece: the same name goes on with a call whose arguments are still open. */
function beginsNewCall(call: OpenCall, piece: CallPiece): boolean {
  if (!piece.name || call.name === null) return false;
  return call.name !== piece.name || call.balance.isClosed;
}

function toText(value: CallPiece["arguments"]): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
