"""The plan of one task: what the plan tools read and write."""

from typing import Final

from kandev_nb.attachment.model import utc_now

DEFAULT_TITLE: Final = "Plan"


class Plan:
    """Title and Markdown of a plan. It lives as long as its task."""

    def __init__(self) -> None:
        self.title, self.content = DEFAULT_TITLE, ""
        self.created_at = self.updated_at = ""

    @property
    def exists(self) -> bool:
        """Whether a plan was saved and not deleted since."""
        return bool(self.created_at)

    def save(self, content: str, title: str | None = None) -> None:
        """Write the content; the title stays when none is given."""
        self.content = content
        self.title = title or self.title
        self.updated_at = utc_now()
        self.created_at = self.created_at or self.updated_at

    def clear(self) -> None:
        """Delete the plan."""
        vars(self).update(vars(Plan()))

    def to_json(self) -> dict[str, str]:
        """Return the plan as a JSON object; times are RFC 3339."""
        return {
            "title": self.title,
            "content": self.content,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
        }
