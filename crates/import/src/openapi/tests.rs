use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::workload::reread;

const SHOP: &str = r##"
openapi: 3.0.3
info: { title: Shop, version: "1" }
servers:
  - url: https://{region}.shop.example/v1/
    variables: { region: { default: eu } }
security: [ { bearer: [] } ]
paths:
  /pets/{petId}:
    parameters:
      - $ref: "#/components/parameters/PetId"
    get:
      operationId: getPet
      summary: One pet
      parameters:
        - { name: fields, in: query, schema: { type: string } }
        - { name: tags, in: query, required: true, example: [a, "b c"] }
        - { name: X-Trace, in: header, required: true, schema: { type: string, format: uuid } }
      responses:
        404: { description: none }
        200: { description: ok, content: { application/json: {} } }
    delete:
      security: []
      responses: { default: { description: any } }
  /pets:
    post:
      security: [ { key: [], basic: [] } ]
      requestBody:
        content:
          text/plain: { example: x }
          application/json:
            schema: { $ref: "#/components/schemas/Pet" }
      responses: { 2XX: { description: ok } }
    put:
      security: [ { inQuery: [] } ]
      requestBody:
        $ref: "#/components/requestBodies/Form"
      responses: { 204: { description: ok } }
  /other:
    get:
      parameters: [ { $ref: "other.yaml#/x" } ]
      responses: {}
  /lost: { get: { parameters: [ { $ref: "#/nowhere" } ] } }
components:
  parameters:
    PetId: { name: petId, in: path, required: true, schema: { type: integer, minimum: 7 } }
  requestBodies:
    Form: { content: { application/x-www-form-urlencoded: { schema: { properties: { a: { default: "1 2" } } } } } }
  securitySchemes:
    bearer: { type: http, scheme: bearer }
    basic: { type: http, scheme: basic }
    key: { type: apiKey, in: header, name: X-Key }
    inQuery: { type: apiKey, in: query, name: key }
  schemas:
    Named: { type: object, properties: { name: { type: string, minLength: 6 } } }
    Pet:
      allOf:
        - $ref: "#/components/schemas/Named"
        - type: object
          properties:
            id: { type: integer, readOnly: true }
            kind: { enum: [cat, dog] }
            born: { type: [string, "null"], format: date }
            weight: { type: number, exclusiveMinimum: 2 }
            friends: { type: array, items: { $ref: "#/components/schemas/Pet" } }
"##;

fn import(text: &str) -> Result<(Workload, Report), String> {
    let read = read(text.as_bytes(), "shop").map_err(|error| error.about("api.yaml"));
    read.inspect(|(workload, _)| reread::check(workload))
}

#[test]
fn each_operation_is_a_file_and_those_that_read_are_called() {
    let (workload, report) = import(SHOP).unwrap();
    let files: Vec<(&str, String)> =
        workload.files.iter().map(|file| (&file.name[..], file.written())).collect();
    assert_eq!(
        files[2],
        (
            "getpet.hurl",
            "# One pet\n\n# @name getPet\nGET {{base}}/pets/7\nX-Trace: 123e4567-e89b-42d3-a456-426614174000\n\
             Accept: application/json\nAuthorization: Bearer {{token}}\n[Query]\ntags: a\ntags: b c\nHTTP 200\n"
                .to_owned()
        )
    );
    assert_eq!(
        files[3],
        (
            "delete-pets-petid.hurl",
            "# @name DELETE /pets/{petId}\nDELETE {{base}}/pets/7\nHTTP *\n".to_owned()
        )
    );
    assert_eq!(
        files[1],
        (
            "put-pets.hurl",
            "# @name PUT /pets\nPUT {{base}}/pets\n[Query]\nkey: {{api_key_2}}\n[Form]\na: 1 2\nHTTP 204\n"
                .to_owned()
        )
    );
    let (name, post) = &files[0];
    assert_eq!(*name, "post-pets.hurl");
    let start = "# @name POST /pets\nPOST {{base}}/pets\nX-Key: {{api_key}}\nContent-Type: \
                 application/json\n[BasicAuth]\n{{user}}: {{password}}\n{\n";
    assert!(post.starts_with(start) && post.ends_with("}\nHTTP *\n"), "{post}");
    let toml: toml::Table = workload.toml().parse().unwrap();
    assert_eq!(toml["base"].as_str(), Some("https://eu.shop.example/v1"));
    let steps = toml["scenario"][0]["steps"].as_array().unwrap();
    let choices = steps[0]["choose"].as_array().unwrap();
    assert_eq!((choices.len(), choices[0]["run"].as_str()), (1, Some("getpet.hurl")));
    let names: Vec<&String> = toml["variables"].as_table().unwrap().keys().collect();
    assert_eq!(names, ["api_key", "api_key_2", "password", "token", "user"]);
    assert_eq!(report.carried, 4);
    let reasons: Vec<(&str, u64)> =
        report.left_out.iter().map(|group| (&group.reason[..], group.count)).collect();
    assert_eq!(
        reasons,
        [
            ("operations with references that lead nowhere", 1),
            ("operations with references to other documents", 1)
        ]
    );
}

