"""Every page of the built book in a real browser: from a folder and over HTTP, on a desk and on a phone."""

from pathlib import Path

import pytest
import yaml
from axe_playwright_python.sync_playwright import Axe

import pcenlib

ROOT = Path(__file__).parent.parent.parent


def pages():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    chapters = [chapter for part in toc["parts"] for chapter in part["chapters"]]
    nested = [[chapter, *chapter.get("sections", [])] for chapter in chapters]
    files = [toc["root"], *(page["file"] for pages in nested for page in pages)]
    return [f"{file}.html" for file in files] + ["search.html", "genindex.html"]


each_page = pytest.mark.parametrize("page_name", pages())
THEME = {"label-content-name-mismatch", "region"}  # axe's rules that the theme itself breaks on every page
VIOLATIONS = {"resultTypes": ["violations"]}  # every rule runs; what passes is not described, which halves the time
CONTRAST = {**VIOLATIONS, "runOnly": ["color-contrast"]}
ALL_BUT_CONTRAST = {**VIOLATIONS, "rules": {"color-contrast": {"enabled": False}}}

SOUNDS = """async () => Promise.all([...document.querySelectorAll('audio')].map(async audio => {
    if (audio.readyState < 1)
        await new Promise(done => { audio.onloadedmetadata = audio.onerror = done; audio.load(); });
    return [audio.duration, audio.getAttribute('aria-label')];
}))"""


# A page holds thousands of words, and axe takes milliseconds over the contrast of each. One is enough of all that look
# alike in both themes: the same colors, sizes and effects, in elements of which the same is true. The others become as
# much empty space, with line breaks where they were.
BLANK_WORDS_THAT_LOOK_ALIKE = """themes => {
    const effects = ['color', 'backgroundColor', 'backgroundImage', 'fontSize', 'fontWeight', 'opacity', 'filter',
                     'mixBlendMode', 'textShadow', 'visibility', 'display', 'position', 'zIndex'];
    const words = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), looks = new Map();
    while (words.nextNode()) if (words.currentNode.data.trim()) looks.set(words.currentNode, '');
    for (const theme of themes) {
        document.documentElement.dataset.theme = theme;
        const known = new Map([[null, 0]]), numbers = new Map();
        const look = element => {
            if (!known.has(element)) {
                const style = getComputedStyle(element);
                const own = [look(element.parentElement), ...effects.map(effect => style[effect])].join('; ');
                if (!numbers.has(own)) numbers.set(own, numbers.size + 1);
                known.set(element, numbers.get(own));
            }
            return known.get(element);
        };
        for (const [word, before] of looks) looks.set(word, `${before} ${look(word.parentElement)}`);
    }
    const seen = new Set();
    for (const [word, alike] of looks) {
        if (seen.has(alike)) word.data = word.data.replace(/\\S/g, '\\u00a0');
        seen.add(alike);
    }
    return seen.size;
}"""
# The glyphs of formulas are thousands of elements without a word of their own.
EMPTY_FORMULAS = "document.querySelectorAll('mjx-container svg').forEach(drawing => drawing.replaceChildren())"
THEMES = ["light", "dark"]

IMAGES = "[...document.images].map(i => [i.alt, i.naturalWidth, i.closest('.bd-article') !== null])"


@pytest.fixture
def visit(browser, book, served):
    contexts = []

    def open_page(name, *, scheme="http"):
        base = served if scheme == "http" else book.as_uri()
        context = browser.new_context(viewport={"width": 1280, "height": 900}, reduced_motion="reduce")
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("console", lambda message: message.type == "error" and page.problems.append(message.text))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("requestfailed", lambda request: page.problems.append(f"failed: {request.url}"))
        page.on("request", lambda r: r.url.startswith((base, "data:")) or page.problems.append(f"left: {r.url}"))
        page.goto(f"{base}/{name}", wait_until="load")
        page.wait_for_function("!window.MathJax || (MathJax.startup && MathJax.startup.promise)")
        page.evaluate("window.MathJax ? MathJax.startup.promise.then(() => true) : true")
        return page

    yield open_page
    for context in contexts:
        context.close()


