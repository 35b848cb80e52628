"""Reports in a real browser: what happens on clicks, drags and keys, on paper, in the dark, and without scripts."""

from __future__ import annotations

import pytest

READY = "document.documentElement.dataset.ready === 'true'"
SERIOUS = ("serious", "critical")


class Watched:
    """A page whose requests and errors are taken note of."""

    def __init__(self, browser, path, **options):
        options = {"viewport": {"width": 1280, "height": 900}, **options}
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.errors = []
        self.requests = []
        self.page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("dialog", lambda dialog: (self.errors.append(dialog.message), dialog.dismiss()))
        self.page.goto(path.as_uri())
        self.scripted = options.get("java_script_enabled", True)
        if self.scripted:
            self.page.wait_for_function(READY)

    def settle(self):
        """Wait until what was changed is drawn, which is before the next frame; without scripts nothing changes."""
        if not self.scripted:
            return
        self.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def words(self, name):
        self.settle()
        return self.page.locator(f"#{name}").text_content()

    def pixels(self, name):
        """Return the picture of a canvas, to be compared with another one."""
        self.settle()
        return self.page.evaluate(f"document.getElementById('{name}').toDataURL()")

    def shows(self, selector):
        self.settle()
        return self.page.locator(selector).first.is_visible()


@pytest.fixture
def opened(browser):
    """Open a page, and see to it that it has asked for nothing and failed nowhere."""
    watched = []

    def open_page(path, **options):
        watched.append(Watched(browser, path, **options))
        return watched[-1]

    yield open_page
    for each in watched:
        each.context.close()
        assert each.errors == []
        assert len(each.requests) == 1, each.requests


@pytest.fixture
def series_path(series, written):
    return written(series, "series").path


def test_scripts_bring_the_timeline_to_life_and_hide_the_still_one(opened, series_path):
    view = opened(series_path)
    assert view.shows("#time-strips")
    assert not view.shows(".still")
    assert view.words("time-words").startswith("All of the time: cluster 0")


def test_a_switch_hides_a_cluster_on_the_whole_page(opened, series_path):
    view = opened(series_path)
    before = {name: view.pixels(name) for name in ("time-strips", "time-courses")}
    view.page.locator("[data-switch='1']").uncheck()
    assert view.pixels("time-strips") != before["time-strips"]
    assert view.pixels("time-courses") != before["time-courses"]
    assert not view.shows("article[data-cluster='1']")
    assert not view.shows("figure[data-cluster='1']")
    assert view.shows("article[data-cluster='0']")
    assert "1" not in view.words("selection")


def test_only_this_shows_one_cluster_and_show_all_the_others_again(opened, series_path):
    view = opened(series_path)
    before = view.pixels("time-strips")
    view.page.locator("[data-only='0']").click()
    assert view.words("selection") == "Shown: 0."
    assert [part.is_visible() for part in view.page.locator("article.card").all()][:2] == [True, False]
    view.page.locator("#show-all").click()
    assert view.words("selection") == "All are shown."
    assert view.pixels("time-strips") == before


def test_a_drag_on_the_strip_looks_closer_and_a_double_click_shows_all_again(opened, series_path):
    view = opened(series_path)
    box = view.page.locator("#time-strips").bounding_box()
    view.page.mouse.move(box["x"] + 100, box["y"] + 10)
    view.page.mouse.down()
    view.page.mouse.move(box["x"] + 300, box["y"] + 10, steps=4)
    view.page.mouse.up()
    view.settle()
    assert view.words("time-words").startswith("step ")
    view.page.locator("#time-strips").dblclick()
    view.settle()
    assert view.words("time-words").startswith("All of the time")


def test_the_brush_on_the_overview_makes_a_window_and_moves_it(opened, series_path):
    view = opened(series_path)
    box = view.page.locator("#time-overview").bounding_box()

    def drag(begin, end):
        view.page.mouse.move(box["x"] + begin * box["width"], box["y"] + 10)
        view.page.mouse.down()
        view.page.mouse.move(box["x"] + end * box["width"], box["y"] + 10, steps=4)
        view.page.mouse.up()
        view.settle()
        return int(view.page.locator("#time-overview").get_attribute("aria-valuenow"))

    assert drag(0.2, 0.4) == pytest.approx(30, abs=2)
    assert drag(0.3, 0.6) == pytest.approx(60, abs=2)


def test_arrow_keys_zoom_and_move_and_escape_shows_all(opened, series_path):
    view = opened(series_path)
    slider = view.page.locator("#time-overview")
    slider.focus()
    for key, told in (
        ("ArrowUp", 50),
        ("ArrowRight", 60),
        ("End", 75),
        ("Home", 25),
        ("ArrowLeft", 25),
        ("Escape", 50),
    ):
        view.page.keyboard.press(key)
        view.settle()
        assert int(slider.get_attribute("aria-valuenow")) == told, key
    assert slider.get_attribute("aria-valuetext") == "All of the time"


def test_the_pointer_is_told_the_time_the_cluster_and_the_values(opened, series_path):
    view = opened(series_path)
    view.page.locator("#time-strips").hover(position={"x": 50, "y": 10})
    view.settle()
    assert view.words("time-cursor").startswith("step ")
    assert "cluster 0" in view.words("time-cursor")


def test_more_features_can_be_shown(opened, series_path):
    view = opened(series_path)
    before = view.page.locator("#time-courses").bounding_box()["height"]
    view.page.locator("#time-more").click()
    view.settle()
    assert view.page.locator("#time-courses").bounding_box()["height"] > before


