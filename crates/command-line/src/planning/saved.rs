//! Plans that were saved in a result, to be run again.

use httperf_plan::Plan;

use super::material::read_files_again;

/// Completes a plan that was saved, so that it can be run again: reads the files of its bodies and feeds.
///
/// # Errors
/// The reason why a saved plan cannot be run.
pub fn make_runnable(plan: Plan) -> anyhow::Result<Plan> {
    anyhow::ensure!(
        !plan.secrets_left_out,
        "its secrets were left out, as it was printed: --output FILE keeps them, in a file that only you can read"
    );
    let identity = plan.tls.as_ref().and_then(|tls| tls.identity.as_ref());
    anyhow::ensure!(
        identity.is_none_or(|identity| !identity.key.is_empty()),
        "it used a client's certificate, whose key is not kept in results: run its command line instead"
    );
    read_files_again(plan)
}
