"""Whether a server can be trusted with a benchmark, found out by asking it."""

from vqa_client.client.check.examine import examine
from vqa_client.client.check.findings import Checked, Finding, Fingerprint, fingerprint
from vqa_client.client.check.short import short_check

__all__ = ["Checked", "Finding", "Fingerprint", "examine", "fingerprint", "short_check"]
