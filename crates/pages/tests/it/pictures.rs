//! Pictures: their contents and formats, with any input.

use httperf_pictures::{
    COMPARED_MAX, Picture, Point, SCALE_MAX, SIZES, Spread, Style, SweepCurve, Theme, Waits, compare,
    of_sweep, percentiles, sweep, timeline,
};
use httperf_report::headings::Names;
use httperf_report::result::Document;
use httperf_report::sweep::Unit;
use proptest::prelude::*;
use roxmltree::{Document as Xml, Node};
use ttf_parser::Face;

use crate::documents;
use crate::sweeps;

/// Minimum font size in pixels.
const LETTERS_MIN: f64 = 11.0;

/// Checks that the picture is XML with the requested size.
#[track_caller]
fn check(picture: &Picture, width: u32, height: Option<u32>) {
    let svg = picture.svg();
    let xml = Xml::parse(&svg).expect("it is XML");
    let root = xml.root_element();
    assert_eq!(root.tag_name().name(), "svg");
    let number = |name| root.attribute(name).expect(name).parse::<u32>().expect(name);
    assert_eq!(number("width"), width);
    height.into_iter().for_each(|height| assert_eq!(number("height"), height));
    let scale = sheet(&root).0 / f64::from(width);
    for text in xml.descendants().filter(|node| node.has_tag_name("text")) {
        let size =
            text.attribute("font-size").expect("text has a size").parse::<f64>().expect("a number") / scale;
        assert!(size >= LETTERS_MIN, "{size}: {:?}", text.text());
    }
    assert!(!svg.contains("NaN") && !svg.contains("inf,"), "{svg}");
}

/// Width and height of the drawing that is scaled to the picture.
fn sheet(root: &Node<'_, '_>) -> (f64, f64) {
    let numbers: Vec<f64> = root
        .attribute("viewBox")
        .expect("there is one")
        .split(' ')
        .map(|number| number.parse().expect("a number"))
        .collect();
    (numbers[2], numbers[3])
}

/// All text in the picture.
fn texts(picture: &Picture) -> Vec<String> {
    let svg = picture.svg();
    let xml = Xml::parse(&svg).expect("it is XML");
    let texts = xml.descendants().filter(|node| node.has_tag_name("text"));
    texts.map(|node| node.text().unwrap_or_default().trim().to_owned()).collect()
}

#[track_caller]
fn shows(picture: &Picture, expected: &[&str]) {
    let texts = texts(picture);
    for text in expected {
        assert!(texts.iter().any(|shown| shown == text), "no `{text}` in {texts:#?}");
    }
}

/// Width, height, and number of pixels that differ from the first.
fn decoded(png: &[u8]) -> (u32, u32, usize) {
    let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info().expect("it is a PNG");
    let mut pixels = vec![0; reader.output_buffer_size().expect("it fits into memory")];
    let info = reader.next_frame(&mut pixels).expect("it is complete");
    let mut all = pixels.chunks_exact(info.color_type.samples());
    let first = all.next().expect("there is a pixel");
    (info.width, info.height, all.filter(|pixel| *pixel != first).count())
}

fn style(theme: Theme, width: u32, height: Option<u32>) -> Style {
    Style { theme, width, height }
}

/// One picture of each kind.
fn every_kind(style: &Style) -> [Picture; 4] {
    let document = documents::a_busy_moment();
    let other = documents::one_second();
    [
        percentiles(&document, style),
        timeline(&document, style),
        sweep(&curve(), style),
        compare(&[("base.json", &document), ("new.json", &other)], style),
    ]
}

fn curve() -> SweepCurve {
    let curve = SweepCurve::of(&sweeps::limited_by_the_generator());
    SweepCurve { knee: Some(sweeps::CAPACITY), ..curve }
}

fn every_document() -> Vec<Document> {
    vec![
        documents::a_busy_moment(),
        documents::sessions_over_tls(),
        documents::hostile(),
        documents::without_replies(),
        documents::without_anything(),
        documents::one_call(),
        documents::one_second(),
        documents::twenty_minutes(),
        documents::without_detail(),
        documents::slow_to_connect(),
    ]
}

