//! The page in a browser: charts are drawn, no errors are logged, nothing is loaded, and the layout fits.

use httperf_report::html::{page, sweep_page};
use httperf_report::result::Document;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::{Browser, Page, View};
use crate::documents;
use crate::sweeps;

const DESKTOP: u32 = 1280;
const PHONE: u32 = 360;

const ALL_CHARTS: [&str; 7] =
    ["throughput", "latency", "percentiles", "errors", "lag", "lag-percentiles", "open"];

/// Waits for all charts and returns, by id, the number of lines, points and bars in each.
const DRAWN: &str = "(async () => {
    const charts = [...document.querySelectorAll('.chart')];
    const marks = '.scatterlayer path.js-line, .scatterlayer path.point, .barlayer .point path';
    const drawn = (chart) => chart.querySelectorAll('.main-svg').length && chart.querySelectorAll(marks).length;
    for (let turn = 0; turn < 200 && !charts.every(drawn); turn++) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return charts.map((chart) => [chart.id, drawn(chart)]);
})()";

/// Excess of the page's width over its window's.
const OVERFLOW: &str = "(async () => {
    for (let turn = 0; turn < 100 && document.scrollingElement.scrollWidth > innerWidth; turn++) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return document.scrollingElement.scrollWidth - innerWidth;
})()";

/// Minimum contrast of the charts' text with its card. Not all browsers redraw at once.
const CONTRAST: &str = "(async () => {
    const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((channel) => channel / 255);
    const linear = (channel) => channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    const luminance = (color) => {
        const [red, green, blue] = channels(color).map(linear);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (text) => {
        const ink = luminance(getComputedStyle(text).fill);
        const paper = luminance(getComputedStyle(text.closest('.card')).backgroundColor);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    };
    let least = 0;
    for (let turn = 0; turn < 100 && least < 4.5; turn++) {
        await new Promise((done) => setTimeout(done, 50));
        least = Math.min(...[...document.querySelectorAll('.chart .main-svg text')].map(contrast));
    }
    return least;
})()";

/// Colour scheme of the page.
const SCHEME: &str = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((channel) => channel > 127) ? 'light' : 'dark'";

struct File {
    folder: TempDir,
}

impl File {
    fn of(document: &Document) -> Self {
        Self::with(&page(document))
    }

    fn with(page: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        std::fs::write(folder.path().join("report.html"), page).expect("it takes a page");
        Self { folder }
    }

    fn open<'a>(&self, browser: &'a mut Browser, view: View) -> Page<'a> {
        browser.open(&self.folder.path().join("report.html"), view)
    }
}

#[track_caller]
fn check(page: &mut Page<'_>, charts: &[&str], view: View) {
    let drawn = page.evaluate(DRAWN);
    let drawn = drawn.as_array().expect("it is a list");
    let ids: Vec<&Value> = drawn.iter().map(|chart| &chart[0]).collect();
    assert_eq!(ids, charts, "{view:?}");
    assert!(drawn.iter().all(|chart| chart[1].as_u64() > Some(0)), "{view:?}: {drawn:?}");
    let overflow = page.evaluate(OVERFLOW);
    assert!(overflow.as_i64() <= Some(0), "{view:?}: {overflow} pixels too wide");
    assert_eq!(page.evaluate(SCHEME), view.scheme, "{view:?}");
    if !charts.is_empty() {
        let contrast = page.evaluate(CONTRAST);
        assert!(contrast.as_f64() >= Some(4.5), "{view:?}: a contrast of {contrast}");
    }
    assert_eq!(page.complaints(), Vec::<String>::new(), "{view:?}");
}

#[test]
fn a_page_is_drawn_on_desktop_and_phone_in_light_and_dark() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    for width in [DESKTOP, PHONE] {
        for scheme in ["light", "dark"] {
            let view = View { width, scheme };
            check(&mut file.open(&mut browser, view), &ALL_CHARTS, view);
        }
    }
}

#[test]
fn the_page_of_a_sweep_is_drawn_on_desktop_and_phone_in_light_and_dark() {
    let mut browser = Browser::start();
    let charts = ["replies", "errors", "times"];
    for sweep in [sweeps::limited_by_the_generator(), sweeps::one_run(), sweeps::hostile()] {
        let file = File::with(&sweep_page(&sweep));
        for width in [DESKTOP, PHONE] {
            for scheme in ["light", "dark"] {
                let view = View { width, scheme };
                check(&mut file.open(&mut browser, view), &charts, view);
            }
        }
    }
    let view = View { width: PHONE, scheme: "light" };
    check(&mut File::with(&sweep_page(&sweeps::empty())).open(&mut browser, view), &[], view);
}

#[test]
fn an_open_page_follows_the_reader_s_colour_scheme() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    let view = View { width: DESKTOP, scheme: "light" };
    let mut page = file.open(&mut browser, view);
    check(&mut page, &ALL_CHARTS, view);
    for view in [View { scheme: "dark", ..view }, View { width: PHONE, ..view }] {
        page.view(view);
        check(&mut page, &ALL_CHARTS, view);
    }
    // On paper it is light, whatever the screen.
    page.view(View { scheme: "dark", ..view });
    page.evaluate("dispatchEvent(new Event('beforeprint'))");
    check(&mut page, &ALL_CHARTS, View { scheme: "light", ..view });
    page.evaluate("dispatchEvent(new Event('afterprint'))");
    check(&mut page, &ALL_CHARTS, View { scheme: "dark", ..view });
}

#[test]
fn pages_of_all_kinds_are_drawn() {
    let without_errors: Vec<&str> = ALL_CHARTS.into_iter().filter(|chart| *chart != "errors").collect();
    let view = View { width: PHONE, scheme: "light" };
    let cases: [(Document, &[&str]); 7] = [
        (documents::with_objectives(), &ALL_CHARTS),
        (documents::sessions_over_tls(), &ALL_CHARTS),
        (documents::hostile(), &without_errors),
        (documents::without_replies(), &["throughput", "errors", "lag", "lag-percentiles", "open"]),
        (documents::one_call(), &["throughput", "latency", "percentiles"]),
        (documents::without_anything(), &[]),
        (documents::without_detail(), &[]),
    ];
    let mut browser = Browser::start();
    for (document, charts) in cases {
        check(&mut File::of(&document).open(&mut browser, view), charts, view);
    }
}

#[test]
fn script_that_is_not_the_pages_own_does_not_run() {
    let file = File::of(&documents::one_second());
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View { width: DESKTOP, scheme: "light" });
    // As if the template had failed to escape it.
    let ran = page.evaluate(
        "(async () => {
            const refused = new Promise((done) => addEventListener('securitypolicyviolation', done));
            document.body.insertAdjacentHTML('beforeend', '<img src=\"x\" onerror=\"window.ran = true\">');
            const script = document.createElement('script');
            script.textContent = 'window.ran = true';
            document.body.append(script);
            await refused;
            return window.ran ?? false;
        })()",
    );
    assert_eq!(ran, json!(false));
}
