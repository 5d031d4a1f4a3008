//! The tree that a CGNS file is, whichever file lies beneath it.

pub(super) use crate::parse::Fault;

/// Numbers or text of a node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Values {
    #[default]
    None,
    Text(String),
    Ints(Vec<i64>),
    Reals(Vec<f64>),
}

/// A node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Node {
    pub name: String,
    pub label: String,
    pub values: Values,
    /// The first index is the fastest.
    pub dims: Vec<usize>,
    pub children: Vec<Node>,
    /// Where it begins in the file.
    pub at: u64,
}

/// Deepest tree, and most nodes, that are believed.
pub(super) const DEPTH: usize = 24;
pub(super) const MOST: usize = 1 << 20;

/// Nodes whose contents no mesh needs.
pub(super) fn is_left_out(label: &str) -> bool {
    [
        "FlowSolution_t",
        "ConvergenceHistory_t",
        "IntegralData_t",
        "UserDefinedData_t",
        "BCDataSet_t",
        "DiscreteData_t",
        "ZoneSubRegion_t",
        "ParticleZone_t",
        "FlowEquationSet_t",
        "ReferenceState_t",
    ]
    .contains(&label)
}

impl Node {
    /// Children of a label.
    pub fn of<'a>(&'a self, label: &'a str) -> impl Iterator<Item = &'a Self> {
        self.children.iter().filter(move |c| c.label == label)
    }

    /// The child of a name.
    pub fn child(&self, name: &str) -> Option<&Self> {
        self.children.iter().find(|c| c.name == name)
    }

    /// Whole numbers.
    pub fn ints(&self) -> Result<&[i64], Fault> {
        match &self.values {
            Values::Ints(values) => Ok(values),
            _ => Err(self.fault("expected whole numbers (I4 or I8)")),
        }
    }

    /// Real numbers.
    pub fn reals(&self) -> Result<&[f64], Fault> {
        match &self.values {
            Values::Reals(values) => Ok(values),
            _ => Err(self.fault("expected real numbers (R4 or R8)")),
        }
    }

    /// Its text without blanks at the end, empty where there is none.
    pub fn text(&self) -> &str {
        match &self.values {
            Values::Text(text) => text.trim_end_matches([' ', '\0']),
            _ => "",
        }
    }

    /// Something wrong with it.
    pub fn fault(&self, what: impl std::fmt::Display) -> Fault {
        Fault { at: self.at, what: format!("the node {:?} ({}): {what}", self.name, self.label) }
    }
}

/// Bytes of a file in one byte order, read only where there are any.
#[derive(Clone, Copy)]
pub(super) struct Image<'a> {
    pub bytes: &'a [u8],
    pub big: bool,
}

impl<'a> Image<'a> {
    /// `n` bytes from `at`.
    pub fn take(&self, at: usize, n: usize) -> Result<&'a [u8], Fault> {
        at.checked_add(n).and_then(|end| self.bytes.get(at..end)).ok_or_else(|| {
            Fault::new(
                at,
                format!(
                    "{n} bytes expected here, the file has {}: it is cut short or damaged",
                    self.bytes.len()
                ),
            )
        })
    }

    /// An unsigned number of 1 to 8 bytes.
    pub fn number(&self, at: usize, width: usize) -> Result<u64, Fault> {
        let bytes = self.take(at, width)?;
        let fold = |n: u64, b: &u8| n << 8 | u64::from(*b);
        Ok(if self.big { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) })
    }

    /// The same as a place in the file.
    pub fn place(&self, at: usize, width: usize) -> Result<usize, Fault> {
        let n = self.number(at, width)?;
        usize::try_from(n)
            .ok()
            .filter(|&n| n < self.bytes.len())
            .ok_or_else(|| Fault::new(at, format!("a place {n:#x} beyond the end of the file")))
    }

    /// A signature.
    pub fn expect(&self, at: usize, mark: &[u8]) -> Result<(), Fault> {
        let found = self.take(at, mark.len())?;
        if found == mark {
            return Ok(());
        }
        Err(Fault::new(
            at,
            format!(
                "expected {:?}, found {:?}",
                String::from_utf8_lossy(mark),
                String::from_utf8_lossy(found)
            ),
        ))
    }

    /// An array of a type of CGNS (`C1`, `I4`, `I8`, `R4`, `R8` ...).
    pub fn values(&self, at: usize, kind: &str, count: usize) -> Result<Values, Fault> {
        let width = match kind {
            "C1" | "B1" | "U1" => 1,
            "I4" | "U4" | "R4" => 4,
            "I8" | "U8" | "R8" => 8,
            _ => {
                return Err(Fault::new(
                    at,
                    format!("numbers of the type {kind:?}: expected C1, I4, I8, R4 or R8"),
                ));
            }
        };
        let bytes =
            self.take(at, count.checked_mul(width).ok_or_else(|| Fault::new(at, "an impossible size"))?)?;
        let parts = bytes.chunks_exact(width);
        Ok(match (kind.as_bytes()[0], width) {
            (_, 1) => Values::Text(String::from_utf8_lossy(bytes).into_owned()),
            (b'R', _) => Values::Reals(parts.map(|b| crate::parse::binary::real(b, self.big)).collect()),
            _ => Values::Ints(parts.map(|b| crate::parse::binary::int(b, self.big)).collect()),
        })
    }
}
