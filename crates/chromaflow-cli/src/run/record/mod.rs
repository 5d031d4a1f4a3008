//! What a run leaves: its history, the forces of its walls, fields at them, cuts through them, lines off them, where its time went.

pub mod averages;
pub mod cuts;
pub mod history;
pub mod live;
pub mod loads;
pub mod profiles;
pub mod surface;
pub mod trace;
