//! The keys of workload files: the one definition from which come the checks, the schema and the reference.

use super::{values, websockets};
use crate::scenario::Scenarios;

/// A table of a workload file.
#[derive(Debug)]
pub(super) struct Table {
    /// The name in the reference.
    pub(super) title: &'static str,
    /// A description for people: sentences.
    pub(super) doc: &'static str,
    pub(super) keys: &'static [Key],
    /// A table whose keys this one has too.
    pub(super) extends: Option<&'static Table>,
    /// The keys that exclude one another. One of them must be there, or else the key `steps`, if the table has it.
    pub(super) forms: &'static [&'static str],
    /// True if one of `forms` must be there.
    pub(super) needs_form: bool,
}

/// A key of a table.
#[derive(Debug)]
pub(super) struct Key {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// A description for people: a noun phrase.
    pub(super) doc: &'static str,
    pub(super) is_required: bool,
    /// The keys that must be there with it.
    pub(super) needs: &'static [&'static str],
    /// The keys of which one must be there with it; any will do if the list is empty.
    pub(super) belongs_to: &'static [&'static str],
    /// Words for it in other tools.
    pub(super) habits: &'static [&'static str],
}

/// The values that a key may have.
#[derive(Debug)]
pub(super) enum Kind {
    /// A text that is not empty.
    Text,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    /// A text of this form.
    Form(&'static Form),
    /// A whole number from the first to the second.
    Whole(u64, u64),
    /// A text, number or truth value.
    Scalar,
    /// A scalar or a list of scalars.
    Scalars,
    /// A text or a list of texts.
    Names,
    Table(&'static Table),
    /// A list of tables.
    List(&'static Table),
    /// A table whose keys are names of the user's own.
    Map(&'static Kind),
}

/// A form of text, or of a number that means what it means there.
#[derive(Debug)]
pub(super) struct Form {
    /// A description that completes "expected".
    pub(super) expected: &'static str,
    /// True for values of this form.
    pub(super) matches: fn(&str) -> bool,
    /// True if a number may stand for a text.
    pub(super) takes_numbers: bool,
}

const fn key(name: &'static str, kind: Kind, doc: &'static str) -> Key {
    Key { name, kind, doc, is_required: false, needs: &[], belongs_to: &[], habits: &[] }
}

impl Key {
    const fn required(self) -> Self {
        Self { is_required: true, ..self }
    }

    const fn needs(self, needs: &'static [&'static str]) -> Self {
        Self { needs, ..self }
    }

    const fn belongs_to(self, belongs_to: &'static [&'static str]) -> Self {
        Self { belongs_to, ..self }
    }

    const fn habits(self, habits: &'static [&'static str]) -> Self {
        Self { habits, ..self }
    }
}

const fn table(title: &'static str, doc: &'static str, keys: &'static [Key]) -> Table {
    Table { title, doc, keys, extends: None, forms: &[], needs_form: false }
}

impl Table {
    /// Returns the keys, those of the extended table last.
    pub(super) fn all_keys(&self) -> impl Iterator<Item = &'static Key> + use<> {
        self.keys.iter().chain(self.extends.map_or(&[][..], |table| table.keys))
    }

    /// Returns the name of its definition in the schema.
    pub(super) fn name(&self) -> &'static str {
        self.title.trim_matches(['`', '[', ']'])
    }

    pub(super) fn key(&self, name: &str) -> Option<&'static Key> {
        self.all_keys().find(|key| key.name == name)
    }
}

impl Kind {
    /// Returns a description that completes "expected".
    pub(super) fn expected(&self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::OneOf(words) => alternatives(words),
            Self::Form(form) => form.expected.to_owned(),
            Self::Whole(min, max) => match max {
                &COUNT_MAX => format!("a whole number from {min} on"),
                max => format!("a whole number from {min} to {max}"),
            },
            Self::Scalar => "a text, a number, true or false".to_owned(),
            Self::Scalars => "a text, a number, true, false, or a list of those".to_owned(),
            Self::Names => "a name or a list of names".to_owned(),
            Self::Table(_) | Self::Map(_) => "a table".to_owned(),
            Self::List(_) => "a list of tables".to_owned(),
        }
    }
}

