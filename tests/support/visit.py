"""A report that is open in a browser, and what a reader does there."""

from pathlib import Path


class Visit:
    """A page that is open; what it complains about and asks for is in `heard`."""

    def __init__(
        self, browser, url: str, width: int = 1400, scheme: str = "light", before=lambda page: None
    ):
        self.page = browser.new_page(
            viewport={"width": width, "height": 900}, color_scheme=scheme, accept_downloads=True
        )
        self.heard: list[str] = []
        self.page.on("console", lambda said: self.heard.append(f"{said.type}: {said.text}"))
        self.page.on("pageerror", lambda error: self.heard.append(f"error: {error}"))
        self.page.on("dialog", lambda dialog: self.heard.append(f"dialog: {dialog.message}"))
        allowed = (url.rpartition("/")[0], "data:", "blob:")
        self.page.on(
            "request",
            lambda asked: None if asked.url.startswith(allowed) else self.heard.append(asked.url),
        )
        before(self.page)
        self.open(url)

    def open(self, url: str) -> None:
        self.page.goto(url)
        self.page.wait_for_selector("body.complete #cases.ready")

    def draw(self, figure: str = "") -> None:
        """At once, what a reader who scrolls would see drawn bit by bit: one figure, or all;
        what is drawn already stays."""
        selector = (f"[data-figure={figure}] " if figure else "") + ".plot:not(.drawn)"
        self.page.evaluate(
            "(s) => Promise.all([...document.querySelectorAll(s)].map(draw))", selector
        )

    def switch(self, scheme: str) -> None:
        """From light to dark or back, and waits until the page has laid out its figures anew."""
        self.page.evaluate(
            "dark.addEventListener('change', () => { document.body.dataset.switched = dark.matches; })"
        )
        self.page.emulate_media(color_scheme=scheme)
        self.page.wait_for_selector("body[data-switched]")

    def hold_still(self) -> None:
        """Figures are drawn no more when they come into sight, which would move what is aimed
        at."""
        self.page.evaluate("seen.disconnect()")

    def titles(self, figure: str) -> list[str]:
        return self.page.locator(
            f"[data-figure={figure}] figcaption > span:first-child"
        ).all_inner_texts()

    def words(self, figure: str) -> list[str]:
        """The texts in a figure's first panel."""
        return (
            self.page.locator(f"[data-figure={figure}] .plot")
            .first.locator("svg text")
            .all_text_contents()
        )

    def table(self) -> dict[str, bool | int]:
        """Whether the table is wider than its frame, and how many different heights its lines
        have."""
        self.page.wait_for_selector("#cases.ready")
        return self.page.evaluate("""() => {
          const frame = document.getElementById("cases").parentElement;
          const heights = [...document.querySelectorAll("#cases tbody tr")].map((row) => Math.round(row.clientHeight));
          return { overflows: frame.scrollWidth > frame.clientWidth, heights: new Set(heights).size };
        }""")

    def lines(self) -> list[str]:
        self.page.wait_for_selector("#cases.ready")
        return self.page.locator("#cases tbody tr:visible th").all_inner_texts()

    def saved(self, button: str) -> bytes:
        self.hold_still()
        with self.page.expect_download() as download:
            self.page.locator(button).first.click()
        return Path(download.value.path()).read_bytes()
