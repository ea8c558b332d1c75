//! The page in a browser: charts are drawn, no errors are logged, nothing is loaded, and the layout fits.

use httperf_pages::{page, sweep_page};
use httperf_report::Histogram;
use httperf_report::number::{count, time};
use httperf_report::result::Document;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::browser::{Browser, Page, View};
use crate::documents;
use crate::sweeps;

const DESKTOP: u32 = 1280;
const PHONE: u32 = 360;

const ALL_CHARTS: [&str; 8] =
    ["histogram", "latency", "throughput", "errors", "lag", "lag-percentiles", "open", "percentiles"];

/// Number of lines and points with an extent in each chart, by id.
const DRAWN: &str = "(() => {
    const drawn = (chart) => [...chart.querySelectorAll('.lines path, .series use')].filter((mark) => {
        const { width, height } = mark.getBoundingClientRect();
        return width + height > 0;
    });
    return [...document.querySelectorAll('.chart')].map((chart) => [chart.id, drawn(chart).length]);
})()";

/// Texts of charts that are cut by the window, or cover another of the same chart.
const BAD_TEXTS: &str = "(() => {
    const bad = [];
    for (const chart of document.querySelectorAll('.chart')) {
        const seen = [];
        for (const text of chart.querySelectorAll('.frame text')) {
            const { left, right, top, bottom, width } = text.getBoundingClientRect();
            if (width === 0) continue;
            if (left < 0 || right > innerWidth) bad.push(`${chart.id}: ${text.textContent} is cut`);
            for (const other of seen) {
                const across = Math.min(right, other.right) - Math.max(left, other.left);
                const down = Math.min(bottom, other.bottom) - Math.max(top, other.top);
                if (across > 0 && down > 4) bad.push(`${chart.id}: ${text.textContent} covers ${other.said}`);
            }
            seen.push({ left, right, top, bottom, said: text.textContent });
        }
    }
    return bad;
})()";

/// Excess of the page's width over its window's.
const OVERFLOW: &str = "(async () => {
    for (let turn = 0; turn < 100 && document.scrollingElement.scrollWidth > innerWidth; turn++) {
        await new Promise((done) => setTimeout(done, 50));
    }
    return document.scrollingElement.scrollWidth - innerWidth;
})()";

/// Minimum contrast of the charts' text with its card.
const CONTRAST: &str = "(() => {
    const channels = (color) => color.match(/[\\d.]+/g).slice(0, 3).map((channel) => channel / 255);
    const linear = (channel) => channel <= 0.03928 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4;
    const luminance = (color) => {
        const [red, green, blue] = channels(color).map(linear);
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
    };
    const contrast = (text) => {
        const ink = luminance(getComputedStyle(text)[text.namespaceURI.endsWith('svg') ? 'fill' : 'color']);
        const paper = luminance(getComputedStyle(text.closest('.card')).backgroundColor);
        return (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    };
    return Math.min(...[...document.querySelectorAll('.chart :is(text, p, .legend span)')].map(contrast));
})()";

/// Colour scheme of the page, by its text: paper has no background.
const SCHEME: &str = "getComputedStyle(document.body).color.match(/\\d+/g).every((channel) => channel < 127) ? 'light' : 'dark'";

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
    assert_eq!(page.evaluate(BAD_TEXTS), json!([]), "{view:?}");
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
            let view = View::new(width, scheme);
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
                let view = View::new(width, scheme);
                check(&mut file.open(&mut browser, view), &charts, view);
            }
        }
    }
    let view = View::new(PHONE, "light");
    check(&mut File::with(&sweep_page(&sweeps::empty())).open(&mut browser, view), &[], view);
}

#[test]
fn an_open_page_follows_the_reader_s_colour_scheme() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    let view = View::new(DESKTOP, "light");
    let mut page = file.open(&mut browser, view);
    check(&mut page, &ALL_CHARTS, view);
    for view in [View { scheme: "dark", ..view }, View { width: PHONE, ..view }] {
        page.view(view);
        check(&mut page, &ALL_CHARTS, view);
    }
    // On paper it is light, whatever the screen.
    page.view(View { scheme: "dark", ..view });
    page.view_on_paper();
    check(&mut page, &ALL_CHARTS, View { scheme: "light", ..view });
    page.view(View { scheme: "dark", ..view });
    check(&mut page, &ALL_CHARTS, View { scheme: "dark", ..view });
}

