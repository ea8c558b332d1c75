//! Meetings in a model of a network.

use std::time::Duration;

use httperf_fleet::{GuestEvent, HostEvent};
use proptest::prelude::*;

use crate::world::{Character, Fault, MS, Outcome, PATIENCE, RUN, guest, meet};

fn guests(size: u32) -> Vec<Character> {
    (1..size).map(|rank| guest(rank, size)).collect()
}

/// A fleet of four in which the last rank is another than it should be.
fn with_last(change: impl FnOnce(&mut Character)) -> Outcome {
    let mut all = guests(4);
    change(&mut all[2]);
    meet(4, all, None)
}

/// Checks that nobody goes on when the meeting is over.
#[track_caller]
fn check_over(outcome: &Outcome) {
    for (index, fate) in outcome.fates.iter().enumerate() {
        assert!(!fate.is_running, "guest {index} goes on: {outcome:#?}");
        assert!(fate.end.is_some(), "guest {index} waits for ever: {outcome:#?}");
    }
}

/// Checks that the meeting failed before a start, with this sentence, and that all were told.
#[track_caller]
fn check_failure(outcome: &Outcome, sentence: &str) {
    check_over(outcome);
    assert_eq!(outcome.failure().as_deref(), Some(sentence), "{outcome:#?}");
    assert!(outcome.fates.iter().all(|fate| fate.started.is_none()), "{outcome:#?}");
}

#[test]
fn ranks_start_together_within_what_is_known_of_their_clocks_and_bring_their_results() {
    for size in [1, 2, 4, 64] {
        let outcome = meet(size, guests(size), None);
        check_over(&outcome);
        let start = outcome.start().expect("there is a start");
        for (rank, fate) in (1..size).zip(&outcome.fates) {
            let off = fate.started.expect("it starts").abs_diff(start);
            assert!(off <= outcome.uncertainties[&rank], "rank {rank} starts {off:?} off");
            assert_eq!(fate.end, Some(GuestEvent::Bye));
        }
        assert_eq!(outcome.results(), (1..size).collect::<Vec<_>>());
        assert_eq!(outcome.events.last().map(|(_, event)| event), Some(&HostEvent::Ended));
        let seconds = |event: &&(Duration, HostEvent)| matches!(event.1, HostEvent::Second { .. });
        assert_eq!(outcome.events.iter().filter(seconds).count(), 3 * (size as usize - 1));
    }
}

#[test]
fn who_comes_shortly_after_a_meeting_has_failed_is_told_why() {
    let mut all = guests(4);
    all[0].join.digest = "another".to_owned();
    all[1].comes = MS * 900;
    all[2].comes = MS * 4_000;
    let outcome = meet(4, all, None);
    let sentence = "rank 1 (n1) has another plan than rank 0 (n0): expected the same command line everywhere";
    check_failure(&outcome, sentence);
    for fate in &outcome.fates {
        assert_eq!(fate.end, Some(GuestEvent::Refused { reason: sentence.to_owned() }));
    }
}

proptest! {
    #[test]
    fn slow_and_lopsided_links_shift_a_start_by_no_more_than_is_said(
        links in prop::collection::vec((0_u64..40_000, 0_u64..40_000, -50_000_000_i64..50_000_000), 1..6),
    ) {
        let size = links.len() as u32 + 1;
        let mut all = guests(size);
        for (character, (there, back, shift_ns)) in all.iter_mut().zip(links) {
            character.delays = (Duration::from_micros(there), Duration::from_micros(back));
            character.shift_ns = shift_ns;
        }
        let outcome = meet(size, all, None);
        check_over(&outcome);
        let start = outcome.start().expect("there is a start");
        for (rank, fate) in (1..size).zip(&outcome.fates) {
            let off = fate.started.expect("it starts").abs_diff(start);
            prop_assert!(off <= outcome.uncertainties[&rank] + Duration::from_nanos(1));
        }
    }
}

#[test]
fn a_rank_that_does_not_come_is_named() {
    let outcome = meet(4, guests(3).into_iter().map(|character| with_size(character, 4)).collect(), None);
    check_failure(&outcome, "waited 10 s for rank 3 of 4, which did not come");
    let outcome = meet(4, vec![guest(2, 4)], None);
    check_failure(&outcome, "waited 10 s for ranks 1, 3 of 4, which did not come");
    let mut stranger = guest(2, 3);
    stranger.secret = "guessed";
    let outcome = meet(3, vec![guest(1, 3), stranger], None);
    let claim = "who came as rank 2 from link 1 does not know the secret";
    check_failure(&outcome, &format!("waited 10 s for rank 2 of 3, which did not come; {claim}"));
}

fn with_size(mut character: Character, size: u32) -> Character {
    character.join.size = size;
    character
}

#[test]
fn a_rank_that_comes_late_is_waited_for_and_one_that_comes_too_late_is_refused() {
    let outcome = with_last(|character| character.comes = PATIENCE - MS * 500);
    assert_eq!(outcome.results(), [1, 2, 3]);
    let mut all = guests(4);
    let mut late = guest(2, 4);
    late.comes = Duration::from_secs(2);
    all.push(late);
    let outcome = meet(4, all, None);
    check_over(&outcome);
    assert_eq!(outcome.results(), [1, 2, 3], "the others are not disturbed");
    let reason = "the other ranks have met without it".to_owned();
    assert_eq!(outcome.fates[3].end, Some(GuestEvent::Refused { reason }));
}

