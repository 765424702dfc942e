"""An explorer as its page sees it: what it sent, and what it answers."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kandev_nb.widgets import Explorer
from kandev_nb.widgets.subjects import Explored
from tests.processes import eventually


class Page:
    """A page that shows an explorer. Messages come from several threads."""

    def __init__(self, explorer: Explorer) -> None:
        self.explorer = explorer
        self.messages: list[dict[str, Any]] = []
        self.rows: list[dict[str, Any]] = []
        self._count = 0
        explorer.send = self._take
        explorer.observe(self._see, "rows")

    def ask(self, op: str, **args: Any) -> dict[str, Any]:
        """Send a request as the page does, and return what was answered."""
        self._count += 1
        request = {"id": f"request-{self._count}", "op": op, "args": args}
        self.explorer._handle_custom_msg(request, [])
        self.wait_until(lambda: any(m.get("id") == request["id"] for m in self.messages))
        return next(m for m in self.messages if m.get("id") == request["id"])

    def reply(self, op: str, **args: Any) -> Any:
        """Send a request and return its reply."""
        answer = self.ask(op, **args)
        assert "error" not in answer, answer
        return answer["reply"]

    def refusal(self, op: str, **args: Any) -> str:
        """Send a request and return why it was refused."""
        return str(self.ask(op, **args)["error"]["text"])

    def choose(self, **traits: str) -> None:
        """Set traits as the page does."""
        self.explorer.set_state(traits)

    def draw(self) -> None:
        """Return once all that has been so far is drawn."""
        choices = self.explorer.rows["choices"]
        self.choose(session=self.explorer.session)
        self.wait_until(lambda: self.explorer.rows["choices"] > choices)

    def details(self) -> list[dict[str, Any]]:
        """Return every detail that was told, the last one last."""
        return [m for m in self.messages if m.get("channel") == "detail"]

    def wait_until(self, holds: Callable[[], bool]) -> None:
        """Wait until something holds."""
        assert eventually(holds, 30)

    def wait_for_status(self, server: str, status: str) -> None:
        """Wait until a server has that status on the page."""
        self.wait_until(lambda: self.statuses().get(server) == status)

    def statuses(self) -> dict[str, str]:
        """Return the status of every server, by name."""
        return {row["name"]: row["status"] for row in self.explorer.rows["rows"]}

    def _take(self, content: dict[str, Any], buffers: object = None) -> None:
        self.messages.append(content)

    def _see(self, change: dict[str, Any]) -> None:
        self.rows.append(change["new"])


@contextmanager
def shown(of: Explored) -> Iterator[Page]:
    """Show something in an explorer until the block ends."""
    explorer = Explorer(of)
    try:
        yield Page(explorer)
    finally:
        explorer.close()