#[test]
fn pages_of_all_kinds_are_drawn() {
    let without_errors: Vec<&str> = ALL_CHARTS.into_iter().filter(|chart| *chart != "errors").collect();
    let view = View::new(PHONE, "light");
    let cases: [(Document, &[&str]); 9] = [
        (documents::with_objectives(), &ALL_CHARTS),
        (documents::sessions_over_tls(), &ALL_CHARTS),
        (documents::hostile(), &without_errors),
        (documents::visits(), &ALL_CHARTS),
        (documents::hostile_visits(), &ALL_CHARTS),
        (documents::without_replies(), &["throughput", "errors", "lag", "lag-percentiles", "open"]),
        (documents::one_call(), &["latency", "throughput", "percentiles"]),
        (documents::without_anything(), &[]),
        (documents::without_detail(), &[]),
    ];
    let mut browser = Browser::start();
    for (document, charts) in cases {
        check(&mut File::of(&document).open(&mut browser, view), charts, view);
    }
}

#[test]
fn without_script_every_chart_is_there() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    let view = View { has_script: false, ..View::new(DESKTOP, "light") };
    let mut page = file.open(&mut browser, view);
    check(&mut page, &ALL_CHARTS, view);
    // Nothing is offered that takes a script.
    let offered = "[...document.querySelectorAll('.tools, .legend button, .copy')].filter((one) => !one.hidden && !one.disabled).length";
    assert_eq!(page.evaluate(offered), json!(0));
}

/// Centre line of a chart's plot: left, width, and y in the window.
fn plot(page: &mut Page<'_>, chart: &str) -> (f64, f64, f64) {
    let place = page.evaluate(&format!(
        "(() => {{
            const frame = document.querySelector('#{chart} .frame');
            frame.scrollIntoView({{ block: 'center' }});
            const {{ left, width, top, height }} = frame.getBoundingClientRect();
            return [left, width, top + height / 2];
        }})()"
    ));
    let number = |index: usize| place[index].as_f64().expect("it is a number");
    (number(0), number(1), number(2))
}

/// Reading of a chart: the position, then the name and the value of each line.
fn reading(page: &mut Page<'_>, chart: &str) -> Vec<String> {
    let texts = page.evaluate(&format!(
        "(() => {{
            const reading = document.querySelector('#{chart} .reading');
            const texts = [...reading.querySelectorAll('strong, dt, dd')].map((text) => text.textContent.trim());
            return reading.hidden ? [] : texts;
        }})()"
    ));
    serde_json::from_value(texts).expect("they are texts")
}

