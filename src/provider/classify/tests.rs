use super::*;
use serde_json::json;

fn on(status: u16, body: &Value) -> Failure {
    response(&Head { status, headers: Headers::default() }, body.to_string().as_bytes())
}

fn said(status: u16, message: &str) -> (FailureClass, Scope) {
    let failure = on(status, &json!({"error": {"message": message}}));
    (failure.class, failure.scope)
}

#[test]
fn a_status_without_words_has_its_default() {
    use FailureClass::*;
    let defaults = [
        (400, BadRequest, Scope::Path),
        (401, Auth, Scope::Provider),
        (402, QuotaExhausted, Scope::Provider),
        (403, Permission, Scope::Path),
        (404, BadRequest, Scope::Provider),
        (408, Timeout, Scope::Path),
        (413, ContextOverflow, Scope::Path),
        (418, BadRequest, Scope::Path),
        (429, RateLimited, Scope::Quota),
        (500, ServerError, Scope::Path),
        (502, ServerError, Scope::Path),
        (503, Overloaded, Scope::Path),
        (504, Timeout, Scope::Path),
        (524, Timeout, Scope::Path),
        (529, Overloaded, Scope::Path),
        (308, BadRequest, Scope::Provider),
        (999, BadRequest, Scope::Path),
        (100, BadRequest, Scope::Path),
    ];
    for (status, class, scope) in defaults {
        let failure = response(&Head { status, headers: Headers::default() }, b"");
        assert_eq!((failure.class, failure.scope), (class, scope), "{status}");
        assert_eq!(failure.message, format!("HTTP {status} without an explanation"));
    }
}

#[test]
fn words_that_sound_like_another_cause_do_not_mislead() {
    use FailureClass::*;
    let cases = [
        (
            429,
            "Rate limit reached. Need more? Upgrade at https://example.com/settings/billing",
            RateLimited,
        ),
        (429, "You exceeded your current quota, limit: 20. Please retry in 36s.", RateLimited),
        (429, "Quota exceeded, limit: 0, model: x. Please retry in 36s.", QuotaExhausted),
        (429, "Quota exceeded, limit: 0.5 per second", RateLimited),
        (
            400,
            "'max_tokens' is not supported with this model. Use 'max_completion_tokens'",
            UnsupportedParameter,
        ),
        (400, "Too many tokens, please wait before trying again.", RateLimited),
        (429, "Request too large: Limit 30000, Requested 11159", RateLimited),
        (429, "Request too large: Limit 30000, Requested 36278", ContextOverflow),
        (
            400,
            "max_tokens (10000) cannot exceed 8192. Please reduce the length of max output",
            BadRequest,
        ),
        (404, "Not Found", BadRequest),
        (404, "model 'x' not found", ModelNotFound),
    ];
    for (status, words, class) in cases {
        assert_eq!(said(status, words).0, class, "{status} {words}");
    }
}

#[test]
fn an_error_is_found_in_whatever_it_is_wrapped_in() {
    let inner =
        json!({"error": {"code": 429, "message": "slow down", "status": "RESOURCE_EXHAUSTED"}});
    let wrapped = [
        json!([inner]),
        json!({"error": {"message": inner.to_string()}}),
        json!({"error": {"message": "Provider returned error", "metadata": {"raw": inner.to_string()}}}),
        json!({"error": {"message": json!([inner]).to_string()}}),
    ];
    for body in wrapped {
        let failure = on(200, &body);
        assert_eq!(failure.class, FailureClass::RateLimited, "{body}");
        assert_eq!(
            (failure.message.as_str(), failure.evidence.as_str()),
            ("HTTP 429: slow down", "429 status inside 200")
        );
    }
}

#[test]
fn a_named_parameter_that_is_not_supported_is_known_without_a_code() {
    let on_param = |param: &str| {
        on(400, &json!({"error": {"message": "This value is not supported.", "param": param}}))
            .class
    };
    assert_eq!(on_param("response_format"), FailureClass::UnsupportedParameter);
    assert_eq!(on_param("model"), FailureClass::BadRequest);
}

#[test]
fn hostile_bodies_are_read_within_bounds() {
    let deep = format!("{}{}", "{\"error\":".repeat(100), "1") + &"}".repeat(100);
    let mut string = "\"x\"".to_owned();
    for _ in 0..6 {
        string = json!({"error": {"message": string}}).to_string();
    }
    for body in
        [deep.as_bytes(), string.as_bytes(), b"\xff\xfe", b"[", b"null", b"<title>", &[b'x'; 9000]]
    {
        let failure = response(&Head { status: 500, headers: Headers::default() }, body);
        assert_eq!(failure.class, FailureClass::ServerError);
        assert!(failure.message.chars().count() <= 500, "{}", failure.message);
    }
}

