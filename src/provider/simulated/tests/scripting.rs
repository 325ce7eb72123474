use super::*;

/// The first attempt that ends so, with its script.
fn ended(regime: &str, ending: fn(&Update) -> bool) -> (Exchange, Script) {
    let simulation = simulation(regime, Recordings::default());
    for run in 0..5_000 {
        let mut exchange = exchange(Some(triage()));
        exchange.draw.run = run;
        let script = simulation.plan_exchange(&exchange);
        if ending(&script.updates.last().unwrap().1) {
            return (exchange, script);
        }
    }
    panic!("no such ending in 5,000 runs of {regime}");
}

fn pieces(script: &Script) -> (String, u64) {
    let mut text = String::new();
    let mut sum = 0;
    for (_, update) in &script.updates {
        if let Update::Piece { from, to, tokens } = update {
            assert_eq!(*from, text.len(), "pieces follow one another");
            text.push_str(&script.text[*from..*to]);
            sum += tokens;
        }
    }
    (text, sum)
}

#[test]
fn an_answer_streams_in_order_and_as_a_whole() {
    let (exchange, script) = ended("calm", |last| matches!(last, Update::End(_)));
    assert_eq!(script.updates[0].1, Update::FirstToken);
    assert!(script.updates.is_sorted_by_key(|(at, _)| *at));
    assert!(script.updates.len() > 5 && script.updates.len() < 205);
    let (text, tokens) = pieces(&script);
    assert_eq!(text, script.text);
    let Some((_, Update::End(usage))) = script.updates.last() else { panic!() };
    assert_eq!(usage.output, tokens);
    assert_eq!(usage.input, exchange.prompt.estimated_tokens());
    assert!(usage.output <= 500);
    let ends = script
        .updates
        .iter()
        .filter(|(_, update)| !matches!(update, Update::FirstToken | Update::Piece { .. }));
    assert_eq!(ends.count(), 1);
}

#[test]
fn the_same_draw_has_the_same_script_and_another_item_or_attempt_has_not() {
    let simulation = simulation("pooled", Recordings::default());
    let first = exchange(Some(triage()));
    assert_eq!(simulation.plan_exchange(&first), simulation.plan_exchange(&first));
    for change in [
        |draw: &mut Draw| draw.item = 1,
        |draw: &mut Draw| draw.attempt = 1,
        |draw: &mut Draw| draw.attempt = 256,
        |draw: &mut Draw| draw.run = 2,
        |draw: &mut Draw| draw.step = 1,
    ] {
        let mut other = exchange(Some(triage()));
        change(&mut other.draw);
        assert_ne!(
            simulation.plan_exchange(&other),
            simulation.plan_exchange(&first),
            "{:?}",
            other.draw
        );
    }
}

#[test]
fn faults_are_classified_as_a_real_provider_s_would_be() {
    let (_, error) = ended(
        "down",
        |last| matches!(last, Update::Fail(failure, _) if failure.class == FailureClass::ServerError),
    );
    let Some((_, Update::Fail(failure, usage))) = error.updates.last() else { panic!() };
    assert_eq!(failure.scope, Scope::Path);
    assert!(
        usage.is_some_and(|usage| usage.input > 0 && usage.output == 0),
        "an error costs its input"
    );

    let (_, limited) = ended(
        "busy",
        |last| matches!(last, Update::Fail(failure, _) if failure.class == FailureClass::RateLimited),
    );
    let Some((_, Update::Fail(failure, None))) = limited.updates.last() else { panic!("billed") };
    assert_eq!(failure.scope, Scope::Quota);
    let wait = failure.retry_after.unwrap();
    assert!(
        (2..=10).contains(&wait.as_secs()) && failure.message.contains(&wait.as_secs().to_string())
    );

    let (_, hang) = ended("down", |last| matches!(last, Update::Stall));
    assert!(
        !hang.updates.iter().any(|(_, update)| matches!(update, Update::End(_) | Update::Fail(..)))
    );
}

#[test]
fn garbage_is_refused_by_the_gates_and_good_answers_are_not() {
    let compiled = Schema::compile(triage()).unwrap();
    let simulation = simulation("pooled", Recordings::default());
    let regime = Regime::named("pooled").unwrap();
    let (mut broken, mut misshapen, mut good) = (0, 0, 0);
    for run in 0..1_200 {
        let mut exchange = exchange(Some(triage()));
        exchange.draw.run = run;
        let key = Key { seed: 7, run, step: 0, path: 0, attempt: 0 };
        let fate = draw(regime, &key, PROVIDER_OF_PATH[0], 200.0);
        let script = simulation.plan_exchange(&exchange);
        let value = extract(&script.text, |value| compiled.accepts(value));
        match (fate.ending, value) {
            (Ending::Garbage, Err(_)) => broken += 1,
            (Ending::Garbage, Ok(value)) => {
                assert!(!compiled.accepts(&value), "{}", script.text);
                misshapen += 1;
            }
            (Ending::Ok | Ending::Silent, value) => {
                assert!(compiled.accepts(&value.unwrap()));
                good += 1;
            }
            (Ending::Error | Ending::RateLimited | Ending::Hang, _) => {}
        }
    }
    assert!(broken > 8 && misshapen > 2 && good > 1_000, "{broken} {misshapen} {good}");
}

