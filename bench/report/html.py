"""report.html"""


def html_text(rows, name, unreadable):
    return "<html></html>"
