//! What a run leaves: its history, the forces of its walls, fields at them, cuts through them, lines off them, points and means over its steps, where its time went.

pub mod averages;
pub mod cuts;
pub mod history;
pub mod live;
pub mod loads;
pub mod probes;
pub mod profiles;
pub mod samples;
pub mod spectrum;
pub mod surface;
pub mod table;
pub mod trace;
pub mod volume_means;