#[test]
fn a_picture_is_xml_and_png_of_the_requested_size() {
    for (theme, width, height) in
        [(Theme::Light, 800, Some(500)), (Theme::Dark, 400, None), (Theme::Dark, 300, Some(300))]
    {
        for picture in every_kind(&style(theme, width, height)) {
            check(&picture, width, height);
            let (png_width, png_height, inked) = decoded(&picture.png(1));
            assert_eq!((png_width, height.unwrap_or(png_height)), (width, png_height));
            assert!(inked > 1_000, "{inked} pixels are not of the background");
        }
    }
}

#[test]
fn a_png_has_as_many_pixels_as_asked_for_each_of_the_picture() {
    let picture = percentiles(&documents::one_second(), &style(Theme::Light, 400, Some(300)));
    for (scale, times) in [(1, 1), (2, 2), (4, 4), (0, 1), (9, SCALE_MAX)] {
        let (width, height, inked) = decoded(&picture.png(scale));
        assert_eq!((width, height), (400 * times, 300 * times));
        assert!(inked > 1_000, "{inked}");
    }
}

#[test]
fn a_title_takes_the_place_of_the_pictures_own_which_stands_below() {
    let names = Names { title: Some("Checkout <\"v2\">".to_owned()), label: Some("after".to_owned()) };
    for picture in every_kind(&Style::default()) {
        let own = texts(&picture)[0].clone();
        let named = picture.clone().named(&names);
        check(&named, 800, None);
        let texts = texts(&named);
        assert_eq!(texts[0], "Checkout <\"v2\">");
        assert_eq!(texts[1], format!("after · {own}"));
        assert_eq!(picture.clone().named(&Names::default()).svg(), picture.svg());
    }
}

#[test]
fn sizes_are_clamped() {
    let document = documents::one_call();
    check(&percentiles(&document, &style(Theme::Light, 0, Some(0))), *SIZES.start(), Some(*SIZES.start()));
    check(
        &percentiles(&document, &style(Theme::Light, u32::MAX, Some(u32::MAX))),
        *SIZES.end(),
        Some(*SIZES.end()),
    );
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    let style = Style::default();
    for (once, again) in every_kind(&style).iter().zip(every_kind(&style)) {
        assert_eq!(once.svg(), again.svg());
        assert!(once.png(1) == again.png(1));
    }
}

#[test]
fn light_and_dark_differ_in_colours_only() {
    let without_colors = |theme| {
        every_kind(&style(theme, 800, None)).map(|picture| {
            let svg = picture.svg();
            let xml = Xml::parse(&svg).expect("it is XML");
            let of = |node: Node<'_, '_>| {
                let kept = |name: &str| name != "fill" && name != "stroke";
                let attributes = node.attributes().filter(|attribute| kept(attribute.name()));
                attributes.map(|attribute| attribute.value().to_owned()).collect::<Vec<_>>()
            };
            xml.descendants().map(of).collect::<Vec<_>>()
        })
    };
    assert_eq!(without_colors(Theme::Light), without_colors(Theme::Dark));
}

#[test]
fn axes_have_units_and_plain_numbers() {
    let [percentiles, timeline, sweep, compare] = every_kind(&Style::default());
    shows(
        &percentiles,
        &[
            "Percentiles of http://shop.example",
            "p50",
            "p90",
            "p99",
            "p99.9",
            "time (log scale)",
            "10 ms",
            "1 s",
        ],
    );
    shows(
        &timeline,
        &["http://shop.example over time", "Throughput", "per second", "offered", "replies", "errors"],
    );
    shows(
        &timeline,
        &[
            "time since the start [s]",
            "Latency",
            "latency (log scale)",
            "p99",
            "max",
            "warm-up",
            "stall",
            "drain",
        ],
    );
    shows(&sweep, &["Sweep of http://server", "Reply rate", "replies/s", "Errors", "errors [%]"]);
    shows(&sweep, &["Response time and latency", "offered load [connections/s]", "60", "all answered"]);
    shows(&compare, &["Latency", "base.json", "new.json", "p99.9"]);
    for picture in [percentiles, timeline, sweep, compare] {
        let is_exponent = |text: &String| {
            let (mantissa, exponent) = text.split_once('e').unwrap_or_default();
            mantissa.parse::<f64>().is_ok() && exponent.parse::<i32>().is_ok()
        };
        assert!(!texts(&picture).iter().any(is_exponent), "{:?}", texts(&picture));
    }
}

