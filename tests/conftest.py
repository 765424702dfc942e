"""What every test shares."""

from hypothesis import settings

# A shared machine may be slow at any moment: how long an example takes proves nothing.
settings.register_profile("kandev", deadline=None, max_examples=60)
settings.load_profile("kandev")