#[test]
fn values_are_read_off_with_mouse_and_keys() {
    let document = documents::a_busy_moment();
    let file = File::of(&document);
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "light"));
    let intervals: Vec<_> = document
        .summary
        .series
        .intervals()
        .iter()
        .filter(|interval| interval.length >= document.summary.series.width() / 10)
        .collect();
    let expected = |index: usize| {
        let interval = intervals[index];
        let rate = |count: u64| format!("{:.1}/s", count as f64 / interval.length.as_secs_f64());
        let middle = (interval.from + interval.length / 2).as_secs_f64();
        let values = [
            ("offered", interval.offered),
            ("sent", interval.sent),
            ("replies", interval.replies),
            ("errors", interval.failed_calls + interval.error_replies),
        ];
        let values = values.into_iter().flat_map(|(name, count)| [name.to_owned(), rate(count)]);
        std::iter::once(format!("{middle:.1} s")).chain(values).collect::<Vec<_>>()
    };
    let (left, width, y) = plot(&mut page, "throughput");
    let (from, to) = (intervals[0].from, intervals[intervals.len() - 1].end());
    for (index, interval) in intervals.iter().enumerate() {
        let middle = (interval.from + interval.length / 2 - from).as_secs_f64();
        page.point((left + width * middle / (to - from).as_secs_f64(), y));
        assert_eq!(reading(&mut page, "throughput"), expected(index));
    }
    page.point((left + width / 2.0, 0.0));
    assert_eq!(reading(&mut page, "throughput"), Vec::<String>::new());
    page.evaluate("document.querySelector('#throughput .graph').focus()");
    for index in 0..3 {
        page.key("ArrowRight");
        assert_eq!(reading(&mut page, "throughput"), expected(index));
    }
    page.key("End");
    assert_eq!(reading(&mut page, "throughput"), expected(intervals.len() - 1));
    page.key("ArrowLeft");
    assert_eq!(reading(&mut page, "throughput"), expected(intervals.len() - 2));
    page.key("Escape");
    assert_eq!(reading(&mut page, "throughput"), Vec::<String>::new());
    // The last point of a percentile curve is the maximum.
    page.evaluate("document.querySelector('#percentiles .graph').focus()");
    page.key("End");
    let most = reading(&mut page, "percentiles");
    assert_eq!(most[..2], ["max", "latency of answered calls"]);
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn classes_of_the_histogram_are_read_off_with_their_ends() {
    let document = documents::a_busy_moment();
    let file = File::of(&document);
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "light"));
    let histogram =
        Histogram::of_at_most(&document.summary.completed().latency, 60).expect("latencies differ");
    let expected = |index: usize| {
        let (from, to) = histogram.class(index);
        [format!("{} to {}", time(from), time(to)), "calls".to_owned(), count(histogram.counts[index])]
    };
    page.evaluate("document.querySelector('#histogram .graph').focus()");
    page.key("Home");
    assert_eq!(reading(&mut page, "histogram"), expected(0));
    page.key("ArrowRight");
    assert_eq!(reading(&mut page, "histogram"), expected(1));
    page.key("End");
    assert_eq!(reading(&mut page, "histogram"), expected(histogram.counts.len() - 1));
    // Zoomed, its ticks have units.
    page.key("+");
    let ticks = page
        .evaluate("[...document.querySelectorAll('#histogram .own text')].map((text) => text.textContent)");
    let ticks: Vec<String> = serde_json::from_value(ticks).expect("they are texts");
    assert!(
        ticks.len() >= 2 && ticks.iter().all(|tick| tick.ends_with(" ms") || tick.ends_with(" s")),
        "{ticks:?}"
    );
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn beside_a_gap_the_nearest_point_of_a_line_is_read_off() {
    let text = page(&documents::a_busy_moment());
    let (before, rest) =
        text.split_once("<script id=\"charts\" type=\"application/json\">").expect("it has charts");
    let (charts, after) = rest.split_once("</script>").expect("they end");
    let mut charts: Value = serde_json::from_str(charts).expect("they are JSON");
    let mut all = charts.as_array_mut().expect("it is a list").iter_mut();
    let throughput = all.find(|chart| chart["id"] == "throughput").expect("it is there");
    let places = throughput["places"].as_array().expect("it is a list").len();
    let position = |index: u64| 1_000 + 2_000 * index;
    // The first line has a point in the middle of each fifth, but the last two; the second one has points around the
    // middles of the first and the second fifth, and gaps nearer to them; the others have none.
    let near = json!([position(0) - 40, position(0) + 30, position(1) - 40, position(1) + 30]);
    let middles: Vec<u64> = (0..5).map(position).collect();
    for (x, names) in
        [(json!(middles), json!(["a", "b", "c", "d", "e"])), (near, json!(["p", "q", "r", "s"]))]
    {
        throughput["places"].as_array_mut().expect("it is a list").push(json!({ "x": x, "names": names }));
    }
    let line = |series: usize, places: usize, y: Value, texts: Value| json!({ "series": series, "places": places, "y": y, "texts": texts });
    throughput["lines"] = json!([
        line(0, places, json!([9, 9, 9, null, null]), json!(["A", "B", "C", null, null])),
        line(1, places + 1, json!([9, null, 9, null]), json!(["P", null, "R", null])),
    ]);
    let file = File::with(&format!(
        "{before}<script id=\"charts\" type=\"application/json\">{charts}</script>{after}"
    ));
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "light"));
    let (left, width, y) = plot(&mut page, "throughput");
    let mut read_at = |place: u64| {
        page.point((left + width * place as f64 / 10_000.0, y));
        reading(&mut page, "throughput")
    };
    assert_eq!(read_at(position(0)), ["a", "offered", "A", "sent", "P at p"]);
    assert_eq!(read_at(position(1)), ["b", "offered", "B", "sent", "R at r"]);
    // Nearest to a gap of the second line, and to its point beside it.
    assert_eq!(read_at(position(1) - 40), ["r", "offered", "B at b", "sent", "R"]);
    assert_eq!(read_at(position(2)), ["c", "offered", "C"]);
    assert_eq!(read_at(position(2) + 900), ["c", "offered", "C"]);
    // In a gap of all lines.
    assert_eq!(read_at(position(4)), Vec::<String>::new());
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn series_are_switched_off_and_on() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "light"));
    let names = |page: &mut Page<'_>| -> Vec<String> {
        reading(page, "throughput").into_iter().skip(1).step_by(2).collect()
    };
    let drawn = "[...document.querySelectorAll('#throughput .lines path')].filter((path) => path.getBoundingClientRect().width).length";
    page.evaluate("document.querySelector('#throughput .graph').focus()");
    page.key("Home");
    assert_eq!(names(&mut page), ["offered", "sent", "replies", "errors"]);
    assert_eq!(page.evaluate(drawn), json!(4));
    let sent = "document.querySelector('#throughput .legend [data-series=\"1\"]')";
    page.evaluate(&format!("{sent}.click()"));
    assert_eq!(page.evaluate(&format!("{sent}.getAttribute('aria-pressed')")), json!("false"));
    assert_eq!(names(&mut page), ["offered", "replies", "errors"]);
    assert_eq!(page.evaluate(drawn), json!(3));
    page.evaluate(&format!("{sent}.click()"));
    assert_eq!(names(&mut page), ["offered", "sent", "replies", "errors"]);
    assert_eq!(page.evaluate(drawn), json!(4));
}