#[test]
fn a_known_input_gets_what_is_recorded_by_attempt_and_any_other_is_answered_by_shape() {
    let ok = Some(Told::Ok);
    let said = [Some("{\"kind\":"), Some("{\"kind\":\"billing\"}"), Some("third")];
    let simulation = simulation("calm", recorded(&said.map(|text| (text, ok))));
    let mut exchange = exchange(Some(triage()));
    for (attempt, expected) in
        [(0, "{\"kind\":"), (1, "{\"kind\":\"billing\"}"), (2, "third"), (9, "third")]
    {
        exchange.draw.attempt = attempt;
        let script = simulation.plan_exchange(&exchange);
        assert_eq!((script.text.as_str(), script.invented), (expected, false));
    }
    for change in [
        |draw: &mut Draw| draw.input += 1,
        |draw| draw.place = 1,
        |draw| draw.step_name = "other".to_owned(),
        |draw| draw.workflow = "other".to_owned(),
    ] {
        let mut other = exchange.clone();
        change(&mut other.draw);
        let script = simulation.plan_exchange(&other);
        assert!(script.invented && script.text.contains("T-1042"), "{}", script.text);
    }
}

#[test]
fn a_recorded_fate_without_an_answer_lets_the_shape_answer() {
    let recordings = recorded(&[(None, Some(Told::Slow)), (None, Some(Told::Ok))]);
    let simulation = simulation("calm", recordings);
    let mut exchange = exchange(Some(triage()));
    let slow = simulation.plan_exchange(&exchange);
    exchange.draw.attempt = 1;
    let ok = simulation.plan_exchange(&exchange);
    assert!(slow.invented && slow.text == ok.text);
    assert!(slow.updates.last().unwrap().0 > ok.updates.last().unwrap().0 * 3);
}

#[test]
fn a_recorded_fate_overrules_the_regime() {
    let fates = [Told::Hang, Told::Error, Told::RateLimited, Told::Garbage, Told::Slow, Told::Ok];
    let attempts = fates.map(|told| (Some("{\"kind\":\"billing\"}"), Some(told)));
    let simulation = simulation("down", recorded(&attempts));
    let mut exchange = exchange(Some(triage()));
    let mut script = |attempt| {
        exchange.draw.attempt = attempt;
        simulation.plan_exchange(&exchange)
    };
    let class = |script: &Script| match &script.updates.last().unwrap().1 {
        Update::Fail(failure, _) => Some(failure.class),
        _ => None,
    };
    assert_eq!(script(0).updates, [(Duration::ZERO, Update::Stall)]);
    assert_eq!(class(&script(1)), Some(FailureClass::ServerError));
    assert_eq!(class(&script(2)), Some(FailureClass::RateLimited));
    assert_ne!(script(3).text, "{\"kind\":\"billing\"}");
    let (slow, ok) = (script(4), script(5));
    for script in [&slow, &ok] {
        assert!(matches!(script.updates.last().unwrap().1, Update::End(_)));
        assert_eq!(script.text, "{\"kind\":\"billing\"}");
    }
    assert!(slow.updates.last().unwrap().0 > ok.updates.last().unwrap().0 * 3);
}

#[test]
fn a_prompt_beyond_the_window_and_an_answer_beyond_its_bound_fail_as_such() {
    let simulation = simulation("calm", Recordings::default());
    let mut too_long = exchange(Some(triage()));
    Arc::make_mut(&mut too_long.profile).context = Some(20);
    let script = simulation.plan_exchange(&too_long);
    assert!(
        matches!(&script.updates[0].1, Update::Fail(f, _) if f.class == FailureClass::ContextOverflow)
    );
    let mut bound = exchange(Some(triage()));
    bound.max_tokens = 10;
    let script = simulation.plan_exchange(&bound);
    let Some((_, Update::Fail(failure, Some(usage)))) = script.updates.last() else {
        panic!("{script:?}")
    };
    assert_eq!((failure.class, usage.output), (FailureClass::TruncatedOutput, 10));
    assert_eq!(pieces(&script).0, script.text);
    assert!(script.text.len() <= 40 && extract(&script.text, |_| true).is_err());
}

#[test]
fn a_schema_nothing_can_be_made_up_for_fails_honestly() {
    let schema = json!({"type": "object", "required": ["a"], "properties": {"a": {"pattern": "^\\p{Greek}$", "type": "string"}}});
    let script = simulation("calm", Recordings::default()).plan_exchange(&exchange(Some(schema)));
    let Some((_, Update::Fail(failure, _))) = script.updates.last() else { panic!() };
    assert_eq!(failure.class, FailureClass::BadRequest);
    assert!(failure.message.contains("record one"), "{}", failure.message);
}

#[test]
fn an_unknown_regime_is_named_with_those_there_are() {
    let error = Simulation::new("sim", &settings("stormy"), Arc::default()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unknown regime 'stormy' of the simulator; there are brownout, busy, calm, down, fastlong, pooled"
    );
}

#[test]
fn latency_has_the_published_median_and_tail() {
    let regime = Regime::named("pooled").unwrap();
    let mut ends: Vec<f64> = (0..20_000)
        .filter_map(|run| {
            let key = Key { seed: 20_260_629, run, step: 0, path: 0, attempt: 0 };
            let fate = draw(regime, &key, 0, CLASS_TOKENS[2]);
            matches!(fate.ending, Ending::Ok | Ending::Silent).then_some(fate.end_s).flatten()
        })
        .collect();
    ends.sort_by(f64::total_cmp);
    let at = |share: usize| ends[ends.len() * share / 1_000];
    assert!((11.7..12.7).contains(&at(500)), "p50 12.2, here {}", at(500));
    assert!((20.5..23.0).contains(&at(950)), "p95 21.7, here {}", at(950));
    assert!((56.0..69.0).contains(&at(990)), "p99 62.8, here {}", at(990));
}
