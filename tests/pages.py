"""Reading pages in tests: the tags of a page, and the cells of its tables."""

from html.parser import HTMLParser


class Page(HTMLParser):
    """What is in a page: tags with their attributes, scripts, and tables as lists of rows of texts."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.scripts, self.tables, self.words = [], [], [], []
        self._open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)
        if tag == "script":
            self.scripts.append("")
        elif tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")

    def handle_endtag(self, tag):
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data):
        if "script" in self._open:
            self.scripts[-1] += data
        elif "td" in self._open or "th" in self._open:
            self.tables[-1][-1][-1] += data
        else:
            self.words.append(data)

    def table(self, *head):
        """Return the rows below the first head that starts with these cells."""
        return next(rows[1:] for rows in self.tables if rows[0][: len(head)] == list(head))