#[test]
fn the_knee_is_named_in_all_three_graphs_of_a_sweep() {
    let picture = sweep(&curve(), &Style::default());
    let knees = texts(&picture).into_iter().filter(|text| text == "knee: about 50/s").count();
    assert_eq!(knees, 3);
    assert!(picture.svg().contains("The knee: about 50/s.</desc>"), "{}", picture.svg());
    let without = sweep(&SweepCurve { knee: None, ..curve() }, &Style::default());
    assert!(!without.svg().contains("knee"));
}

#[test]
fn a_sweep_follows_the_diagonal_until_the_server_is_saturated() {
    let SweepCurve { points, calls_per_arrival, spread, unit, .. } = SweepCurve::of(&sweeps::saturating());
    assert_eq!((points.len(), calls_per_arrival, unit), (sweeps::RATES.len(), Some(1.0), Unit::Connections));
    assert_eq!(spread, "95 % intervals of the means");
    for point in points {
        assert!(!point.is_client_limited);
        let expected = point.rate.min(sweeps::CAPACITY);
        assert!((point.good_replies - expected).abs() <= 0.05 * expected, "{point:?}");
        assert_eq!(point.errors_percent.mean > 1.0, point.rate > sweeps::CAPACITY, "{point:?}");
        let (least, most) = point.replies.range.expect("the runs are long enough");
        assert!(least <= point.replies.mean * 1.01 && point.replies.mean <= most * 1.01, "{point:?}");
        let ms = |percentile: Option<Spread>| percentile.map(|percentile| percentile.mean);
        assert!(ms(point.latency_p50_ms) <= ms(point.latency_p99_ms), "{point:?}");
    }
}

#[test]
fn a_percentile_beyond_the_answered_calls_is_an_arrow_at_the_longest_known_time() {
    let mut curve = SweepCurve::of(&sweeps::saturating());
    let shape = |curve: &SweepCurve| {
        let svg = sweep(curve, &Style::default()).svg();
        let xml = Xml::parse(&svg).expect("it is XML");
        let polygons = xml.descendants().filter(|node| node.has_tag_name("polygon"));
        let corners =
            polygons.map(|one| one.attribute("points").expect("it has corners").trim().split(' ').count());
        corners.filter(|&corners| corners == 7).count()
    };
    assert_eq!(shape(&curve), 0);
    let times = |curve: &SweepCurve| {
        let charts = of_sweep(curve);
        let chart = charts.into_iter().find(|chart| chart.id == "times").expect("calls were answered");
        let values = serde_json::to_value(&chart).expect("it is JSON");
        let texts = values["lines"]
            .as_array()
            .expect("it has lines")
            .iter()
            .filter_map(|line| line["texts"].as_array());
        let texts: Vec<String> =
            texts.flatten().filter_map(|text| text.as_str().map(str::to_owned)).collect();
        (chart, texts)
    };
    let (before, texts) = times(&curve);
    assert!(!before.graph.svg.contains("#mark-arrow") && !before.about.contains("Arrows"));
    assert!(texts.iter().all(|text| !text.contains('>')), "{texts:?}");
    let last = curve.points.last_mut().expect("there are points");
    last.latency_p99_ms = Some(Spread { mean: 1_000.0, or_more: true, range: None });
    assert_eq!(shape(&curve), 1);
    shows(
        &sweep(&curve, &Style::default()),
        &["Arrows: longer than that, as too many calls had no reply in time."],
    );
    let (after, texts) = times(&curve);
    assert_eq!(after.graph.svg.matches("#mark-arrow").count(), 1);
    assert!(after.about.contains("Arrows: longer than that"), "{}", after.about);
    // As the table of the sweep has it.
    assert!(texts.contains(&"> 1.00 s".to_owned()), "{texts:?}");
}

