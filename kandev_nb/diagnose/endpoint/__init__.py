"""The endpoint test: is a server there, does it speak MCP, which tools has it (DI-1).

A name of the session's configuration comes in, an :class:`EndpointTest` leaves. A server is started
or contacted as the agent would, from the same folder and environment; whatever was opened is closed
before the answer is given, however the test went. What the server sends is capped, and read as
plain JSON values, so that one bad entry hides none of the others.

The test is a fact of its own: it is no evidence and moves no status.
"""

from kandev_nb.diagnose.endpoint.asking import Subject, not_live, test_endpoint
from kandev_nb.diagnose.endpoint.result import EndpointTest

__all__ = ["EndpointTest", "Subject", "not_live", "test_endpoint"]
