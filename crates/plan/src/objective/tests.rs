use proptest::prelude::*;

use super::*;

fn latency(figure: Figure) -> Metric {
    Metric::Time { clock: Clock::Latency, figure }
}

#[track_caller]
fn check(text: &str, metric: Metric, relation: Relation, bound: f64) {
    assert_eq!(text.parse(), Ok(Objective { metric, relation, bound }), "{text}");
}

#[track_caller]
fn check_error(text: &str, character: usize, expected: &str) {
    let error = Objective::parse_list(text).unwrap_err().to_string();
    let lines: Vec<&str> = error.lines().filter(|line| !line.starts_with("hint: ")).collect();
    let [sentence, shown, mark] = lines[..] else { panic!("{error}") };
    assert!(sentence.contains(expected), "{error}");
    assert!(sentence.ends_with(&format!("at character {character}, got `{text}`")), "{error}");
    assert_eq!((shown, mark), (&format!("  {text}")[..], &format!("{:>1$}", "^", character + 2)[..]));
}

#[test]
fn times_have_a_clock_a_figure_and_a_unit() {
    check("p99<50ms", latency(Figure::Quantile(0.99)), Relation::Below, 0.05);
    check("latency.p99.9<=2s", latency(Figure::Quantile(0.999)), Relation::AtMost, 2.0);
    check("mean < 250us", latency(Figure::Mean), Relation::Below, 0.00025);
    check("max<0.5µs", latency(Figure::Max), Relation::Below, 0.5e-6);
    check("max<1.5m", latency(Figure::Max), Relation::Below, 90.0);
    check("max<2min", latency(Figure::Max), Relation::Below, 120.0);
    check(
        "session.max<=1h",
        Metric::Time { clock: Clock::Session, figure: Figure::Max },
        Relation::AtMost,
        3600.0,
    );
    let ttft = Metric::Time { clock: Clock::FirstToken, figure: Figure::Quantile(0.99) };
    check("ttft.p99<500ms", ttft, Relation::Below, 0.5);
    check("e2e.p99<5s", latency(Figure::Quantile(0.99)), Relation::Below, 5.0);
    let connect = Metric::Time { clock: Clock::Connect, figure: Figure::Min };
    check(" connect.min >= 1 ms ", connect, Relation::AtLeast, 0.001);
}

#[test]
fn shares_are_percentages_and_rates_need_no_unit() {
    check("errors<0.1%", Metric::Share(Share::Errors), Relation::Below, 0.001);
    check("5xx<=0%", Metric::Share(Share::Status(5)), Relation::AtMost, 0.0);
    check("failed<=0", Metric::Share(Share::Failed), Relation::AtMost, 0.0);
    check("2xx>=99%", Metric::Share(Share::Status(2)), Relation::AtLeast, 0.99);
    check("checks>=99.9%", Metric::Share(Share::Checks), Relation::AtLeast, 0.999);
    check("goodput>=95%", Metric::Share(Share::Good), Relation::AtLeast, 0.95);
    check("replies>950/s", Metric::Replies, Relation::Above, 950.0);
    check("replies>950", Metric::Replies, Relation::Above, 950.0);
}

#[test]
fn a_list_has_commas_between_objectives() {
    let list = Objective::parse_list("p99<50ms, errors<0.1%").unwrap();
    assert_eq!(list.iter().map(ToString::to_string).collect::<Vec<_>>(), ["p99<50ms", "errors<0.1%"]);
}

#[test]
fn words_of_other_tools_get_a_hint() {
    for (text, hint) in [
        ("error_rate<1%", Some("errors<1% ")),
        ("p99<5ms, http_req_failed<1%", Some("errors<1% ")),
        ("p(95)<500", Some("p95<500ms ")),
        ("Avg<20ms", Some("p95<500ms ")),
        ("success>99%", Some("errors<1% ")),
        ("rps>100", Some("replies>100 ")),
        ("latenzy.p99<1ms", None),
        ("p99=5ms", None),
    ] {
        let error = Objective::parse_list(text).unwrap_err();
        assert_eq!(error.hint().is_some(), hint.is_some(), "{text}");
        assert!(
            error.hint().is_none_or(|told| told.starts_with(hint.unwrap_or_default())),
            "{text}: {error}"
        );
    }
}