#[test]
fn repeated_runs_have_intervals_and_single_ones_their_samples() {
    let repeated = SweepCurve::of(&sweeps::saturating());
    shows(&sweep(&repeated, &Style::default()), &["Bars: 95 % intervals of the means.", "replies"]);
    let single = SweepCurve::of(&sweeps::limited_by_the_generator());
    shows(&sweep(&single, &Style::default()), &["replies; bars: least and most sampled"]);
    let made = sweeps::saturating();
    for (point, step) in repeated.points.iter().zip(&made.figures.steps) {
        assert_eq!(point.replies.range, step.reply_rate.low.zip(step.reply_rate.high));
        let p50 = point.latency_p50_ms.expect("calls were answered");
        let (low, high) = p50.range.expect("there are two runs");
        assert_eq!((Some(p50.mean), p50.range), (step.all_p50.map(|all| all.ms), step.all_p50_between));
        assert!(low <= p50.mean && p50.mean <= high, "{p50:?}");
    }
    assert!(single.points.iter().all(|point| point.latency_p50_ms.is_none_or(|p50| p50.range.is_none())));
}

#[test]
fn plots_of_a_page_of_a_sweep_begin_below_one_another() {
    let charts = of_sweep(&SweepCurve::of(&sweeps::saturating()));
    assert!(charts.len() == 3 && charts.iter().all(|chart| chart.graph.left == charts[0].graph.left));
}

#[test]
fn points_limited_by_the_generator_are_hollow_named_and_unconnected() {
    let limited = sweep(&curve(), &Style::default());
    let fact =
        "At 1 step, drawn hollow, the generator was the bottleneck: that says nothing about the server.";
    shows(&limited, &["8 steps", fact, "the generator was the bottleneck"]);
    let all = sweep(&SweepCurve::of(&sweeps::saturating()), &Style::default());
    assert!(!texts(&all).iter().any(|text| text.contains("bottleneck")));
    // A line through the middle one would hide it.
    let mut points = curve().points;
    points[3].is_client_limited = true;
    let lines = |points: Vec<Point>| {
        let picture =
            sweep(&SweepCurve { points, knee: None, calls_per_arrival: None, ..curve() }, &Style::default());
        let svg = picture.svg();
        let xml = Xml::parse(&svg).expect("it is XML");
        let green = xml.descendants().filter(|node| {
            node.attribute("stroke") == Some("#008A65") && node.attribute("stroke-width") == Some("20")
        });
        green
            .map(|line| line.attribute("points").expect("it is a line").trim().split(' ').count())
            .collect::<Vec<_>>()
    };
    // The first is the sample in the legend.
    assert_eq!(lines(points), [2, 3, 3]);
    assert_eq!(lines(curve().points), [2, 7]);
}

#[test]
fn a_result_that_is_not_valid_says_so() {
    let mut document = documents::one_second();
    let picture = percentiles(&document, &Style::default());
    assert!(!texts(&picture).iter().any(|text| text.contains("Verdict")), "{:?}", document.verdict);
    document.verdict = sweeps::limited_by_the_generator().runs.pop().expect("there is one").result.verdict;
    for picture in [percentiles(&document, &Style::default()), timeline(&document, &Style::default())] {
        shows(&picture, &["Verdict INVALID: client cpu"]);
    }
    shows(
        &compare(&[("a.json", &document), ("b.json", &document)], &Style::default()),
        &["a.json (INVALID)"],
    );
}

#[test]
fn every_result_can_be_drawn() {
    for document in every_document() {
        for width in [300, 800] {
            let style = style(Theme::Light, width, None);
            let pictures = [
                percentiles(&document, &style),
                timeline(&document, &style),
                compare(&[("one", &document), ("other", &document)], &style),
            ];
            pictures.iter().for_each(|picture| check(picture, width, None));
        }
    }
    shows(&percentiles(&documents::without_replies(), &Style::default()), &["no call was answered"]);
    shows(
        &timeline(&documents::without_detail(), &Style::default()),
        &["the run was too short to be shown over time"],
    );
}

#[test]
fn every_sweep_can_be_drawn() {
    for made in [sweeps::saturating(), sweeps::hostile(), sweeps::empty(), sweeps::one_run()] {
        check(&sweep(&SweepCurve::of(&made), &Style::default()), 800, None);
    }
    shows(&sweep(&SweepCurve::of(&sweeps::empty()), &Style::default()), &["no run was made", "0 steps"]);
}

