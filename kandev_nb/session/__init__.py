"""Sessions: one agent, one endpoint and one ledger tied together, attempt by attempt.

A launch comes in; a running agent leaves, and evidence of everything that happened on the way.
All of it runs on the loop thread.
"""
