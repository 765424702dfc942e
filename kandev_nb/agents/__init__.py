"""Agents: where the processes live.

This room starts an agent's command, speaks the Agent Client Protocol with it over its standard
input and output, and ends it. A registry entry or a command comes in; a connection that can open
sessions and take prompts leaves. What the agent says on the way is handed on as it is, and nothing
of it is kept or logged here.

::

    registry     the agents that can be started by name
      known        the built-in ones, as they were measured
      spec         what is known of an agent before it starts
      finding      where its program is
      listing      what ``kandev-nb agents`` shows
    connection   one agent, spoken to: what the rest of the house uses
      delivery     the session/new frame, built whole or not at all
      turn         what happens between a prompt and its answer
      opened       a session that the agent has opened, and what can be chosen in it
      requests     what the agent asks of us, and what it gets
        permission   who decides what it may do
        files        files inside the session's directory
        terminals    commands that it has run by us
      advertised   what the agent says of itself
      faults       the agent's errors, made ours
    transport    frames in and out, for the ACP library
      frames       lines of bytes, made into frames that are safe to take
    process      one agent's process group, its pipes and its end
      output       what it wrote to standard error lately
      watchdog     no agent outlives the kernel
    scripted/    the reference agent, for your own tests

The modules are imported by name; this package itself loads nothing, because the reference agent's
process starts here too.
"""