/// Text as the font of PNG sets it, with its left, top, right and bottom, in pixels.
fn set_text(picture: &Picture) -> Vec<(String, [f64; 4])> {
    let font = Face::parse(ttf_noto_sans::REGULAR, 0).expect("it is a font");
    let svg = picture.svg();
    let xml = Xml::parse(&svg).expect("it is XML");
    let root = xml.root_element();
    let width: f64 = root.attribute("width").expect("there is one").parse().expect("a number");
    let scale = width / sheet(&root).0;
    let texts = xml.descendants().filter(|node| node.has_tag_name("text"));
    let set = texts.map(|node| {
        let attribute = |name| node.attribute(name).expect(name);
        let number = |name| attribute(name).parse::<f64>().expect(name) * scale;
        let text = node.text().unwrap_or_default().trim().to_owned();
        let unit = number("font-size") / f64::from(font.units_per_em());
        let advance = |letter| font.glyph_hor_advance(font.glyph_index(letter).unwrap_or_default());
        let length = unit * text.chars().filter_map(advance).map(f64::from).sum::<f64>();
        let left = match attribute("text-anchor") {
            "start" => 0.0,
            "middle" => -length / 2.0,
            "end" => -length,
            anchor => panic!("{anchor}"),
        };
        let x_height = f64::from(font.x_height().expect("it has letters")) * unit;
        let down = match attribute("dy") {
            "0.76em" => 0.76 * number("font-size"),
            "0.5ex" => 0.5 * x_height,
            "-0.5ex" => -0.5 * x_height,
            dy => panic!("{dy}"),
        };
        let [top, bottom] = [font.ascender(), font.descender()].map(|rise| down - f64::from(rise) * unit);
        let (x, y) = (number("x"), number("y"));
        let place = match node.attribute("transform") {
            None => [x + left, y + top, x + left + length, y + bottom],
            // Upwards.
            Some(turn) if turn.starts_with("rotate(270,") => {
                [x + top, y - left - length, x + bottom, y - left]
            }
            Some(turn) => panic!("{turn}"),
        };
        (text, place)
    });
    set.collect()
}

#[track_caller]
fn check_text(picture: &Picture, width: u32) {
    let texts = set_text(picture);
    assert!(texts.len() > 5);
    let svg = picture.svg();
    let xml = Xml::parse(&svg).expect("it is XML");
    let (sheet_width, sheet_height) = sheet(&xml.root_element());
    let height = sheet_height / sheet_width * f64::from(width);
    for (index, (text, [left, top, right, bottom])) in texts.iter().enumerate() {
        assert!(
            *left >= 0.0 && *top >= 0.0 && *right <= f64::from(width),
            "{text} is cut: {left} to {right} of {width}"
        );
        assert!(*bottom <= height, "{text} is cut: {bottom} of {height}");
        for (other, [other_left, other_top, other_right, other_bottom]) in &texts[..index] {
            // Boxes are as high as the font's tallest letters, higher than these letters.
            let across = right.min(*other_right) - left.max(*other_left);
            let down = bottom.min(*other_bottom) - top.max(*other_top);
            assert!(
                across <= 0.0 || down <= 6.0,
                "`{text}` and `{other}` overlap by {across} and {down} pixels"
            );
        }
    }
}

#[test]
fn no_text_is_cut_or_covered() {
    for width in [300, 800] {
        let style = style(Theme::Light, width, None);
        every_kind(&style).iter().for_each(|picture| check_text(picture, width));
        for document in every_document() {
            let names: Vec<String> =
                (0..10).map(|index| format!("runs/of-a-rather-long-name/{index}.json")).collect();
            let named: Vec<(&str, &Document)> = names.iter().map(|name| (&**name, &document)).collect();
            for picture in
                [percentiles(&document, &style), timeline(&document, &style), compare(&named, &style)]
            {
                check_text(&picture, width);
            }
        }
        for made in [
            sweeps::saturating(),
            sweeps::limited_by_the_generator(),
            sweeps::hostile(),
            sweeps::empty(),
            sweeps::one_run(),
        ] {
            let curve = SweepCurve::of(&made);
            for knee in [None, Some(1.5), Some(sweeps::CAPACITY), Some(3_000.0)] {
                check_text(&sweep(&SweepCurve { knee, ..curve.clone() }, &style), width);
            }
        }
    }
}

