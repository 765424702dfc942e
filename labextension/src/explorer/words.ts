/** The few sentences that the kernel cannot say, because no kernel is there or it is not understood. */
export const words = {
  saved: 'saved',
  savedMeaning: 'Saved with the notebook; nothing here is live.',
  unreadable: 'This MCP server report cannot be read. Run the cell again to make a new one.',
  newer:
    'This MCP server report was saved by a newer kandev-nb. Update kandev-nb, or run the cell again.'
} as const;
