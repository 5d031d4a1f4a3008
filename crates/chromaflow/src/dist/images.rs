//! Rows that are images of others: where a system repeats when it is turned about an axis, rows on its one side read rows on the other one
//! as they look from there.

use std::ops::Range;

/// A row that is the image of another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Image {
    /// The row.
    pub row: u32,
    /// The row that it is the image of: one that is owned, or the ghost of one.
    pub of: u32,
    /// Which of the matrices turns it.
    pub turn: u32,
}

/// The images among the rows of a rank, and the matrices that turn their vectors.
///
/// What turns of a row is a vector of three components: of rows of three numbers all, of rows of five or more the second to the fourth (the
/// momentum or the velocity of a flow, after its density; of six and seven numbers those of turbulence follow). Of rows of eight numbers those behind the fifth stay what
/// they are: places. Rows of other widths are numbers that do not turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Images {
    /// The images, none of which is the image of another one.
    pub list: Vec<Image>,
    /// Rows whose vectors lie along the axis: each is its own image, by the matrix that leaves that part alone.
    pub on_axis: Vec<Image>,
    /// Matrices, row by row.
    pub turns: Vec<[[f64; 3]; 3]>,
}

/// Where a row's vector begins, and how many of its numbers an image has.
///
/// ```
/// use chromaflow::dist::turning;
/// assert_eq!([turning(1), turning(3), turning(5), turning(8)], [(None, 1), (Some(0), 3), (Some(1), 5), (Some(1), 5)]);
/// assert_eq!([turning(6), turning(7)], [(Some(1), 6), (Some(1), 7)]);
/// ```
pub fn turning(width: usize) -> (Option<usize>, usize) {
    match width {
        3 => (Some(0), 3),
        5..8 => (Some(1), width),
        8.. => (Some(1), 5),
        _ => (None, width),
    }
}

impl Images {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.on_axis.is_empty()
    }

    /// Images become what their rows are, turned; vectors on the axis lie along it.
    ///
    /// **Shapes**: x `[rows, width]`.
    pub fn fill(&self, width: usize, x: &mut [f64]) {
        for image in self.list.iter().chain(&self.on_axis) {
            let turned = self.turned(image, &x[image.of as usize * width..][..width]);
            let (_, count) = turning(width);
            x[image.row as usize * width..][..count].copy_from_slice(&turned[..count]);
        }
    }

    /// Factors of numbers and of a vector's components, between 0 and 1: those of the components of an image are means of its row's, by
    /// the squares of the cosines between their axes. After a quarter of a turn they have changed places.
    ///
    /// **Shapes**: x `[rows, width]`.
    pub fn fill_factors(&self, width: usize, x: &mut [f64]) {
        let squares = self.turns.iter().map(|m| m.map(|row| row.map(|v| v * v))).collect();
        Self { list: self.list.clone(), on_axis: Vec::new(), turns: squares }.fill(width, x);
    }

    /// The numbers of a row as its image has them, of 8 at most.
    pub(crate) fn turned<X: Copy + Into<f64>>(&self, image: &Image, from: &[X]) -> [f64; 8] {
        let mut out = [0.0; 8];
        let (vector, count) = turning(from.len());
        for (to, &from) in out.iter_mut().zip(&from[..count]) {
            *to = from.into();
        }
        if let Some(at) = vector {
            let v = [out[at], out[at + 1], out[at + 2]];
            for (to, row) in out[at..].iter_mut().zip(&self.turns[image.turn as usize]) {
                *to = row[0] * v[0] + row[1] * v[1] + row[2] * v[2];
            }
        }
        out
    }

    /// A block in the column of an image, column-major nb x nb, becomes one in that of its row: times what turns the row's vector.
    pub(crate) fn turn_block(&self, turn: u32, nb: usize, block: &mut [f64]) {
        let (Some(first), _) = turning(nb) else { return };
        let m = &self.turns[turn as usize];
        for r in 0..nb {
            let from = [0, 1, 2].map(|c| block[(first + c) * nb + r]);
            for c in 0..3 {
                block[(first + c) * nb + r] = from[0] * m[0][c] + from[1] * m[1][c] + from[2] * m[2][c];
            }
        }
    }

    /// Those of rows in a range.
    pub(super) fn of_rows(&self, rows: &Range<usize>) -> Vec<Image> {
        self.list.iter().copied().filter(|image| rows.contains(&(image.of as usize))).collect()
    }
}

/// Blocks of a matrix in the columns of images, by the places in another matrix where they [belong](Images::turn_block).
#[derive(Clone, Debug)]
pub(crate) struct Folds {
    /// The row of a diagonal block or the position of another one, and [which](Folds::DIAGONAL), `[places]`.
    pub places: Vec<[u32; 2]>,
    /// Where the blocks of each begin, `[places + 1]`.
    pub begins: Vec<u32>,
    /// A block's position in the matrix, and which matrix turns it.
    pub blocks: Vec<[u32; 2]>,
}

impl Folds {
    /// The place is a diagonal block.
    pub const DIAGONAL: u32 = 1;
    /// A block is there already.
    pub const ADDS: u32 = 2;

    pub fn new() -> Self {
        Self { places: Vec::new(), begins: vec![0], blocks: Vec::new() }
    }

    /// Another block; those of one place follow one another.
    pub fn push(&mut self, place: [u32; 2], block: [u32; 2]) {
        if self.places.last() != Some(&place) {
            self.places.push(place);
            self.begins.push(0);
        }
        self.blocks.push(block);
        *self.begins.last_mut().expect("a place") = self.blocks.len() as u32;
    }

    /// The places with their blocks.
    pub fn iter(&self) -> impl Iterator<Item = ([u32; 2], &[[u32; 2]])> {
        let blocks = self.begins.windows(2).map(|ends| &self.blocks[ends[0] as usize..ends[1] as usize]);
        self.places.iter().copied().zip(blocks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A quarter of a turn about z: vectors turn, numbers and places do not.
    #[test]
    fn vectors_of_images_turn() {
        let quarter = [[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let along = [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0]];
        let images = Images {
            list: vec![Image { row: 0, of: 1, turn: 0 }],
            on_axis: vec![Image { row: 2, of: 2, turn: 1 }],
            turns: vec![quarter, along],
        };
        let mut x: Vec<f64> = (0..24).map(f64::from).collect();
        images.fill(8, &mut x);
        assert_eq!(x[..8], [8.0, -10.0, 9.0, 11.0, 12.0, 5.0, 6.0, 7.0]);
        assert_eq!(x[8..16], [8.0, 9.0, 10.0, 11.0, 12.0, 13.0, 14.0, 15.0]);
        assert_eq!(x[16..], [16.0, 0.0, 0.0, 19.0, 20.0, 21.0, 22.0, 23.0]);
        let mut x: Vec<f64> = (0..6).map(f64::from).collect();
        images.fill(2, &mut x);
        assert_eq!(x, [2.0, 3.0, 2.0, 3.0, 4.0, 5.0]);
        let mut x: Vec<f64> = (0..9).map(f64::from).collect();
        images.fill_factors(3, &mut x);
        assert_eq!(x, [4.0, 3.0, 5.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
        images.fill(3, &mut x);
        assert_eq!(x, [-4.0, 3.0, 5.0, 3.0, 4.0, 5.0, 0.0, 0.0, 8.0]);
    }
}