/// Positions of everything in a chart, rounded to pixels, and its ticks.
fn layout(page: &mut Page<'_>, chart: &str) -> Value {
    page.evaluate(&format!(
        "[...document.querySelectorAll('#{chart} .frame :is(text, rect, line, use, path)')]
            .map((mark) => [mark, mark.getBoundingClientRect()])
            .filter(([, box]) => box.width + box.height > 0)
            .map(([mark, box]) => [mark.tagName, Math.round(box.left), Math.round(box.width), mark.textContent])"
    ))
}

#[test]
fn a_chart_is_zoomed_and_shown_whole_again() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "light"));
    for chart in ["throughput", "percentiles"] {
        let (left, width, y) = plot(&mut page, chart);
        page.point((0.0, 0.0));
        let whole = layout(&mut page, chart);
        let at = |share: f64| (left + width * share, y);
        let view = format!("document.querySelector('#{chart} .lines').getAttribute('viewBox')");
        for back in ["double click", "Escape", "button"] {
            page.drag(at(0.25), at(0.5));
            let zoomed = page.evaluate(&view);
            let numbers: Vec<f64> = zoomed
                .as_str()
                .expect("it is text")
                .split(' ')
                .map(|number| number.parse().expect("it is a number"))
                .collect();
            assert!((numbers[0] - 2_500.0).abs() < 30.0 && (numbers[2] - 2_500.0).abs() < 30.0, "{zoomed}");
            assert_eq!(page.evaluate(BAD_TEXTS), json!([]), "{chart}");
            let ticks = format!("document.querySelectorAll('#{chart} .own text').length");
            assert!(page.evaluate(&ticks).as_u64() >= Some(2), "{chart}");
            match back {
                "double click" => page.double_click(at(0.4)),
                "button" => {
                    page.evaluate(&format!(
                        "document.querySelector('#{chart} .tools button:last-child').click()"
                    ));
                }
                key => {
                    page.evaluate(&format!("document.querySelector('#{chart} .graph').focus()"));
                    page.key(key);
                }
            }
            page.point((0.0, 0.0));
            assert_eq!(layout(&mut page, chart), whole, "{chart}: {back}");
        }
    }
    // Charts over the same time are zoomed together.
    page.evaluate("document.querySelector('#throughput .tools button').click()");
    let views = "['throughput', 'latency', 'lag', 'percentiles']
        .map((id) => document.querySelector(`#${id} .lines`).getAttribute('viewBox'))";
    let half = "2500 0 5000 2000";
    assert_eq!(page.evaluate(views), json!([half, half, half, "0 0 10000 2000"]));
    assert_eq!(page.complaints(), Vec::<String>::new());
}

#[test]
fn charts_are_printed() {
    let file = File::of(&documents::a_busy_moment());
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "dark"));
    let sheets = |pdf: &[u8]| pdf.windows(12).filter(|bytes| *bytes == b"/Type /Page\n").count();
    let printed = page.pdf();
    page.evaluate("document.querySelectorAll('figure').forEach((figure) => figure.remove())");
    let without_charts = page.pdf();
    assert!(sheets(&printed) > sheets(&without_charts), "{} pages", sheets(&printed));
    assert!(printed.len() > without_charts.len() + 10_000, "{} and {}", printed.len(), without_charts.len());
}

#[test]
fn script_that_is_not_the_pages_own_does_not_run() {
    let file = File::of(&documents::one_second());
    let mut browser = Browser::start();
    let mut page = file.open(&mut browser, View::new(DESKTOP, "light"));
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
