"""The modules of serve/tiny_vlm that need no torch."""

import sys

from vqa_client.shipped import shipped

sys.path.insert(0, str(shipped("serve")))
