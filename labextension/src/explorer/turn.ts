/** A prompt's turn, as the kernel tells of it while it goes on. */

export interface ToolCall {
  number: number;
  name: string;
  status: string;
}

export interface Turn {
  session: string;
  interrupted: boolean;
  seconds: number;
  /** The last words, and the number of the line that they begin with. */
  text: string;
  firstLine: number;
  /** How many tool calls there were, and the last of them. */
  count: number;
  calls: ToolCall[];
}

function whole(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function fields(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function call(value: unknown): ToolCall {
  const { number, name, status } = fields(value);
  return { number: whole(number), name: String(name ?? ''), status: String(status ?? '') };
}

/** As ACP asks of clients: the agent may not say any more what became of such a call. */
function cancelled(call: ToolCall): ToolCall {
  const open = call.status === 'pending' || call.status === 'in_progress';
  return open ? { ...call, status: 'cancelled' } : call;
}

/** Returns the turn of a message, or null for one that tells of none. */
export function readTurn(message: unknown): Turn | null {
  const { session, state, seconds, text, first_line, tool_call_count, tool_calls } =
    fields(message);
  if (typeof session !== 'string' || typeof text !== 'string') return null;
  const interrupted = state === 'interrupted';
  const calls = Array.isArray(tool_calls) ? tool_calls.map(call) : [];
  return {
    session,
    interrupted,
    seconds: whole(seconds),
    text,
    firstLine: whole(first_line),
    count: whole(tool_call_count),
    calls: interrupted ? calls.map(cancelled) : calls
  };
}
