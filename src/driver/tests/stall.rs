//! What an attempt said before it fell silent.

use super::*;

#[tokio::test(start_paused = true)]
async fn what_came_all_at_once_before_a_stall_goes_along_whole() {
    let a = Scripted::new(|_| Act::Stall("the first half and the second"));
    let b = Scripted::new(|exchange| {
        let told = &exchange.prompt.messages[0].text;
        assert!(told.contains("```\nthe first half and the second\n```"), "{told}");
        Act::Answer(10, json!({"text": "ok"}))
    });
    let report = finish(&host(&a, &b), &one_step(40), text("it")).await;
    assert_eq!(report.outcome, "delivered", "{report:?}");
}
