//! The page of a comparison in a browser: drawn without errors, on desktop and phone, light and dark.

use crate::browser::{Browser, View};
use crate::documents;
use httperf_pages::comparison_page;
use httperf_pictures::COMPARED_MAX;
use httperf_report::compare::{Comparison, ComparisonSettings, Named, Rounds, results, rounds};
use httperf_report::result::Document;
use serde_json::{Value, json};

/// Number of lines in each chart.
const DRAWN: &str = "[...document.querySelectorAll('.chart')].map((chart) => [chart.id, chart.querySelectorAll('.lines > g').length])";

/// Excess of the page's width over its window's. Charts need a moment to fit.
const OVERFLOW: &str = "(async () => {
    for (let turn = 0; turn < 100 && document.scrollingElement.scrollWidth > innerWidth; turn++) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return document.scrollingElement.scrollWidth - innerWidth;
})()";

/// Minimum contrast of the verdicts' words with their backgrounds.
const CONTRAST: &str = "(() => {
    const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((channel) => channel / 255);
    const linear = (channel) => channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    const luminance = (color) => {
        const [red, green, blue] = channels(color).map(linear);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (text) => {
        const ink = luminance(getComputedStyle(text).color);
        const paper = luminance(getComputedStyle(text.closest('.card')).backgroundColor);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    };
    return Math.min(...[...document.querySelectorAll('.kind, .verdict h2, td, td small')].map(contrast));
})()";

const SCHEME: &str = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((channel) => channel > 127) ? 'light' : 'dark'";

#[track_caller]
fn check(browser: &mut Browser, comparison: &Comparison, charts: &Value) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let file = folder.path().join("comparison.html");
    std::fs::write(&file, comparison_page(comparison)).expect("it takes a page");
    for width in [1280, 400] {
        for scheme in ["light", "dark"] {
            let view = View::new(width, scheme);
            let mut page = browser.open(&file, view);
            assert_eq!(page.evaluate(DRAWN), *charts, "{view:?}");
            let overflow = page.evaluate(OVERFLOW);
            assert!(overflow.as_i64() <= Some(0), "{view:?}: {overflow} pixels too wide");
            assert_eq!(page.evaluate(SCHEME), scheme);
            let contrast = page.evaluate(CONTRAST);
            assert!(contrast.as_f64() >= Some(4.5), "{view:?}: a contrast of {contrast}");
            assert_eq!(page.complaints(), Vec::<String>::new(), "{view:?}");
        }
    }
}

#[test]
fn comparisons_are_drawn_on_desktop_and_phone_in_light_and_dark() {
    let documents = [documents::a_busy_moment(), documents::one_second(), documents::hostile()];
    let named = documents.each_ref().map(|document| Named { name: "/tmp/<b>result</b>.json", document });
    let mut browser = Browser::start();
    let forced =
        results(named[0], &named[1..], &ComparisonSettings { force: true, ..ComparisonSettings::default() });
    let charts = json!([["percentiles", 3], ["median", 3], ["p99", 3], ["replies", 3]]);
    check(&mut browser, &forced, &charts);

    // As many as pictures have room for.
    let many: Vec<&Document> = documents.iter().cycle().take(COMPARED_MAX).collect();
    let names: Vec<Named<'_>> = many.iter().map(|document| Named { document, ..named[0] }).collect();
    let settings = ComparisonSettings { force: true, ..ComparisonSettings::default() };
    let charts = json!([["percentiles", 16], ["median", 16], ["p99", 16], ["replies", 16]]);
    check(&mut browser, &results(names[0], &names[1..], &settings), &charts);

    let void = results(named[0], &named[1..2], &ComparisonSettings::default());
    let charts = json!([["percentiles", 2], ["median", 2], ["p99", 2], ["replies", 2]]);
    check(&mut browser, &void, &charts);

    let settings = ComparisonSettings::default();
    let mut turns = Rounds::new(6, 1, ["http://a/", "http://b/"].map(str::to_owned), &settings);
    (0..6).for_each(|_| turns.add([(0, &documents[0]), (1, &documents[0])]));
    check(&mut browser, &rounds(&turns, &settings), &charts);

    let nothing = documents::without_anything();
    let named = Named { name: "nothing.json", document: &nothing };
    let nothings = results(named, &[named], &settings);
    check(&mut browser, &nothings, &json!([]));
}
