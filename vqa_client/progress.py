"""The progress of a run; a display overrides it, and a run needs none."""

from vqa_client.types import Record, Status


class Progress:
    """Gets the steps of a run; each method may be overridden, and does nothing here."""

    def note(self, text: str) -> None:
        """Show a line once."""

    def begin(self, title: str, total: int) -> None:
        """A run of `total` questions starts."""

    def measuring(self, measure: str) -> None:
        """The name of the accuracy of the run that starts."""

    def earlier(self, status: Status, score: float) -> None:
        """An earlier start has this record; the score is NaN if the right answer isn't known."""

    def asking(self) -> None:
        """A worker starts a question."""

    def serving(self, text: str) -> None:
        """The state of the servers by their own metrics, in a few words."""

    def pulse(self, paused_s: float) -> None:
        """Called a few times per second during a run; all servers are paused for `paused_s` more seconds."""

    def finished(self, record: Record) -> None:
        """A started question has its record."""

    def end(self) -> None:
        """The run has ended or was stopped."""
