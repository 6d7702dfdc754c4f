"""Foreign text made safe for a terminal."""

from vqa_client.reports.names import count as count
from vqa_client.unseen import unseen

_UNSEEN = unseen(lines=True)


def safe(text: str) -> str:
    """Show what is not seen, turns the direction or commands the terminal as its code, instead of obeying it."""
    return _UNSEEN.sub(lambda found: f"\\x{ord(found.group()):02x}", text)


def duration(seconds: float) -> str:
    """Seconds as people say them."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"