/// Returns names as alternatives: `a, b or c`.
pub(super) fn alternatives(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The greatest number that TOML has.
pub(super) const COUNT_MAX: u64 = i64::MAX as u64;

const DURATION: Form = Form {
    expected: "a time such as 500ms, 3s, 2m or 1h",
    matches: |text| values::duration(text).is_some(),
    takes_numbers: true,
};

const RATE: Form = Form {
    expected: "a rate such as 50/s, 600/m or 0..50/s",
    matches: |text| values::rate(text).is_some(),
    takes_numbers: true,
};

const PAUSE: Form = Form {
    expected: "a pause such as 3s, uniform(1s, 3s), exp(3s) or lognormal(3s, 0.5)",
    matches: |text| values::pause(text).is_some(),
    takes_numbers: true,
};

const TIME: Form = Form {
    expected: "a time above 0 such as 500ms, 3s, 2m or 1h",
    matches: |text| websockets::time(text).is_some(),
    takes_numbers: true,
};

const EVERY: Form = Form {
    expected: "a time above 0 such as 1s, or exp(1s)",
    matches: |text| websockets::every(text).is_some(),
    takes_numbers: true,
};

const TIMES: Form = Form {
    expected: "a number of times such as 3 or 2..6",
    matches: |text| values::times(text).is_some(),
    takes_numbers: true,
};

/// The whole file.
/// A file without scenarios.
pub(super) static OPTIONS_FILE: Table = table("the file", "Keys at the top of the file.", &[BASE, OPTIONS]);

const BASE: Key =
    key("base", Kind::Text, "The start of all URLs: the variable `{{base}}`. `--base` overrides it.")
        .habits(&["url", "target", "host", "baseurl", "base-url"]);

const OPTIONS: Key = key(
    "options",
    Kind::Map(&Kind::Scalars),
    "Options of the command line by their long names, such as `timeout = 5`. The command line overrides them. Two are \
     of the file alone: `cookies = false` does not send cookies back; `connections` is `\"visit\"` (the default: \
     connections are kept for the visit) or `\"step\"` (each call has a new one). A file that has nothing but `[options]` \
     and perhaps `base` makes the run that these options make on the command line.",
);

pub(super) static FILE: Table = table(
    "the file",
    "Keys at the top of the file, before the first table.",
    &[
        BASE,
        key("seed", Kind::Whole(0, COUNT_MAX), "The seed of all that is random in visits; 0 by default."),
        key(
            "variables",
            Kind::Map(&Kind::Scalar),
            "Constants: `currency = \"EUR\"` is `{{currency}}`. `--variable` overrides one.",
        )
        .habits(&["vars", "env"]),
        key("arrivals", Kind::Table(&ARRIVALS), "The schedule on which visits start.").habits(&["load"]),
        key("feed", Kind::Map(&Kind::Table(&FEED)), "Sources of rows of values, by their names.")
            .habits(&["data", "feeder", "feeders"]),
        key("scenario", Kind::List(&SCENARIO), "The scenarios. Each visit follows one of them.").required(),
        key("objectives", Kind::Table(&OBJECTIVES), "Bounds that the server must meet.").habits(&[
            "thresholds",
            "slo",
            "slos",
            "ensure",
        ]),
        OPTIONS,
    ],
);

static ARRIVALS: Table = Table {
    forms: &["phases", "rate", "users"],
    needs_form: true,
    ..table(
        "`[arrivals]`",
        "The schedule on which visits start: `phases` or `rate` for an open loop, `users` for a closed one.",
        &[
            key(
                "process",
                Kind::OneOf(&["even", "uniform", "poisson"]),
                "The distribution of intervals; `even` by default.",
            )
            .belongs_to(&["phases", "rate"]),
            key("phases", Kind::List(&PHASE), "Stretches of the schedule, one after the other.")
                .habits(&["stages", "ramp"]),
            key(
                "rate",
                Kind::Form(&RATE),
                "The rate at which visits start; `0..50/s` rises linearly and needs `for`.",
            )
            .habits(&["rps", "arrival-rate", "arrivalrate"]),
            key(
                "users",
                Kind::Whole(1, u32::MAX as u64),
                "The number of visits under way at any time: as one ends, the next starts.",
            )
            .habits(&["vus", "concurrency"]),
            key("for", Kind::Form(&DURATION), "The time for which visits start.")
                .belongs_to(&["rate", "users"])
                .habits(&["duration", "runtime", "run-time"]),
            key("visits", Kind::Whole(1, COUNT_MAX), "The maximum number of visits in all.").habits(&[
                "iterations",
                "count",
                "sessions",
            ]),
            key(
                "max-open",
                Kind::Whole(1, u32::MAX as u64),
                "The maximum number of visits under way; others wait until one has ended.",
            )
            .belongs_to(&["phases", "rate"])
            .habits(&["max-vus", "maxvusers"]),
        ],
    )
};

static PHASE: Table = table(
    "`phases`",
    "A stretch of the schedule. Its results are apart from those of other phases.",
    &[
        key("name", Kind::Text, "The name.").required(),
        key("for", Kind::Form(&DURATION), "The length.").required().habits(&["duration", "length"]),
        key(
            "rate",
            Kind::Form(&RATE),
            "The rate at which visits start: `50/s`, or `0..50/s`, which rises linearly.",
        )
        .required()
        .habits(&["target", "rps", "arrivalrate", "arrival-rate"]),
    ],
);

pub(super) static FEED: Table = table(
    "`[feed.NAME]`",
    "A source of rows of values. A row sets the variables of its columns.",
    &[
        key("file", Kind::Text, "The path, relative to this file: `.csv`, whose first line has the names, or `.jsonl`, an object in each line.")
            .required()
            .habits(&["path"]),
        key(
            "order",
            Kind::OneOf(&["unique", "random", "cycle"]),
            "The order in which visits take rows: `unique` (the default: each once, in order), `random`, or `cycle` (in order, again and again).",
        )
        .habits(&["strategy"]),
        key(
            "at-end",
            Kind::OneOf(&["stop", "cycle"]),
            "The action when a unique feed has no row left: `stop` (the default: no further visit starts) or `cycle`.",
        ),
    ],
);

static SCENARIO: Table = table(
    "`[[scenario]]`",
    "A scenario: the steps of a visit.",
    &[
        key("name", Kind::Text, "The name.").required(),
        key(
            "weight",
            Kind::Whole(1, u32::MAX as u64),
            "The share of visits that follow it, relative to the other weights; 1 by default.",
        ),
        key("feed", Kind::Names, "The feeds of which a visit takes a row at its start.").habits(&["feeds"]),
        key("on-failure", ON_FAILURE, ON_FAILURE_DOC),
        key("steps", Kind::List(&STEP), "The steps, in order.").required().habits(&["flow", "requests"]),
    ],
);

const ON_FAILURE: Kind = Kind::OneOf(&["end", "continue"]);
const ON_FAILURE_DOC: &str = "The action after a failed check: `end` the visit, or `continue` (the default). A failed \
                              call or capture ends it in any case.";

static STEP: Table = Table {
    forms: &["run", "ws", "think", "repeat", "choose", "if", "while"],
    needs_form: true,
    ..table(
        "`steps`",
        "A step has one of the keys `run`, `ws`, `think`, `repeat`, `choose`, `if` and `while`, or `steps` alone: several \
         steps in place of one.",
        &[
            key("run", Kind::Text, "A Hurl file, relative to this file: makes its requests in order.")
                .habits(&["file", "hurl", "request"]),
            key("with", Kind::Map(&Kind::Scalar), "Values of variables for these requests and what follows.")
                .belongs_to(&["run"])
                .habits(&["vars", "variables"]),
            key("feed", Kind::Names, "Feeds, in random order or in cycles, of which the step takes a row.")
                .belongs_to(&["run"]),
            key("on-failure", ON_FAILURE, ON_FAILURE_DOC).belongs_to(&["run", "ws"]),
            key(
                "ws",
                Kind::Text,
                "The URL of a WebSocket, `wss://host/path` or a path behind `{{base}}`: opens it, talks there, and closes it.",
            )
            .habits(&["websocket", "wss"]),
            key("name", Kind::Text, "The name of the step in reports; `ws` and the URL by default.").belongs_to(&["ws"]),
            key("send", Kind::Text, "The text of its messages, filled in once for each WebSocket; their numbers by default.")
                .belongs_to(&["ws"])
                .habits(&["message", "text"]),
            key("size", Kind::Whole(1, 1 << 24), "The size in bytes of messages without a text; 32 by default.")
                .belongs_to(&["ws"]),
            key(
                "expect",
                Kind::OneOf(&["echo", "any", "none"]),
                "What answers a message: the same (`echo`, the default), the next that comes (`any`), or nothing (`none`).",
            )
            .belongs_to(&["ws"]),
            key(
                "every",
                Kind::Form(&EVERY),
                "The time between messages, whatever came back: `1s`, or `exp(1s)` (the mean). By default the next is sent when \
                 the last is answered.",
            )
            .belongs_to(&["ws"])
            .habits(&["interval", "period"]),
            key("for", Kind::Form(&TIME), "The time after which it is closed, from its opening.").belongs_to(&["ws"]).habits(&["duration"]),
            key(
                "messages",
                Kind::Whole(0, COUNT_MAX),
                "The number of messages, after whose answers it is closed; 0 listens. 1 by default, or any number with `every` or `for`.",
            )
            .belongs_to(&["ws"])
            .habits(&["count"]),
            key("ping", Kind::Form(&TIME), "The time between pings; none by default.").belongs_to(&["ws"]),
            key(
                "think",
                Kind::Form(&PAUSE),
                "A pause: `3s`, `uniform(1s, 3s)`, `exp(3s)` (the mean) or `lognormal(3s, 0.5)` (the median, and the standard \
                 deviation of the logarithm).",
            )
            .habits(&["pause", "sleep", "wait", "delay"]),
            key("repeat", Kind::Form(&TIMES), "The number of times that `steps` are made: `3`, or `2..6`, each equally likely.")
                .needs(&["steps"])
                .habits(&["loop"]),
            key("choose", Kind::List(&CHOICE), "Steps of which one is made, each with a `weight`.").habits(&["switch", "random"]),
            key("if", Kind::Text, "A condition for `steps`: an assert of Hurl on a variable, `variable \"stock\" > 0`.")
                .needs(&["steps"]),
            key("while", Kind::Text, "A condition for making `steps` again and again, in the form of that of `if`.")
                .needs(&["at-most", "steps"]),
            key("steps", Kind::List(&STEP), "Steps, in order.").belongs_to(&["repeat", "if", "while", "steps"]),
            key("else", Kind::List(&STEP), "The steps if the condition does not hold.").belongs_to(&["if"]),
            key("at-most", Kind::Whole(1, u32::MAX as u64), "The maximum number of times that `steps` are made.")
                .belongs_to(&["while"])
                .habits(&["max", "limit"]),
        ],
    )
};

static CHOICE: Table = Table {
    extends: Some(&STEP),
    forms: &["run", "ws", "think", "repeat", "choose", "if", "while"],
    needs_form: true,
    ..table(
        "`choose`",
        "A step with a weight.",
        &[key(
            "weight",
            Kind::Whole(1, u32::MAX as u64),
            "The share of the choices, relative to the other weights; 1 by default.",
        )],
    )
};

static OBJECTIVES: Table = table(
    "`[objectives]`",
    "Bounds that the server must meet, in the form of `--slo`: `p99<300ms, errors<0.1%, checks>=99.9%`.",
    &[
        key("all", Kind::Text, "Objectives for the whole run."),
        key("scenario", Kind::Map(&Kind::Text), "Objectives for scenarios, by their names: `buyer = \"session.p95<60s\"`.")
            .habits(&["scenarios"]),
        key(
            "step",
            Kind::Map(&Kind::Text),
            "Objectives for steps, by their names: `\"add to cart\"` in all scenarios together, `\"buyer/add to cart\"` in one.",
        )
        .habits(&["steps"]),
        key("phase", Kind::Map(&Kind::Text), "Objectives for phases, by their names.").habits(&["phases"]),
    ],
);

/// The greatest depth of a table that the checks follow; the reader of TOML stops before.
pub(super) const TABLES_DEEP: usize = 4 * Scenarios::DEPTH_MAX;