#[test]
fn a_signature_that_is_refused_is_the_providers_and_names_what_to_check() {
    let kinds = [
        "InvalidSignatureException:http://internal.amazon.com/coral/",
        "SignatureDoesNotMatch",
        "IncompleteSignature",
        "MissingAuthenticationToken",
    ];
    let body = json!({"message": "The request is not vouched for."}).to_string();
    for kind in kinds {
        let headers = [("x-amzn-errortype", kind)].into_iter().collect();
        let failure = response(&Head { status: 403, headers }, body.as_bytes());
        let found = (failure.class, failure.scope);
        assert_eq!(found, (FailureClass::Auth, Scope::Provider), "{kind}: {failure:?}");
        assert!(failure.message.contains("clock"), "{failure:?}");
    }
    let told = "Signature expired: 20150830T123600Z is now earlier than 20250306T235400Z";
    assert_eq!(said(403, told), (FailureClass::Auth, Scope::Provider));
    let typed = json!({
        "__type": "com.amazon.coral.service#InvalidSignatureException", "Message": "Not so.",
    });
    let failure = on(403, &typed);
    assert_eq!(failure.class, FailureClass::Auth);
    assert!(failure.message.starts_with("HTTP 403: Not so."), "{failure:?}");
}

#[test]
fn a_field_that_a_model_does_not_support_is_a_parameter() {
    use FailureClass::*;
    for (words, class) in [
        ("This model doesn't support the toolConfig.toolChoice.tool field.", UnsupportedParameter),
        (
            "This model doesn\u{2019}t support the stopSequences field. Remove it",
            UnsupportedParameter,
        ),
        ("This model doesn't support tool use.", UnsupportedParameter),
        ("This model doesn't support the language that was asked for in the field", BadRequest),
    ] {
        assert_eq!(said(400, words), (class, Scope::Path), "{words}");
    }
}

#[test]
fn what_the_provider_says_about_asking_again_is_heeded() {
    use FailureClass::*;
    let on = |status, word: &str| {
        let headers = [("x-should-retry", word)].into_iter().collect();
        response(&Head { status, headers }, b"{\"error\":{\"message\":\"Sorry.\"}}")
    };
    let found = |failure: Failure| (failure.class, failure.hopeless, failure.evidence);
    let rows = [
        (500, "false", (ServerError, true, "500 status + x-should-retry: false")),
        (429, "False ", (RateLimited, true, "429 status + x-should-retry: false")),
        (409, "true", (ServerError, false, "409 status + x-should-retry: true")),
        (409, "perhaps", (BadRequest, false, "409 status")),
        (500, "true", (ServerError, false, "500 status")),
        (401, "true", (Auth, false, "401 status")),
        (404, "true", (BadRequest, false, "404 nothing served there")),
    ];
    for (status, word, (class, hopeless, evidence)) in rows {
        assert_eq!(found(on(status, word)), (class, hopeless, evidence.to_owned()), "{word}");
    }
}

#[test]
fn a_wait_is_passed_on_only_where_waiting_helps() {
    let headers: Headers = [("retry-after", "9")].into_iter().collect();
    let wait = |status| response(&Head { status, headers: headers.clone() }, b"").retry_after;
    let nine = Some(std::time::Duration::from_secs(9));
    assert_eq!([429, 503, 500, 402].map(wait), [nine; 4]);
    assert_eq!([400, 401, 404].map(wait), [None; 3]);
}

#[test]
fn brief_words_stay_on_one_line_and_whole_characters() {
    assert_eq!(brief(" a\r\n\tb\u{0} c "), "a b c");
    let long = brief(&"é".repeat(1000));
    assert_eq!(long.chars().count(), 401);
    assert!(long.ends_with("é…"));
}

#[test]
fn lines_of_unknown_fields_may_hold_an_error() {
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    let bare =
        in_unknown(&lines("error: {\"code\":400,\"message\":\"prompt is too long\"}")).unwrap();
    assert_eq!(bare.class, FailureClass::ContextOverflow);
    let words = in_unknown(&lines("error: out of memory")).unwrap();
    assert_eq!(
        (words.class, words.message.as_str()),
        (FailureClass::ServerError, "HTTP 500: out of memory")
    );
    let document = in_unknown(&lines("{\n\"error\": {\"code\": 401}\n}")).unwrap();
    assert_eq!(document.class, FailureClass::Auth);
    assert_eq!(in_unknown(&lines("hello: world")), None);
}

