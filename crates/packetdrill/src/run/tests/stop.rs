//! Runs that are stopped: in a wait, in a call that sleeps, before a command.

use super::*;

/// Runs the server's beginning and more, and stops it `after` its start.
fn stopped(fake: &mut Fake, after: Duration, more: &str) -> Outcome {
    fake.stop = Some(fake.clock + after);
    serve(fake, more)
}

#[test]
fn a_wait_ends_when_the_run_is_stopped() {
    let mut fake = server();
    let began = fake.clock;
    let outcome = stopped(&mut fake, Duration::from_secs(1), "+250 close(4) = 0\n`never`\n");
    assert_eq!(outcome.verdict, Verdict::Stopped { line: 9 });
    assert_eq!(fake.clock.since(began), Duration::from_secs(1), "the rest of the script takes no time");
    assert_eq!(fake.calls.len(), 4, "neither the script nor the end closes: {:?}", fake.calls);
}

#[test]
fn a_wait_for_a_packet_or_a_call_ends_when_the_run_is_stopped() {
    let mut fake = server();
    let outcome = stopped(&mut fake, Duration::from_secs(1), "* > . 1:1(0) ack 1\n");
    assert_eq!(outcome.verdict, Verdict::Stopped { line: 9 });

    let mut fake = server();
    fake.answers.push_back(Answer::Never);
    let outcome = stopped(&mut fake, Duration::from_millis(500), "+0 read(4, ..., 10) = 10\n");
    assert_eq!(outcome.verdict, Verdict::Stopped { line: 9 });
}

#[test]
fn commands_are_not_run_after_a_stop() {
    let mut fake = server();
    fake.stop = Some(fake.clock);
    let outcome = run(&plan(&format!("`begin`\n{SERVER}`tidy`")), &mut fake);
    assert_eq!(outcome.verdict, Verdict::Stopped { line: 0 });
    assert!(fake.commands.is_empty(), "{:?}", fake.commands);
}

#[test]
fn a_host_that_sends_without_end_can_be_stopped() {
    let mut fake = server();
    fake.is_endless = true;
    fake.stop = Some(fake.clock);
    assert!(matches!(serve(&mut fake, "").verdict, Verdict::Stopped { .. }));
}