#[test]
fn interrupted_runs_do_not_count() {
    let mut made = sweeps::one_run();
    made.runs[0].result.parts[0].ended_early = Some(httperf_report::result::EarlyEnd::Asked);
    assert_eq!(SweepCurve::of(&sweeps::recomputed(made)).points, []);
}

#[test]
fn text_from_outside_is_escaped() {
    let document = documents::hostile();
    let names =
        ["</text><script>alert(1)</script>\".json", "\u{0}\u{1b}[31m\u{202e}gpj.exe", &"long/".repeat(500)];
    let named: Vec<(&str, &Document)> = names.iter().map(|&name| (name, &document)).collect();
    let pictures = [
        percentiles(&document, &Style::default()),
        timeline(&document, &Style::default()),
        compare(&named, &Style::default()),
        sweep(&SweepCurve::of(&sweeps::hostile()), &Style::default()),
    ];
    for picture in &pictures {
        check(picture, 800, None);
        let svg = picture.svg();
        let xml = Xml::parse(&svg).expect("it is XML");
        let allowed = ["svg", "title", "desc", "rect", "text", "polyline", "polygon", "circle", "line"];
        for node in xml.descendants().filter(Node::is_element) {
            assert!(allowed.contains(&node.tag_name().name()), "{node:?}");
            assert!(node.attributes().all(|attribute| !attribute.name().starts_with("on")), "{node:?}");
        }
        assert!(svg.chars().all(|character| character == '\n' || !character.is_control()));
        decoded(&picture.png(1));
    }
    shows(&pictures[2], &["</text><script>alert(1)</script>\".json"]);
}

#[test]
fn more_results_than_can_be_told_apart_are_left_out() {
    let document = documents::one_call();
    let many = vec![("result.json", &document); COMPARED_MAX + 3];
    let picture = compare(&many, &Style::default());
    let named = texts(&picture).iter().filter(|text| text.starts_with("result.json")).count();
    assert_eq!(named, COMPARED_MAX);
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![any::<f64>(), Just(0.0), Just(f64::NAN), Just(f64::INFINITY), 0.0..1e4_f64, 0.0..1e12_f64]
}

fn spread() -> BoxedStrategy<Spread> {
    let range = proptest::option::of((number(), number()));
    (number(), any::<bool>(), range)
        .prop_map(|(mean, or_more, range)| Spread { mean, or_more, range })
        .boxed()
}

fn point() -> impl Strategy<Value = Point> {
    let time = || proptest::option::of(spread());
    let waits = ([time(), time()], [time(), time()], any::<bool>());
    let waits = waits.prop_map(|(first_ms, gap_ms, of_tokens)| Waits { first_ms, gap_ms, of_tokens });
    let times = (time(), time(), time(), proptest::option::of(waits));
    (number(), spread(), number(), spread(), times, any::<bool>()).prop_map(
        |(rate, replies, good_replies, errors_percent, times, is_client_limited)| {
            let (response_ms, latency_p50_ms, latency_p99_ms, stream_waits) = times;
            Point {
                rate,
                replies,
                good_replies,
                errors_percent,
                response_ms,
                latency_p50_ms,
                latency_p99_ms,
                stream_waits,
                is_client_limited,
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn any_sweep_can_be_drawn(
        points in proptest::collection::vec(point(), 0..12),
        knee in proptest::option::of(number()),
        calls in proptest::option::of(number()),
        title in any::<String>(),
        width in 0..1_200_u32,
        height in proptest::option::of(0..900_u32),
    ) {
        let curve = SweepCurve { title, unit: Unit::Calls, calls_per_arrival: calls, points, spread: "least and most", knee };
        let style = style(Theme::Dark, width, height);
        let picture = sweep(&curve, &style);
        check(&picture, width.max(*SIZES.start()), height.map(|height| height.max(*SIZES.start())));
    }
}
