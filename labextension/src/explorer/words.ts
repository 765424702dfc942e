/**
 * The few sentences that the kernel does not say: no kernel is there, it is not understood, or what
 * it tells of passes.
 */
export const words = {
  saved: 'saved',
  savedMeaning: 'Saved with the notebook; nothing here is live.',
  unreadable: 'This MCP server report cannot be read. Run the cell again to make a new one.',
  newer:
    'This MCP server report was saved by a newer kandev-nb. Update kandev-nb, or run the cell again.',
  session: (name: string) => `Session "${name}"`,
  working: 'The agent is working',
  interrupted: 'Interrupted',
  agentSays: 'What the agent says',
  toolCalls: 'Tool calls',
  toolCallCount: (count: number) => (count === 1 ? '1 tool call' : `${count} tool calls`),
  earlierToolCalls: (count: number) =>
    count === 1 ? '1 earlier tool call' : `${count} earlier tool calls`,
  seconds: (count: number) => `${count} s`,
  toolCall: {
    pending: 'pending',
    in_progress: 'running',
    completed: 'completed',
    failed: 'failed',
    cancelled: 'cancelled'
  } as Record<string, string>
} as const;
