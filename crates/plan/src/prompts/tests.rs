use super::*;
use crate::Sha256;

fn asking(uri: &str) -> Asking {
    Asking {
        uri: Template::literal(uri.as_bytes()),
        names_path: false,
        model: None,
        max_tokens: None,
        whole_answers: false,
    }
}

fn read(contents: &[u8], asking: Asking) -> Result<(Prompts, u64), Problems> {
    let size = contents.len() as u64;
    let file = BodyFile { path: "p".into(), size, sha256: Sha256([0; 32]), contents: contents.into() };
    Prompts::new(file, asking)
}

/// A line for each request: path and body. What streams have in common is left out.
#[track_caller]
fn check_asking(contents: &str, asking: Asking, expected: &[&str]) {
    let (prompts, _) = read(contents.as_bytes(), asking).unwrap();
    let outline: Vec<String> = prompts
        .requests
        .iter()
        .map(|PromptRequest { uri, body }| {
            let text = format!("{} {}", uri.typed().escape_ascii(), String::from_utf8_lossy(body));
            text.replace(r#""stream":true,"stream_options":{"include_usage":true}"#, "STREAM")
        })
        .collect();
    assert_eq!(outline, expected, "{contents}");
    assert_eq!(prompts.count, expected.len() as u64);
    assert!(prompts.file.contents.is_empty(), "its requests are kept instead");
}

#[track_caller]
fn check(contents: &str, expected: &[&str]) {
    check_asking(contents, asking(CHAT_COMPLETIONS), expected);
}

#[track_caller]
fn check_error(contents: &str, expected: &str) {
    let found = read(contents.as_bytes(), asking(CHAT_COMPLETIONS)).unwrap_err().to_string();
    assert_eq!(found, expected, "{contents}");
}

const HELLO: &str = r#"/v1/chat/completions {"messages":[{"role":"user","content":"Hello"}],STREAM}"#;

#[test]
fn a_row_is_a_prompt_with_what_else_the_request_has() {
    check(
        "\u{feff}\n{\"prompt\": \"Hello\"}\r\n\n  {\"temperature\": 0.7, \"prompt\": \"a\\nb\", \"ignore_eos\": true, \
         \"max_tokens\": 7, \"model\": \"m\"}",
        &[
            HELLO,
            r#"/v1/chat/completions {"model":"m","messages":[{"role":"user","content":"a\nb"}],"max_tokens":7,"temperature":0.7,"ignore_eos":true,STREAM}"#,
        ],
    );
    check(
        r#"{"prompt": "Hello", "output_tokens": 5}
           {"prompt": "Hello", "max_completion_tokens": 6, "max_tokens": null}"#,
        &[
            r#"/v1/chat/completions {"messages":[{"role":"user","content":"Hello"}],"max_tokens":5,STREAM}"#,
            r#"/v1/chat/completions {"messages":[{"role":"user","content":"Hello"}],"max_completion_tokens":6,STREAM}"#,
        ],
    );
}

#[test]
fn messages_are_sent_as_they_are() {
    check(
        r#"{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text"}]}]}"#,
        &[
            r#"/v1/chat/completions {"messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text"}]}],STREAM}"#,
        ],
    );
}

const BATCH: &str = r#"{"custom_id": "1", "method": "POST", "url": "/v1/completions", "body": {"prompt": "Hello", "seed": 1}}
{"custom_id": "2", "url": "/v1/chat/completions?a=b", "body": {"messages": [{"role": "user"}]}}
{"custom_id": "3", "body": {"prompt": "Hello"}}"#;

#[test]
fn a_batch_has_paths_that_count_unless_one_is_given() {
    check(
        BATCH,
        &[
            r#"/v1/completions {"prompt":"Hello","seed":1,STREAM}"#,
            r#"/v1/chat/completions?a=b {"messages":[{"role":"user"}],STREAM}"#,
            HELLO,
        ],
    );
    let given = Asking { names_path: true, ..asking("/x/chat/completions") };
    let hello = HELLO.replace("/v1/", "/x/");
    check_asking(
        BATCH,
        given,
        &[
            &hello.replace(r#"],S"#, r#"],"seed":1,S"#),
            r#"/x/chat/completions {"messages":[{"role":"user"}],STREAM}"#,
            &hello,
        ],
    );
}

#[test]
fn the_first_question_of_a_conversation_is_the_prompt() {
    let conversations = r#"[
  {"id": "a", "conversations": [{"from": "human", "value": "Hello"}, {"from": "gpt", "value": "Hi"}]},
  {"id": "b", "conversations": [{"from": "gpt", "value": "Hi"}]}, {"conversations": []},
  {"id": "c", "max_tokens": 3, "conversations": [{"from": "system", "value": "x"}, {"from": "user", "value": " "},
   {"role": "user", "content": "Hello"}, {"role": "user", "content": "no"}]}
]
"#;
    let three = HELLO.replace("STREAM", "\"max_tokens\":3,STREAM");
    check(conversations, &[HELLO, &three]);
    let (_, left_out) = read(conversations.as_bytes(), asking(CHAT_COMPLETIONS)).unwrap();
    assert_eq!(left_out, 2);
    check(r#"{"conversations": [{"from": "human", "value": "Hello"}]}"#, &[HELLO]);
    check_error(
        r#"[{"conversations": []}]"#,
        "expected a prompt, got only conversations in which nobody asks anything (1)",
    );
}

#[test]
fn text_has_a_prompt_on_each_line() {
    check("Hello\r\n\n\t Hello\n", &[HELLO, HELLO]);
    check(
        "[INST] \"{seq}\" [/INST]",
        &[
            r#"/v1/chat/completions {"messages":[{"role":"user","content":"[INST] \"{seq}\" [/INST]"}],STREAM}"#,
        ],
    );
    let wrong = read(b"Hello\na \xff", asking(CHAT_COMPLETIONS)).unwrap_err().to_string();
    assert_eq!(wrong, "2: expected text in UTF-8, got another byte at column 3");
}

#[test]
fn completions_take_the_prompt_itself() {
    check_asking("Hello", asking("/v1/completions?x"), &[r#"/v1/completions?x {"prompt":"Hello",STREAM}"#]);
    check_asking(
        r#"{"prompt": [1, 2]}"#,
        asking("/completions"),
        &[r#"/completions {"prompt":[1,2],STREAM}"#],
    );
    let wrong = read(br#"{"messages": [{"role": "user"}]}"#, asking("/v1/completions")).unwrap_err();
    assert_eq!(
        wrong.to_string(),
        "1: expected a `prompt`, as `/v1/completions` takes no messages, got `messages`"
    );
}

#[test]
fn what_is_asked_counts_where_a_row_says_nothing() {
    let asking = Asking {
        model: Some("m".to_owned()),
        max_tokens: NonZeroU64::new(9),
        whole_answers: true,
        ..asking("/completions")
    };
    check_asking(
        r#"{"prompt": "a"}
           {"prompt": "b", "model": "n", "output_tokens": 2, "stream": true, "stream_options": {}}
           {"prompt": "c", "stream": false, "max_completion_tokens": 3}"#,
        asking,
        &[
            r#"/completions {"model":"m","prompt":"a","max_tokens":9,"stream":false}"#,
            r#"/completions {"model":"n","prompt":"b","max_tokens":2,"stream_options":{},"stream":true}"#,
            r#"/completions {"model":"m","prompt":"c","max_completion_tokens":3,"stream":false}"#,
        ],
    );
}

#[test]
fn all_mistakes_of_a_file_are_named_at_once() {
    check_error(
        "{\"prompt\": \"fine\"}\n{\"prompt\": 7}\n{\"prompt\": \"\"}\n{}\n{\"question\": \"a\", \"answer\": \"b\"}\nHello\n\
         {\"prompt\": \"a\", \"messages\": []}\n{\"messages\": []}\n{\"messages\": [7]}\n{\"body\": 7}\n\
         {\"method\": \"GET\", \"body\": {}}\n{\"url\": \"/v1/embeddings\", \"body\": {}}\n\
         {\"prompt\": \"a\", \"max_tokens\": 0}\n{\"prompt\": \"a\", \"max_tokens\": 1, \"output_tokens\": 1}\n\
         {\"prompt\": \"a\", \"stream\": \"yes\"}\n{\"prompt\": \"a\", \"model\": 1}\n{\"prompt\": \"a\n\
         {\"conversations\": [{\"from\": \"human\"}]}\n{\"conversations\": 7}",
        "2: expected a text that is not empty as `prompt`, got `7`\n\
         3: expected a text that is not empty as `prompt`, got `\"\"`\n\
         4: expected a `prompt`, `messages`, `conversations`, or `body` with one of them, got nothing\n\
         5: expected a `prompt`, `messages`, `conversations`, or `body` with one of them, got `question`, `answer`\n\
         6: expected an object of JSON, got `Hello`\n\
         7: expected either `prompt` or `messages`, got both\n\
         8: expected `messages` as a list of objects with a `role`, got `[]`\n\
         9: expected `messages` as a list of objects with a `role`, got `[7]`\n\
         10: expected an object as `body`, got `7`\n\
         11: expected the method POST, got `\"GET\"`\n\
         12: expected a `url` that ends in /chat/completions or /completions, got `\"/v1/embeddings\"`\n\
         13: expected a number above 0 as `max_tokens`, got `0`\n\
         14: expected either `max_tokens` or `output_tokens`, got both\n\
         15: expected true or false as `stream`, got `\"yes\"`\n\
         16: expected a name as `model`, got `1`\n\
         17: expected an object of JSON, got `{\"prompt\": \"a` (EOF while parsing a string at column 13)\n\
         18: expected `conversations` as a list of turns with `from` and `value`, got `{\"from\":\"human\"}`\n\
         19: expected `conversations` as a list of turns with `from` and `value`, got `7`",
    );
}

#[test]
fn more_mistakes_than_anybody_reads_are_counted() {
    let problems = read("{}\n".repeat(25).as_bytes(), asking(CHAT_COMPLETIONS)).unwrap_err();
    assert_eq!((problems.named.len(), problems.more), (PROBLEMS_MAX, 5));
    assert!(problems.to_string().ends_with("got nothing\nand 5 more"));
}

#[test]
fn an_array_ends_where_it_is_wrong() {
    for (contents, expected) in [
        ("", "expected a prompt, got none"),
        ("[]", "expected a prompt, got none"),
        ("[{\"prompt\": \"a\"}\n {}]", "2: expected a comma or the end of the array, got `{}]`"),
        ("[\n{\"prompt\": \"a\"},\n7]", "3: expected an object of JSON, got `7]`"),
        ("[{\"prompt\": \"a\"}", "1: expected a comma or the end of the array, got the end of the file"),
        ("[{\"prompt\": \"a\"},", "1: expected an object of JSON, got the end of the file"),
        ("[{\"prompt\": \"a\"}] x", "1: expected nothing behind the array, got `x`"),
        (
            "[{\"prompt\":\n \"a\" 7}]",
            "2: expected an object of JSON, got `\"a\" 7}]` (expected `,` or `}` at column 6)",
        ),
        (
            "[{\"q\": 1},\n{\"prompt\": 7}]",
            "1: expected a `prompt`, `messages`, `conversations`, or `body` with one of them, got `q`\n\
             2: expected a text that is not empty as `prompt`, got `7`",
        ),
    ] {
        check_error(contents, expected);
    }
}

#[test]
fn a_path_tells_what_is_asked() {
    for (uri, expected) in [
        ("/v1/chat/completions", Some(Endpoint::Chat)),
        ("/chat/completions?a=/completions", Some(Endpoint::Chat)),
        ("/completions", Some(Endpoint::Completions)),
        ("/v1/completions/", None),
        ("/v1?x=/completions", None),
        ("/", None),
    ] {
        assert_eq!(Endpoint::of(uri.as_bytes()), expected, "{uri}");
    }
}

#[test]
fn a_saved_list_has_the_file_and_not_its_prompts() {
    let (prompts, _) = read(b"Hello", asking(CHAT_COMPLETIONS)).unwrap();
    let json = serde_json::to_string(&prompts).unwrap();
    assert!(!json.contains("Hello"), "{json}");
    let saved: Prompts = serde_json::from_str(&json).unwrap();
    assert_eq!(saved, Prompts { requests: Arc::default(), ..prompts });
}
