//! x
use clap::Args;
use super::exit::Exit;
/// x
#[derive(Args, Debug)]
pub struct Demo {}
impl Demo {
    /// x
    pub async fn run(self) -> Exit { Exit::Done }
}
