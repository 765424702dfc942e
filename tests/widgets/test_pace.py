"""The pace of a view, where the widget's own tests cannot see it: inside a drawing."""

import threading

import pytest

from kandev_nb.widgets.pace import Pace


class Drawing:
    """A drawing that a test holds up; ``begun`` counts how often it started."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.proceed = threading.Semaphore(0)

    def __call__(self) -> None:
        self.begun.release()
        assert self.proceed.acquire(timeout=10)


@pytest.mark.req("SE-5")
def test_a_change_that_comes_during_a_drawing_is_drawn_after_it() -> None:
    drawing = Drawing()
    pace = Pace(drawing, interval=0.01)
    pace.changed()
    assert drawing.begun.acquire(timeout=10)

    pace.changed()
    drawing.proceed.release()

    assert drawing.begun.acquire(timeout=10)
    drawing.proceed.release()
    pace.close()


@pytest.mark.req("SE-5")
def test_drawings_do_not_overlap() -> None:
    drawing = Drawing()
    pace = Pace(drawing, interval=0.0)
    pace.changed()
    assert drawing.begun.acquire(timeout=10)

    pace.changed()
    pace.changed()

    assert not drawing.begun.acquire(timeout=0.2)
    pace.close()
    drawing.proceed.release()
