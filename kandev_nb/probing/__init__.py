"""The sentinel probe: what one agent does with an MCP server, recorded frame by frame (DI-3).

An agent's name or command comes in. It is started as every session's agent is, handed our own
endpoint with one harmless tool, and watched; a summary leaves, and a file of raw frames, which the
user asked for by probing. Nothing else in this project records frames (SA-1).

::

    asking       what a user wants probed, read from arguments; the public ``probe``
    running      the course of one probe
    sentinel     the one tool, and the one permission that is given
    summary      what was seen: a word for each step
      words      the same as text
    recorder     the file of raw frames: one JSON object a line
      probe.schema.json   its published schema
    frame        that file, read back as a pandas frame
    matrix       many agents over many transports
    junit        that, as CI servers read it
    commands     ``kandev-nb probe`` and ``kandev-nb matrix``

The modules are imported by name; this package itself loads nothing, for the command line starts
here too. It is not called ``probe``, for that is the name of the public function.
"""