#[test]
fn bodies_are_made_from_schemas_that_refer_to_themselves() {
    let (workload, _) = import(SHOP).unwrap();
    let Some(Body::Json(text)) = &workload.files[0].entries[0].body else { panic!("no JSON") };
    let body: Value = serde_json::from_str(text).unwrap();
    assert_eq!(
        (&body["name"], &body["kind"], &body["born"], &body["weight"], body.get("id")),
        (&"textxx".into(), &"cat".into(), &"2026-01-02".into(), &3.into(), None)
    );
    assert_eq!(body["friends"][0]["name"], "textxx");
    assert!(text.len() < 5_000, "{}", text.len());
}

#[test]
fn json_is_read_as_well() {
    let text = r##"{"openapi":"3.1.0","paths":{"/a":{"get":{"parameters":[{"name":"q","in":"query",
        "examples":{"one":{"value":"x y"}}}]}}}}"##;
    let (workload, report) = import(text).unwrap();
    assert_eq!(workload.files[0].written(), "# @name GET /a\nGET {{base}}/a\n[Query]\nq: x y\nHTTP *\n");
    assert_eq!(workload.base, None);
    assert!(report.notes.iter().any(|note| note.contains("--base")));
}

#[test]
fn all_cookies_are_in_one_field() {
    let text = r#"{"openapi":"3.1.0","paths":{"/a":{"get":{"security":[{"one":[],"two":[],"whole":[]}],"parameters":[
        {"name":"a","in":"cookie","example":1},{"name":"cookie","in":"header","example":"b=2"}]}}},
        "components":{"securitySchemes":{"one":{"type":"apiKey","name":"c","in":"cookie"},
        "two":{"type":"apiKey","name":"d","in":"cookie"},"whole":{"type":"apiKey","name":"cookie","in":"header"}}}}"#;
    let (workload, _) = import(text).unwrap();
    let written = workload.files[0].written();
    assert!(
        written.contains("\nCookie: a=1; b=2; c={{api_key}}; d={{api_key_2}}; {{api_key_3}}\n"),
        "{written}"
    );
}

#[test]
fn parameters_and_forms_are_written_in_their_styles() {
    let text = r##"{"openapi":"3.1.0","paths":{"/a/{id}/{m}":{"post":{"parameters":[
        {"name":"id","in":"path","example":["x","y z"]},{"name":"m","in":"path","style":"matrix","example":5},
        {"name":"tags","in":"query","explode":false,"example":["r","g,b"]},
        {"name":"f","in":"query","style":"deepObject","example":{"a":5,"b":{"c":1}}},
        {"name":"s","in":"query","style":"spaceDelimited","example":["r","g"]},
        {"name":"l","in":"query","example":["r","g"]},
        {"name":"X-L","in":"header","example":["r","g"]},{"name":"c","in":"cookie","example":{"k":"v"}}],
        "requestBody":{"content":{"application/x-www-form-urlencoded":{"example":{"l":[1,2],"o":{"a":1},"d":[3,4],"p":{"x":1}},
        "encoding":{"d":{"explode":false},"p":{"style":"deepObject"}}}}}},
        "put":{"requestBody":{"content":{"multipart/form-data":{"example":{"l":[1,2],"o":{"a":1}}}}}}}}}"##;
    let (workload, _) = import(text).unwrap();
    assert_eq!(
        workload.files[0].written(),
        "# @name POST /a/{id}/{m}\nPOST {{base}}/a/x,y%20z/;m=5?tags=r,g%2Cb&s=r%20g\nX-L: r,g\nCookie: k=v\n[Query]\nf[a]: \
         5\nf[b][c]: 1\nl: r\nl: g\n[Form]\nd: 3,4\nl: 1\nl: 2\no: {\"a\":1}\np[x]: 1\nHTTP *\n"
    );
    assert!(workload.files[1].written().ends_with("[Multipart]\nl: 1\nl: 2\no: {\"a\":1}\nHTTP *\n"));
}

