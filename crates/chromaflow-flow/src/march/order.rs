//! What the first rank has the others do: they go through the same steps with their own rows.

/// One thing that all ranks do together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// An iteration.
    Step,
    /// Sets the most iterations.
    Iterations(usize),
    /// Sets the largest CFL number.
    LargestCfl(f64),
    /// The first rank gathers the fields.
    Fields,
    /// Each rank writes its piece of the fields.
    Pieces,
    /// The first rank gathers a restart.
    Restart,
    /// All go on from a restart of the first rank's.
    Resume,
    /// All find the residual, which the first rank gathers, and look for the largest.
    Largest,
    /// All give back the memory of the linear system.
    Release,
    /// All find forces of the present state.
    Forces,
    /// The first rank gathers the heights of the first nodes off walls.
    Heights,
    /// The first rank gathers how the time of all went.
    Reports,
    /// All find what leaves through the boundary.
    Outflow,
    /// Each rank writes its range of a restart file.
    WriteRestart,
    /// Each rank reads its range of a restart file, and all go on from it.
    ResumeFrom,
    /// The run is over.
    End,
}

impl Order {
    /// As bytes.
    pub(crate) fn pack(self) -> Vec<u8> {
        let (number, value) = match self {
            Self::Step => (0, 0.0),
            Self::Iterations(most) => (1, most as f64),
            Self::LargestCfl(largest) => (2, largest),
            Self::Fields => (3, 0.0),
            Self::Restart => (4, 0.0),
            Self::Resume => (5, 0.0),
            Self::Largest => (6, 0.0),
            Self::Release => (7, 0.0),
            Self::Forces => (8, 0.0),
            Self::Heights => (9, 0.0),
            Self::Reports => (10, 0.0),
            Self::Outflow => (11, 0.0),
            Self::End => (12, 0.0),
            Self::Pieces => (13, 0.0),
            Self::WriteRestart => (14, 0.0),
            Self::ResumeFrom => (15, 0.0),
        };
        let mut bytes = vec![number];
        bytes.extend_from_slice(&f64::to_le_bytes(value));
        bytes
    }

    /// From bytes; none where they are no order.
    pub(crate) fn unpack(bytes: &[u8]) -> Option<Self> {
        let (&number, value) = bytes.split_first()?;
        let value = f64::from_le_bytes(value.try_into().ok()?);
        Some(match number {
            0 => Self::Step,
            1 => Self::Iterations(value as usize),
            2 => Self::LargestCfl(value),
            3 => Self::Fields,
            4 => Self::Restart,
            5 => Self::Resume,
            6 => Self::Largest,
            7 => Self::Release,
            8 => Self::Forces,
            9 => Self::Heights,
            10 => Self::Reports,
            11 => Self::Outflow,
            12 => Self::End,
            13 => Self::Pieces,
            14 => Self::WriteRestart,
            15 => Self::ResumeFrom,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Order;

    #[test]
    fn orders_read_back() {
        use Order::{
            End, Fields, Forces, Heights, Iterations, Largest, LargestCfl, Outflow, Pieces, Release, Reports,
            Restart, Resume, ResumeFrom, Step, WriteRestart,
        };
        for order in [
            Step,
            Iterations(1_000_003),
            LargestCfl(0.1),
            Fields,
            Pieces,
            Restart,
            Resume,
            Largest,
            Release,
            Forces,
            Heights,
            Reports,
            Outflow,
            WriteRestart,
            ResumeFrom,
            End,
        ] {
            assert_eq!(Order::unpack(&order.pack()), Some(order));
        }
        assert_eq!(Order::unpack(&[]), None);
        assert_eq!(Order::unpack(&[16, 0, 0, 0, 0, 0, 0, 0, 0]), None);
    }
}