#[test]
fn ranks_that_do_not_fit_together_are_named_and_nobody_starts() {
    let outcome = with_last(|character| character.join.digest = "another".to_owned());
    let sentence = "rank 3 (n3) has another plan than rank 0 (n0): expected the same command line everywhere";
    check_failure(&outcome, sentence);
    let outcome = with_last(|character| character.join.size = 5);
    let sentence = "rank 3 (n3) is one of 5, rank 0 one of 4: expected the same number of ranks";
    check_failure(&outcome, sentence);
    let outcome = with_last(|character| character.join.version = "0.9".to_owned());
    let sentence =
        "rank 3 (n3) is httperf 0.9, rank 0 is httperf 1.0.0: expected the same version everywhere";
    check_failure(&outcome, sentence);
    let outcome = with_last(|character| character.join.rank = 2);
    check_failure(&outcome, "rank 2 is there twice, on n2 and on n3: expected each rank once");
    let outcome = with_last(|character| character.join.rank = 0);
    check_failure(&outcome, "rank 0 is there twice, on n0 and on n3: expected each rank once");
}

#[test]
fn a_rank_beyond_the_number_of_ranks_is_no_rank() {
    let mut all = guests(4);
    let mut liar = guest(1, 4);
    (liar.join.rank, liar.comes) = (9, Duration::ZERO);
    all.push(liar);
    let outcome = meet(4, all, None);
    check_over(&outcome);
    assert_eq!(outcome.results(), [1, 2, 3], "the others are not disturbed");
    assert_eq!(outcome.refused, 1);
}

#[test]
fn who_does_not_know_the_secret_is_refused_and_counted() {
    let mut all = guests(4);
    let mut stranger = guest(2, 4);
    (stranger.secret, stranger.comes) = ("guessed", Duration::ZERO);
    all.push(stranger);
    let outcome = meet(4, all, None);
    check_over(&outcome);
    assert_eq!(outcome.results(), [1, 2, 3], "the others are not disturbed");
    assert_eq!(outcome.refused, 1);
    let claimed = |event: &HostEvent| matches!(event, HostEvent::Stranger { claimed: Some(2), .. });
    assert!(outcome.time_of(claimed).is_some());
    let reason = "it does not know the secret of the fleet".to_owned();
    assert_eq!(outcome.fates[3].end, Some(GuestEvent::Refused { reason }));
}

#[test]
fn a_rank_that_cannot_prepare_ends_the_meeting() {
    let outcome = with_last(|character| character.fault = Fault::CannotPrepare);
    check_failure(&outcome, "rank 3 (n3): cannot set up the event loop");
}

#[test]
fn a_rank_that_fails_in_the_run_is_lost_and_the_others_go_on() {
    let outcome = with_last(|character| character.fault = Fault::Fails(MS * 1500));
    assert_eq!(outcome.results(), [1, 2]);
    let lost = HostEvent::Lost { rank: 3, reason: "a worker panicked".to_owned() };
    assert!(outcome.time_of(|event| *event == lost).is_some(), "{outcome:#?}");
    assert_eq!(outcome.events.last().map(|(_, event)| event), Some(&HostEvent::Ended));
    assert_eq!(outcome.fates[0].end, Some(GuestEvent::Bye));
}

#[test]
fn a_complaint_behind_a_result_takes_nothing_away() {
    let outcome = with_last(|character| character.fault = Fault::Complains);
    check_over(&outcome);
    assert_eq!(outcome.results(), [1, 2, 3]);
    let complaint = HostEvent::Complaint { rank: 3, reason: "the disk is full".to_owned() };
    assert!(outcome.time_of(|event| *event == complaint).is_some());
}

#[test]
fn any_rank_can_ask_for_the_end() {
    let outcome = with_last(|character| character.fault = Fault::AsksStop(MS * 1200));
    check_over(&outcome);
    assert_eq!(outcome.results(), [1, 2, 3]);
    assert!(outcome.fates.iter().all(|fate| fate.stopped), "{outcome:#?}");
    let ended = outcome.time_of(|event| *event == HostEvent::Ended).expect("it ends");
    assert!(ended < RUN, "{ended:?}");
}

#[test]
fn the_end_can_be_asked_for_at_any_time() {
    for at in (0..6000).step_by(37) {
        let outcome = meet(3, guests(3), Some(MS * at));
        check_over(&outcome);
    }
}

#[test]
fn a_rank_that_falls_silent_is_named_within_five_seconds() {
    let frozen_from = Duration::from_secs(2);
    let outcome =
        with_last(|character| character.fault = Fault::Freezes(frozen_from, Duration::from_secs(60)));
    let silent = outcome.time_of(|event| *event == HostEvent::Silent { rank: 3 }).expect("it is named");
    assert!(silent - frozen_from <= Duration::from_secs(5), "{silent:?}");
    assert_eq!(outcome.results(), [1, 2]);
    let lost = |event: &HostEvent| matches!(event, HostEvent::Lost { rank: 3, .. });
    assert!(outcome.time_of(lost).is_some());
    let outcome =
        with_last(|character| character.fault = Fault::Freezes(frozen_from, Duration::from_secs(8)));
    check_over(&outcome);
    assert!(outcome.time_of(|event| *event == HostEvent::Heard { rank: 3 }).is_some());
    assert_eq!(outcome.results(), [1, 2, 3], "who comes back in time is not lost");
}

#[test]
fn a_link_may_break_at_each_byte() {
    let mut has_run = 0;
    for limit in 0..1200 {
        let outcome = with_last(|character| character.fault = Fault::BreaksAfter(limit));
        check_over(&outcome);
        match outcome.failure() {
            Some(_) => assert_eq!(outcome.start(), None, "broken after {limit} bytes: {outcome:#?}"),
            None => {
                assert!(outcome.results().starts_with(&[1, 2]), "broken after {limit} bytes: {outcome:#?}");
                assert_eq!(outcome.events.last().map(|(_, event)| event), Some(&HostEvent::Ended));
                has_run += 1;
            }
        }
    }
    assert!(has_run > 100, "most limits are in the run: {has_run}");
}