#[test]
fn servers_may_be_relative_and_belong_to_an_operation() {
    let get = |servers: &str| format!(r#"{{"get":{{{servers}}}}}"#);
    for (whole, own, base, expected) in [
        (r#"[{"url":"/v1/"}]"#, "", None, "{{base}}/v1/a"),
        (r#"[{"url":"v1"}]"#, "", None, "{{base}}/v1/a"),
        (r#"[{"url":"/"}]"#, "", None, "{{base}}/a"),
        (r#"[{"url":"."}]"#, "", None, "{{base}}/a"),
        (r#"[{"url":"//shop.example/v1"}]"#, "", Some("https://shop.example/v1"), "{{base}}/a"),
        (r#"[{"url":"https://{host}/v1"}]"#, "", None, "{{base}}/v1/a"),
        (
            r#"[{"url":"{scheme}://h/v1","variables":{"scheme":{"default":"http"}}}]"#,
            "",
            Some("http://h/v1"),
            "{{base}}/a",
        ),
        ("[]", r#""servers":[{"url":"https://own.example/x"}]"#, None, "https://own.example/x/a"),
        (
            r#"[{"url":"https://shop.example/v1"}]"#,
            r#""servers":[{"url":"https://own.example/x/"}]"#,
            Some("https://shop.example/v1"),
            "https://own.example/x/a",
        ),
        (
            r#"[{"url":"https://shop.example/v1"}]"#,
            r#""servers":[{"url":"/v2"}]"#,
            Some("https://shop.example/v1"),
            "https://shop.example/v2/a",
        ),
    ] {
        let text = format!(r#"{{"openapi":"3.1.0","servers":{whole},"paths":{{"/a":{}}}}}"#, get(own));
        let (workload, report) = import(&text).unwrap();
        assert_eq!(workload.base.as_deref(), base, "{text}");
        let hurl = workload.files[0].written();
        assert!(hurl.contains(&format!("GET {expected}\n")), "{text}: {hurl}");
        assert_eq!(report.to_string().contains("--base"), base.is_none(), "{report}");
    }
    let text = r#"{"openapi":"3.1.0","servers":[{"url":"https://a"}],"paths":{"/a":{"get":{}},"/b":{"servers":[{"url":"http://b"}],"get":{}}}}"#;
    assert_eq!(import(text).unwrap().1.left_out[0].reason, OTHER_SCHEME);
}

#[test]
fn a_description_that_gets_nothing_has_a_scenario_all_the_same() {
    for (methods, expected, note) in [
        (
            &["post", "delete"][..],
            "post-a.hurl",
            "no operation only reads: the scenario makes the POST operations, which may change data",
        ),
        (
            &["delete"],
            "delete-a.hurl",
            "no operation only reads: the scenario makes the DELETE operations, which may change data",
        ),
        (
            &["head", "put"],
            "head-a.hurl",
            "no operation gets anything: the scenario makes the HEAD operations",
        ),
    ] {
        let operations: serde_json::Map<String, Value> =
            methods.iter().map(|method| ((*method).to_owned(), json!({}))).collect();
        let document = json!({"openapi": "3.1.0", "paths": {"/a": operations}});
        let (workload, report) = import(&document.to_string()).unwrap();
        let toml: toml::Table = workload.toml().parse().unwrap();
        let choices = toml["scenario"][0]["steps"][0]["choose"].as_array().unwrap();
        assert_eq!((choices.len(), choices[0]["run"].as_str()), (1, Some(expected)));
        assert!(report.notes.iter().any(|known| known == note), "{report}");
    }
}

#[test]
fn what_no_request_can_have_is_left_out() {
    let text = r##"{"openapi":"3.1.0","paths":{"a":{"post":{"requestBody":{"content":{"text/plain":{"example":"x"}}},
        "parameters":[{"name":"Content-Length","in":"header","example":1},{"name":"a b","in":"header","example":1},
        {"name":"X","in":"header","example":"a\nb"},{"name":"","in":"query","example":1}]}}}}"##;
    let (workload, report) = import(text).unwrap();
    let expected = "# @name POST a\nPOST {{base}}/a\nContent-Type: text/plain\n`x`\nHTTP *\n";
    assert_eq!(workload.files[0].written(), expected);
    assert_eq!(report.notes.iter().filter(|note| note.contains("header field")).count(), 3, "{report}");
}

#[test]
fn operations_beyond_the_maximum_are_comments() {
    let paths = (0..REQUESTS_MAX + 2).map(|number| (format!("/{number}"), json!({"get": {}}))).collect();
    let document = json!({"openapi": "3.1.0", "paths": Value::Object(paths)});
    let (workload, report) = read(document.to_string().as_bytes(), "shop").unwrap();
    reread::reread(&workload);
    let Step::Choose(choices) = &workload.scenarios[0].steps[0] else { panic!("no choice") };
    assert_eq!(choices.iter().filter(|(_, reason)| reason.is_none()).count(), REQUESTS_MAX);
    assert!(report.to_string().contains("2 operations are beyond the first 1000"), "{report}");
}

#[test]
fn bad_descriptions_are_refused() {
    for (text, message) in [
        ("", "api.yaml: expected a description in OpenAPI 3, got none with the field `openapi`"),
        (
            "swagger: \"2.0\"",
            "api.yaml: expected a description in OpenAPI 3, got one in Swagger 2\nhint: converters such as \
             swagger2openapi turn it into OpenAPI 3",
        ),
        ("openapi: 4.0.0", "api.yaml: expected a description in OpenAPI 3, got version `4.0.0`"),
        ("openapi: 3.0.0", "api.yaml: expected a description in OpenAPI 3 with paths, got none"),
        ("openapi: 3.0.0\npaths: {}", "api.yaml: expected a description with operations, got none"),
        ("{\"openapi\":\n", "api.yaml:2:0: EOF while parsing a value"),
        (
            "a: [1",
            "api.yaml:2:1: did not find expected ',' or ']', while parsing a flow sequence at line 1 column 4",
        ),
        (
            "openapi: 3.0.0\npaths: {/a: {$ref: \"#/paths/~1a\"}}",
            "api.yaml: expected a description with operations, got none; 1 operations with references that lead \
             nowhere",
        ),
    ] {
        assert_eq!(import(text).map(|(workload, _)| workload), Err(message.to_owned()), "{text}");
    }
}

#[test]
fn a_document_that_grows_with_each_alias_is_refused() {
    let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..12 {
        let list = format!("*a{}, ", level - 1).repeat(9);
        text += &format!("a{level}: &a{level} [{list}]\n");
    }
    assert!(import(&text).unwrap_err().contains("repetition limit exceeded"));
}

proptest! {
    #[test]
    fn no_bytes_panic(bytes in any::<Vec<u8>>(), at in 0usize..2000, removed in 0usize..30) {
        let _ = read(&bytes[..], "x");
        let mut text = SHOP.as_bytes().to_vec();
        let at = at.min(text.len());
        let end = (at + removed).min(text.len());
        text.splice(at..end, bytes.iter().copied().take(5));
        let _ = read(&text[..], "x");
    }

    #[test]
    fn any_description_is_read_as_it_was_imported(
        operations in proptest::collection::hash_map((reread::text(), 0..METHODS.len()), operation(), 1..4),
        server in reread::text(),
        key in (reread::text(), proptest::sample::select(&["header", "query", "cookie", "elsewhere"][..])),
    ) {
        let mut paths = Value::from(serde_json::Map::new());
        for ((path, method), operation) in operations {
            paths[path][METHODS[method]] = operation;
        }
        let schemes = json!({
            "key": {"type": "apiKey", "name": key.0, "in": key.1},
            "basic": {"type": "http", "scheme": "basic"},
        });
        let document = json!({
            "openapi": "3.1.0", "paths": paths, "servers": [{"url": format!("https://shop.example{server}")}],
            "components": {"securitySchemes": schemes},
        });
        let (workload, report) = read(document.to_string().as_bytes(), "shop").unwrap();
        reread::check(&workload);
        prop_assert!(report.carried > 0);
    }
}

/// An operation with parameters, a body and replies.
fn operation() -> impl Strategy<Value = Value> {
    let places = proptest::sample::select(&["path", "query", "header", "cookie"][..]);
    let name = prop_oneof![reread::text(), Just("Content-Length".to_owned()), Just("x-id".to_owned())];
    let parameter = (name, places, reread::json()).prop_map(
        |(name, place, example)| json!({"name": name, "in": place, "required": true, "example": example}),
    );
    let kinds = &[
        "application/json",
        "application/vnd.x+json",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain",
        "*/*",
    ];
    let kind =
        prop_oneof![4 => proptest::sample::select(&kinds[..]).prop_map(str::to_owned), 1 => reread::text()];
    let body = proptest::option::of((kind.clone(), reread::json()));
    let texts = (proptest::option::of(reread::text()), reread::text(), kind);
    let security = proptest::option::of(proptest::sample::select(&["key", "basic"][..]));
    (proptest::collection::vec(parameter, 0..4), body, texts, security).prop_map(
        |(parameters, body, texts, security)| {
            let (id, summary, accept) = texts;
            let mut operation = json!({
                "parameters": parameters, "operationId": id, "summary": summary,
                "responses": {"200": {"content": {accept: {}}}},
            });
            if let Some((kind, example)) = body {
                operation["requestBody"] = json!({"content": {kind: {"example": example}}});
            }
            if let Some(scheme) = security {
                operation["security"] = json!([{scheme: []}]);
            }
            operation
        },
    )
}