#[test]
fn an_error_says_at_which_character() {
    check_error("", 1, "a figure such as p99");
    check_error("p99<50ms,", 10, "a figure such as p99");
    check_error("latenzy.p99<1ms", 1, "a figure such as p99");
    check_error("p0<1ms", 2, "a percentage above 0 and below 100");
    check_error("service.p100<1ms", 10, "a percentage above 0 and below 100");
    check_error("service.median<1ms", 9, "p and a percentage");
    check_error("p99=5ms", 4, "<, <=, > or >=");
    check_error("p99<fast", 5, "a number");
    check_error("p99<-5ms", 5, "a number");
    check_error("p99<5", 6, "a unit of time");
    check_error("p99<5ms, p50<1µ", 15, "a unit of time");
    check_error("p99<50xs", 7, "a unit of time (us, ms, s, m or h)");
    check_error("p99<50 M", 8, "a unit of time");
    check_error("errors<0.1", 11, "expected %");
    check_error("errors<=101%", 9, "at most 100 %");
    check_error("errors>100%", 8, "no share is greater");
    check_error("errors<0%", 8, "a bound above 0");
    check_error("p99<0ms", 5, "a bound above 0");
    check_error("p99<5ms errors<1%", 9, "a comma or the end");
    check_error("6xx<1%", 1, "a figure such as p99");
    check_error("replies>9kk", 10, "a comma or the end");
}

#[test]
fn tolerances_are_changes_with_a_sign() {
    let tolerance = |text: &str| text.parse::<Tolerance>().unwrap().change();
    assert_eq!(tolerance("p99>+5%"), Change::Share(0.05));
    assert_eq!(tolerance("p99>+2ms"), Change::Difference(0.002));
    assert_eq!(tolerance("session.max>+2m"), Change::Difference(120.0));
    assert_eq!(tolerance("session.max<-1h"), Change::Difference(-3600.0));
    assert_eq!(tolerance("errors>+0.5pp"), Change::Difference(0.005));
    assert_eq!(tolerance("errors > + 10 %"), Change::Share(0.1));
    assert_eq!(tolerance("replies<-5%"), Change::Share(-0.05));
    assert_eq!(tolerance("replies<-100/s"), Change::Difference(-100.0));
    for (text, expected) in [
        ("p99>5%", "+ or - before the difference at character 5"),
        ("p99>+5", "a unit (%, us, ms, s, m or h) at character 7"),
        ("p99>+5% ms", "a comma or the end at character 9"),
        ("errors>+5ms", "percentage points) at character 10"),
        ("replies<-5pp", "a unit (% or /s) at character 11"),
    ] {
        let error = text.parse::<Tolerance>().unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn what_no_run_can_meet_is_found() {
    let contradiction = |text: &str| {
        let found = Objective::contradiction(&Objective::parse_list(text).unwrap());
        found.map(|(upper, lower)| format!("{upper} {lower}"))
    };
    for text in
        ["p99<5ms, p99>10ms", "p99<5ms,p99>=5ms", "p99<5ms,p50>5ms", "max<1s,min>2s", "errors<1%,failed>2%"]
    {
        assert!(contradiction(text).is_some(), "{text}");
    }
    for text in [
        "p99<5ms,p50<1ms",
        "p99<=5ms,p99>=5ms",
        "p50<5ms,p99>5ms",
        "service.p99<1ms,p99>2ms",
        "mean<1ms,p50>2ms",
    ] {
        assert_eq!(contradiction(text), None, "{text}");
    }
}

proptest! {
    #[test]
    fn what_is_printed_reads_the_same(
        text in "(p[1-9]{1,2}(\\.[0-9])?|connect\\.mean|session\\.max|handshake\\.min)(<|<=|>|>=)[1-9][0-9]{0,3}(\\.[0-9]{1,3})?(us|ms|s|m|min|h)",
    ) {
        let objective: Objective = text.parse().unwrap();
        let printed = objective.to_string();
        let again: Objective = printed.parse().unwrap();
        prop_assert_eq!(again.metric(), objective.metric());
        prop_assert!((again.bound() - objective.bound()).abs() <= objective.bound() * 1e-12);
        prop_assert_eq!(again.to_string(), printed);
    }

    #[test]
    fn no_text_is_too_odd(text in "\\PC{0,30}") {
        drop(Objective::parse_list(&text).map_err(|error| error.to_string()));
        drop(Tolerance::parse_list(&text).map_err(|error| error.to_string()));
    }
}