#[test]
fn what_nobody_knows_is_not_taken_for_something_that_passes() {
    let unknown = [
        (418, json!({"error": {"message": "I am a teapot", "code": "short_and_stout"}})),
        (999, json!({"error": {"message": "I am a teapot"}})),
        (200, json!({"error": {"message": "I am a teapot", "code": "short_and_stout"}})),
        (200, json!({"type": "error", "error": {"type": "teapot", "message": "I am a teapot"}})),
    ];
    for (status, body) in unknown {
        let failure = on(status, &body);
        assert_eq!(
            (failure.class, failure.retry_after),
            (FailureClass::BadRequest, None),
            "{body}"
        );
        assert!(!failure.class.retryable());
        assert!(failure.message.ends_with("I am a teapot"), "{failure:?}");
    }
    // What it says counts all the same.
    let told = [
        ("Rate limit exceeded, try again in 2s", FailureClass::RateLimited),
        ("the engine is overloaded", FailureClass::Overloaded),
        ("prompt is too long", FailureClass::ContextOverflow),
    ];
    for (words, class) in told {
        let failure = on(200, &json!({"error": {"code": "short_and_stout", "message": words}}));
        assert_eq!(failure.class, class, "{words}");
    }
}

#[test]
fn an_error_without_words_is_told_as_it_came() {
    let failure = on(422, &json!({"problem": {"at": 7}}));
    assert_eq!(failure.class, FailureClass::BadRequest);
    assert_eq!(failure.message, "HTTP 422: {\"problem\":{\"at\":7}}");
    let inside = on(200, &json!({"error": {"code": 77}}));
    assert_eq!(inside.message, "HTTP 500: {\"error\":{\"code\":77}}");
}

#[test]
fn a_document_of_another_kind_is_told_by_its_fields_alone() {
    let body = json!({"answer": "Paris", "id": 7});
    let failure = no_reply(&body, "a message");
    assert_eq!(failure.class, FailureClass::ServerError);
    assert!(failure.message.contains("(its fields: answer, id)"), "{failure:?}");
    assert!(!failure.message.contains("Paris"));
}

#[test]
fn exceptions_of_bedrocks_streams_are_known_by_name() {
    use FailureClass::*;
    let named = [
        ("throttlingException", RateLimited, Scope::Quota),
        ("serviceUnavailableException", Overloaded, Scope::Path),
        ("internalServerException", ServerError, Scope::Path),
        ("modelStreamErrorException", ServerError, Scope::Path),
        ("modelTimeoutException", Timeout, Scope::Path),
        ("validationException", BadRequest, Scope::Path),
        ("accessDeniedException", Permission, Scope::Path),
        ("resourceNotFoundException", ModelNotFound, Scope::Path),
        ("aNewException", BadRequest, Scope::Path),
    ];
    for (name, class, scope) in named {
        let failure = exception(name, br#"{"message":"Sorry."}"#);
        assert_eq!((failure.class, failure.scope), (class, scope), "{name}");
        assert!(failure.message.ends_with("Sorry."), "{failure:?}");
    }
    let body = br#"{"message":"Input is too long for requested model."}"#;
    assert_eq!(exception("validationException", body).class, ContextOverflow);
    let original = br#"{"message":"x","originalStatusCode":529,"originalMessage":"Overloaded"}"#;
    assert_eq!(exception("modelStreamErrorException", original).class, Overloaded);
    assert_eq!(exception("throttlingException", b"").class, RateLimited);
}

#[test]
fn a_compressed_body_is_classified_by_its_head() {
    let head = |status| Head {
        status,
        headers: [("content-encoding", "gzip"), ("retry-after", "9")].into_iter().collect(),
    };
    let throttled = compressed(&head(429), "gzip");
    assert_eq!(throttled.class, FailureClass::RateLimited);
    assert_eq!(throttled.retry_after, Some(std::time::Duration::from_secs(9)));
    let answer = compressed(&head(200), "gzip");
    assert_eq!((answer.class, answer.scope), (FailureClass::ServerError, Scope::Path));
    assert!(answer.message.contains("in gzip"), "{answer:?}");
    let plain: Headers = [("content-encoding", "identity")].into_iter().collect();
    assert_eq!(Head { status: 200, headers: plain }.coding(), None);
}
