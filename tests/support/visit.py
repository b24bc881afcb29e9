"""A report in a browser, and a reader's actions."""

from pathlib import Path


class Visit:
    """An open page; `heard` has its complaints and requests."""

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
        """Draws one figure or all at once, as scrolling would; drawn panels stay."""
        selector = (f"[data-figure={figure}] " if figure else "") + ".plot:not(.drawn)"
        self.page.evaluate(
            "(s) => Promise.all([...document.querySelectorAll(s)].map(draw))", selector
        )

    def switch(self, scheme: str) -> None:
        """Switches between light and dark, and waits until the figures are laid out again."""
        self.page.evaluate(
            "dark.addEventListener('change', "
            "() => { document.body.dataset.switched = dark.matches; })"
        )
        self.page.emulate_media(color_scheme=scheme)
        self.page.wait_for_selector("body[data-switched]")

    def hold_still(self) -> None:
        """Stops drawing panels that come into view, which would move what is clicked."""
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
        """Returns whether the table is wider than its frame, and its number of line heights."""
        self.page.wait_for_selector("#cases.ready")
        return self.page.evaluate("""() => {
          const frame = document.getElementById("cases").parentElement;
          const heights = [...document.querySelectorAll("#cases tbody tr")]
            .map((row) => Math.round(row.clientHeight));
          const overflows = frame.scrollWidth > frame.clientWidth;
          return { overflows, heights: new Set(heights).size };
        }""")

    def lines(self) -> list[str]:
        self.page.wait_for_selector("#cases.ready")
        return self.page.locator("#cases tbody tr:visible th").all_inner_texts()

    def saved(self, button: str) -> bytes:
        self.hold_still()
        with self.page.expect_download() as download:
            self.page.locator(button).first.click()
        return Path(download.value.path()).read_bytes()
