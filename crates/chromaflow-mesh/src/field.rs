//! Values on the nodes of a mesh.

/// A named field on the nodes of a mesh.
///
/// **Shapes**: `values` is `[nodes, components]`. **Precision**: f64 here and in restarts, f32 in `.vtu` files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Field {
    /// Its name in files.
    pub name: String,
    /// Values per node: 1 for a scalar, 3 for a vector.
    pub components: usize,
    /// The values.
    pub values: Vec<f64>,
}

impl Field {
    /// A scalar field.
    pub fn scalar(name: &str, values: Vec<f64>) -> Self {
        Self { name: name.to_owned(), components: 1, values }
    }

    /// A field of several components.
    pub fn vector(name: &str, components: usize, values: Vec<f64>) -> Self {
        Self { name: name.to_owned(), components, values }
    }
}
