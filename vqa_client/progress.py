"""What a run tells while it goes on; a display implements it, and none is needed."""

from vqa_client.types import Record, Status


class Progress:
    """Hears of a run's steps; each method may be overridden and none does anything here."""

    def note(self, text: str) -> None:
        """Something people should know once."""

    def begin(self, title: str, total: int) -> None:
        """A run of `total` questions starts."""

    def measuring(self, measure: str) -> None:
        """What the accuracy of the run that starts is, in words."""

    def earlier(self, status: Status, score: float) -> None:
        """A question is done since an earlier start of the same run; the score is NaN where nobody knows the answer."""

    def asking(self) -> None:
        """A question is taken up."""

    def serving(self, text: str) -> None:
        """How the servers stand, by their own figures, in a few words."""

    def pulse(self, paused_s: float) -> None:
        """A sign of life, a few times a second while questions are asked; all servers are paused for so long yet."""

    def finished(self, record: Record) -> None:
        """A question taken up has its record."""

    def end(self) -> None:
        """The run is over or stopped."""
