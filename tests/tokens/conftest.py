"""What the tests of this room share: one encoding made of the bundle, without the estimator."""

import pytest
import tiktoken

from kandev_nb.tokens._encoding import build
from kandev_nb.tokens._estimator import Estimator
from kandev_nb.tokens._vocabulary import BUNDLE, read_ranks


@pytest.fixture(scope="session")
def encoding() -> tiktoken.Encoding:
    return build(read_ranks(BUNDLE))


@pytest.fixture
def estimator() -> Estimator:
    """A fresh one, that has loaded nothing yet."""
    return Estimator(BUNDLE)
