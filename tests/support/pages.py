"""The texts of a report's page, the packed ones too."""

import base64
import re
import zlib
from pathlib import Path


def whole_page(path: Path) -> str:
    """`report.html` and, behind it, what is packed in it."""
    page = path.read_text(encoding="utf-8")
    packed = re.findall(r'<script type="text/plain"[^>]*>([^<]*)</script>', page)
    return "\n".join([page, *(zlib.decompress(base64.b64decode(text)).decode() for text in packed)])
