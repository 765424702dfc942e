"""Reports as pandas frames, one documented schema each, with stable dtypes.

Times are ``datetime64[us, UTC]``, counts are nullable integers, and what is missing is missing:
``NaT``, ``<NA>`` or empty text. An empty report gives an empty frame of the same schema.
"""

from kandev_nb.frames.columns import ALL_SERVERS, ALL_TIMELINES, PLAN, SERVERS, TIMELINE
from kandev_nb.frames.many import all_servers, all_timelines
from kandev_nb.frames.one import plan, servers, timeline

__all__ = [
    "ALL_SERVERS",
    "ALL_TIMELINES",
    "PLAN",
    "SERVERS",
    "TIMELINE",
    "all_servers",
    "all_timelines",
    "plan",
    "servers",
    "timeline",
]