def test_the_slider_relabels_strip_and_legend_and_goes_back(opened, series_path):
    view = opened(series_path)
    before = view.pixels("time-strips")
    slider = view.page.locator("#alternative")
    slider.focus()
    view.page.keyboard.press("Home")
    assert view.pixels("time-strips") != before
    assert view.words("alternative-words").startswith("1 cluster")
    assert slider.get_attribute("aria-valuetext") == "1 cluster"
    assert "another answer" in view.words("labelling-note")
    assert sum(view.page.locator("[data-item]").nth(k).is_visible() for k in range(3)) == 1
    view.page.locator("#alternative-back").click()
    assert view.pixels("time-strips") == before
    assert not view.shows("#labelling-note")


def test_everything_can_be_reached_and_switched_by_keyboard(opened, series_path):
    view = opened(series_path)
    reached = []
    for _ in range(40):
        view.page.keyboard.press("Tab")
        reached.append(view.page.evaluate("document.activeElement.id || document.activeElement.dataset.switch || ''"))
    assert {"0", "1", "time-earlier", "time-overview"} <= set(reached)
    view.page.locator("[data-switch='0']").focus()
    view.page.keyboard.press("Space")
    view.settle()
    assert not view.shows("article[data-cluster='0']")


def test_map_and_timeline_follow_each_other(opened, spacetime, written):
    view = opened(written(spacetime, "spacetime").path)
    before = view.pixels("map-canvas")
    view.page.locator("#time-overview").focus()
    view.page.keyboard.press("ArrowUp")
    assert view.pixels("map-canvas") != before
    view.page.keyboard.press("Escape")
    assert view.pixels("map-canvas") == before
    view.page.locator("[data-only='1']").click()
    assert view.pixels("map-canvas") != before


def test_the_map_is_magnified_by_buttons_and_keys(opened, europe, written):
    view = opened(written(europe, "europe").path)
    before = view.pixels("map-canvas")
    view.page.locator("#map-in").click()
    closer = view.pixels("map-canvas")
    assert closer != before
    view.page.locator("#map-frame").focus()
    view.page.keyboard.press("ArrowRight")
    assert view.pixels("map-canvas") != closer
    view.page.keyboard.press("Escape")
    assert view.pixels("map-canvas") == before
    view.page.locator("#map-canvas").hover(position={"x": 300, "y": 200})
    assert "°" in view.words("map-cursor")


def test_groups_have_their_strips_and_the_features_of_the_chosen_one(opened, machines, written):
    view = opened(written(machines, "machines").path)
    before = view.pixels("time-courses")
    view.page.locator("#time-group").select_option("1")
    assert view.pixels("time-courses") != before


def test_without_scripts_still_pictures_and_all_figures_are_there(opened, series_path):
    view = opened(series_path, java_script_enabled=False)
    assert view.shows(".still svg")
    assert view.shows("article.card")
    assert not view.shows("#time-strips")
    assert not view.shows("[data-switch='0']")
    assert "Scripts are off" in view.page.locator("noscript").first.inner_text()


def test_a_browser_that_cannot_unpack_keeps_still_pictures_and_says_so(browser, series_path):
    context = browser.new_context()
    context.add_init_script("delete window.DecompressionStream")
    page = context.new_page()
    page.goto(series_path.as_uri())
    page.locator("#downgrade").wait_for(state="visible")
    assert page.locator(".still svg").first.is_visible()
    assert not page.locator("#time-strips").is_visible()
    context.close()


def test_paper_shows_all_clusters_in_still_pictures_whatever_is_switched_off(opened, series_path):
    view = opened(series_path, color_scheme="dark")
    view.page.locator("[data-only='0']").click()
    view.settle()
    view.page.emulate_media(media="print")
    assert view.shows(".still svg")
    assert not view.shows("#time-strips")
    assert all(card.is_visible() for card in view.page.locator("article.card").all())
    assert view.page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_the_dark_has_colours_of_its_own_in_pictures_too(opened, series_path):
    light = opened(series_path)
    dark = opened(series_path, color_scheme="dark")
    grounds = [view.page.evaluate("getComputedStyle(document.body).backgroundColor") for view in (light, dark)]
    assert grounds[0] == "rgb(255, 255, 255)"
    assert grounds[1] != grounds[0]
    assert light.pixels("time-courses") != dark.pixels("time-courses")


def test_a_narrow_window_needs_no_scrolling_sideways(opened, series, spacetime, written):
    for name, model in (("series", series), ("spacetime", spacetime)):
        view = opened(written(model, name).path, viewport={"width": 400, "height": 800})
        assert view.page.evaluate("document.documentElement.scrollWidth") <= 400


def test_names_that_would_do_harm_do_none(opened, hostile, written):
    view = opened(written(hostile, "hostile").path)
    assert view.page.locator("img").count() == 0
    assert view.page.locator("script").count() == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scheme", "opens"), [("series", "light", True), ("spacetime", "light", False), ("machines", "dark", False)]
)
def test_axe_finds_nothing_serious(browser, request, written, name, scheme, opens):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    context = browser.new_context(bypass_csp=True, color_scheme=scheme)  # axe is a script, which the policy forbids
    page = context.new_page()
    page.goto(written(request.getfixturevalue(name), name).path.as_uri())
    page.wait_for_function(READY)
    if opens:
        page.evaluate("for (const part of document.querySelectorAll('details')) part.open = true")
    found = axe.run(page).response["violations"]
    context.close()
    assert [(each["id"], each["nodes"][0]["html"]) for each in found if each["impact"] in SERIOUS] == []