@each_page
@pytest.mark.parametrize("scheme", ["file", "http"])
def test_page_is_whole_without_a_network_and_accessible_but_for_what_the_theme_does(visit, page_name, scheme):
    page = visit(page_name, scheme=scheme)
    assert page.locator("mjx-container").count() >= page.locator(".math").count()
    assert page.locator("[data-mml-node=merror], mjx-merror").count() == 0
    for duration, label in page.evaluate(SOUNDS):
        assert duration > 0.1, f"a sound that cannot be played: {label}"
        assert label
    for alt, width, in_article in page.evaluate(IMAGES):
        assert width > 0, f"a picture that cannot be shown: {alt}"
        assert len(alt.split()) > (8 if in_article else 0), f"an alternative text that says nothing: {alt}"
    for width in (390, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, f"scrolls sideways at {width} pixels"
    assert page.problems == []
    if scheme == "http":  # the same elements and colors as from a folder, and what axe does takes longest of all
        check_accessibility(page)


def check_accessibility(page):
    page.add_style_tag(content="*, ::before, ::after { transition: none !important; animation: none !important }")
    page.evaluate(EMPTY_FORMULAS)
    for rules in (ALL_BUT_CONTRAST, CONTRAST):
        if rules is CONTRAST:
            page.evaluate(BLANK_WORDS_THAT_LOOK_ALIKE, THEMES)
        for theme in THEMES:
            page.evaluate("theme => document.documentElement.dataset.theme = theme", theme)
            violations = Axe().run(page, options=rules).response["violations"]
            found = {v["id"]: [node["target"] for node in v["nodes"]] for v in violations if v["id"] not in THEME}
            assert found == {}, f"in the {theme} theme"


FAINT = "<style>[data-theme=dark] body { background: #111; color: #eee } [data-theme=dark] .x { color: #222 }</style>"


@pytest.mark.parametrize(
    ("faint", "theme"),
    [('<i style="color: #eee">faint</i>', "light"), ('<i class="x">faint</i>', "dark"), ("<i>plain</i>", None)],
)
def test_one_faint_word_among_thousands_is_found(browser, faint, theme):
    page = browser.new_page()
    words = "<p>" + " ".join(["<i>plain</i>"] * 2000) + f"</p><p><b>{faint}</b> <b><i>plain</i></b></p>"
    page.set_content(f'<html lang="en"><title>words</title>{FAINT}<main><h1>words</h1>{words}</main></html>')
    if theme is None:
        check_accessibility(page)
        assert page.evaluate(BLANK_WORDS_THAT_LOOK_ALIKE, THEMES) == 3  # the title, and words in one element or in two
    else:
        with pytest.raises(AssertionError, match=rf"(?s)in the {theme} theme\n.*color-contrast"):
            check_accessibility(page)
    page.close()


def test_the_reader_can_switch_to_dark_mode(visit):
    page = visit("index.html", scheme="file")
    switch = page.locator("button.theme-switch-button:visible").first
    while page.evaluate("document.documentElement.dataset.theme") != "dark":
        switch.click()
    assert page.problems == []


def test_search_finds_a_word_with_no_network(visit):
    page = visit("search.html?q=softplus", scheme="file")
    page.wait_for_selector("#search-results li a")
    assert page.locator("#search-results li a", has_text="proof").count() > 0


def test_a_solution_is_folded_and_opens(visit):
    page = visit("notebooks/01-introduction.html")
    solution = page.locator("div.solution.dropdown").first
    assert solution.locator("div.cell_output").first.is_hidden()
    solution.locator("button, .toggle-button, summary").first.click()
    assert solution.locator("div.cell_output").first.is_visible()


def test_a_chapter_offers_binder_colab_and_its_notebook(visit):
    page = visit("notebooks/01-introduction.html")
    links = page.evaluate("[...document.querySelectorAll('.article-header-buttons a')].map(a => a.href)")
    place = "notebooks/01-introduction.ipynb"
    tag = f"v{pcenlib.__version__}"
    assert any("mybinder.org" in link and link.endswith(f"/{tag}?urlpath=lab/tree/{place}") for link in links)
    assert any("colab.research.google.com" in link and link.endswith(f"/blob/{tag}-colab/{place}") for link in links)
    assert any(link.endswith(f"_sources/{place}") for link in links)
