//! What a run leaves: its history, the forces of its walls, cuts through them, where its time went.

pub mod cuts;
pub mod history;
pub mod live;
pub mod loads;
pub mod trace;
